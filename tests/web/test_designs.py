"""Designs of studies that are refused, each with its file, field and reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.web.authenticity import AuthenticityRule
from snellen.web.design import read_design

DESIGNS = {
    "blocks: [{name: b}, {name: c}, {name: b}]": "the design: .*block 'b' is listed twice; name each block once",
    "blocks: [{name: b, authenticity: {}}, {name: c, authenticity: {}}]": "the design: .*two blocks have an auth",
    "kind: review\nblocks: [{name: b}]": "the design: .*a review needs reviewers",
    "blocks: []": r"blocks: .*at least 1 item",
    "blocks: [{name: b, questions: 0}]": r"blocks\.0\.questions: .*greater than or equal to 1",
    "blocks: [{name: b, seconds: 0}]": r"blocks\.0\.seconds: .*greater than 0",
    "blocks: [{name: b, attention: 101}]": r"blocks\.0\.attention: .*less than or equal to 100",
    "blocks: [{name: b}]\nforms: 1001": "forms: .*less than or equal to 1000",
    "blocks: [{name: b}]\ncolour: red": "colour: Extra inputs are not permitted; see docs/people.md",
    "blocks: [": "not readable as YAML",
}


@pytest.mark.parametrize(("text", "words"), DESIGNS.items())
def test_a_design_is_refused_with_its_file_and_field(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "design.yaml"
    path.write_text(f"texts: {{title: t}}\n{text}\n")
    with pytest.raises(SnellenError, match=rf"(?s)design\.yaml: {words}"):
        read_design(str(path))


def test_a_design_may_check_one_block_and_be_reviewed(tmp_path: Path) -> None:
    blocks = "blocks: [{name: b, authenticity: {min_items: 3}}, {name: c}]"
    (tmp_path / "d.yaml").write_text(f"kind: review\nreviewers: [ann]\ntexts: {{title: t}}\n{blocks}\n")
    design = read_design(str(tmp_path / "d.yaml"))
    assert [block.authenticity for block in design.blocks] == [AuthenticityRule(min_items=3), None]
    (tmp_path / "d.yaml").write_bytes(b"\xff")
    with pytest.raises(SnellenError, match="not readable as text in UTF-8"):
        read_design(str(tmp_path / "d.yaml"))
