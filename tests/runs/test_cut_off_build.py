"""A build that is killed between its card and its blind scores is finished by the same command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.core.storage.itemset_cards import read_blind
from snellen.exam.items import build, find_generated
from snellen.suites import SUITES
from tests.helpers.refusals import assert_refused
from tests.helpers.sets import small_options


def test_blind_scores_that_a_kill_left_out_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, options = SUITES.get("vlm2-bench"), small_options(tmp_path / "set", test_items=1)
    whole = build(suite, "generated", options)
    card, blind = (tmp_path / "set" / "itemset.json").read_bytes(), read_blind(whole.root)
    assert_refused(lambda: build(suite, "generated", options), "already contains an item set")
    (whole.root / "blind.json").unlink()
    other = small_options(tmp_path / "set", seed=4, test_items=1)
    assert_refused(lambda: build(suite, "generated", other), "already contains an item set")
    with monkeypatch.context() as patch:
        patch.setattr(type(suite.recipes["generated"]), "build", lambda *_: pytest.fail("nothing is made again"))
        assert build(suite, "generated", options).blind == blind
    assert read_blind(whole.root) == blind
    assert (whole.root / "itemset.json").read_bytes() == card
    with pytest.raises(SnellenError):
        build(suite, "generated", options)


@pytest.mark.parametrize("file", ["itemset.json", "items.parquet", "blind.json", "media"])
def test_a_damaged_generated_set_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    """With the renders in the home folder damaged, too."""
    monkeypatch.setenv("SNELLEN_HOME", str(tmp_path))
    suite = SUITES.get("vlm2-bench")
    options = replace(small_options(Path(), test_items=1), tasks=("gc-mat",))
    items = find_generated(suite, options)
    damaged = next((items.root / "media").glob("*/*")) if file == "media" else items.root / file
    renders = list((tmp_path / "renders").rglob("*.png"))
    assert renders
    for path in (damaged, *renders):
        path.write_bytes(path.read_bytes()[:-9])
    assert find_generated(suite, options).card.content_hash == items.card.content_hash
