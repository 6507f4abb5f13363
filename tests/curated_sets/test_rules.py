"""Thresholds from a file, and their differences from the defaults."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from snellen.core.errors import SnellenError
from snellen.curated_sets.rules import LOOSEST_CAPS, OURS, Caps, bound, changed_rules, in_words, read_rules


@dataclass(frozen=True, kw_only=True)
class Rules:
    """A few thresholds of every type."""

    least: Annotated[int, Field(ge=1)] = field(default=5, metadata=bound("images a class", OURS, loosest=1))
    area: tuple[float, float] = field(default=(0.1, 0.5), metadata=bound("share", OURS, loosest=(0.0, 1.0)))
    counts: Caps = field(default=Caps(15, 30, 5), metadata=bound("images a count", OURS, loosest=LOOSEST_CAPS))
    most: int = field(default=700, metadata=bound("images of a category at most", OURS))


def rules_from(tmp_path: Path, text: str) -> Rules:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    return read_rules(path, Rules())


def test_a_file_states_only_the_differences(tmp_path: Path) -> None:
    changed = rules_from(tmp_path, "counts: {min_bins: 2}\narea: [0, 0.4]\n")
    assert changed == replace(Rules(), counts=Caps(15, 30, 2), area=(0.0, 0.4))
    assert changed_rules(changed, Rules()) == {"area": [0.0, 0.4], "counts": {"min_bins": 2}}
    assert rules_from(tmp_path, in_words(changed_rules(changed, Rules()))) == changed
    assert rules_from(tmp_path, "# nothing\n") == Rules() == read_rules(None, Rules())
    assert changed_rules(Rules(), Rules()) == {}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("leest: 3", "no rule 'leest'; did you mean 'least'"),
        ("counts: {minimun: 3}", "counts: no rule 'minimun'; did you mean 'minimum'"),
        ("counts: 3", "counts: '3' is not a mapping"),
        ("- least", "is not a mapping"),
        ("least: many", "least: Input should be a valid integer"),
        ("least: 0", "least: Input should be greater than or equal to 1"),
        ("least: 2.5", "least: Input should be a valid integer"),
        ("least: true", "least: Input should be a valid integer"),
        ("area: [0.1]", "area"),
        ("counts: {minimum: 31}", "1 <= minimum <= maximum"),
        ("counts: {minimum: 0}", "1 <= minimum <= maximum"),
        ("counts: {min_bins: 0}", "1 <= min_bins"),
        ("least: 2021-01-01", "not JSON serializable"),
        ("least: [", "cannot be read as YAML"),
    ],
)
def test_malformed_rules_are_refused_with_the_file(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(SnellenError, match=reason) as refusal:
        rules_from(tmp_path, text)
    assert "rules.yaml" in str(refusal.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SnellenError, match="cannot be read"):
        read_rules(tmp_path / "none.yaml", Rules())
