"""`--rules FILE`, and the advice of `--plan` about rules that leave nothing of a user's images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.curated_sets.ava_bench.loosening import loosened
from snellen.curated_sets.ava_bench.recipe import Curated
from snellen.curated_sets.rules import changed_rules
from snellen.exam.items import build
from snellen.suites.ava_bench import SUITE
from tests.curated_sets.ava_bench.test_curated import lvis
from tests.curated_sets.test_rules import Rules

CURATED = Curated()
GIRAFFE, CUP = 1, 3


def options(root: Path, **fields: Any) -> BuildOptions:
    return BuildOptions(root / "set", sources={"LVIS": root / "LVIS"}, show_progress=False, **fields)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Twelve images: four each with 1, 2 or 3 cups, and a giraffe that fills 4 of 3072 square pixels."""
    lvis(
        tmp_path,
        {n: [(GIRAFFE, [8.0, 8.0, 2.0, 2.0]), *[(CUP, [40.0, 30.0, 6.0, 6.0])] * (1 + n % 3)] for n in range(12)},
    )
    return tmp_path


def advice(root: Path, task: str, **fields: Any) -> list[str]:
    return list(CURATED.plan(options(root, tasks=(task,), **fields))["rules"])


def test_the_plan_names_the_rule_and_a_value_that_leaves_items(own: Path) -> None:
    """Counting requires 15 images per count and 5 counts; here are 4 images for each of 3 counts."""
    (line,) = advice(own, "counting")
    assert line == (
        "counting, LVIS: nothing is left; counted_open leaves nothing; {counted_open: {minimum: 4, min_bins: 3}} "
        "in --rules FILE would leave 12 items"
    )


def test_the_plan_names_a_rule_about_areas(own: Path) -> None:
    """The giraffe fills 4 of 64 x 48 square pixels: 0.0013, and 0.002 is required."""
    (line,) = advice(own, "localization")
    assert line.endswith("nothing; {thing_area: [0.001, 0.5]} in --rules FILE would leave 12 items")


def test_the_advised_value_builds_a_set_whose_card_records_it(own: Path) -> None:
    rules = own / "rules.yaml"
    rules.write_text("counted_open: {minimum: 4, min_bins: 3}\n")
    assert advice(own, "counting", rules=rules) == []
    items = build(SUITE, "curated", options(own, tasks=("counting",), rules=rules))
    assert items.card.items == 12
    assert "rules that differ from the paper's: {counted_open: {minimum: 4, min_bins: 3}}" in items.card.notes
    assert items.card.recipe["counted_open"] == {"minimum": 4, "maximum": 30, "min_bins": 3}
    assert items.card.recipe_hash != other_recipe_hash(own)


def other_recipe_hash(own: Path) -> str:
    """The recipe hash of the same images with other rules."""
    rules = own / "others.yaml"
    rules.write_text("counted_open: {minimum: 3, min_bins: 3}\n")
    return build(SUITE, "curated", BuildOptions(
        own / "other", sources={"LVIS": own / "LVIS"}, show_progress=False, tasks=("counting",), rules=rules
    )).card.recipe_hash  # fmt: skip


def test_the_plan_names_the_reasons_if_no_rule_is_responsible(tmp_path: Path) -> None:
    lvis(tmp_path, {n: [(GIRAFFE, [8.0, 8.0, 20.0, 16.0])] * 2 for n in range(12)})
    (line,) = advice(tmp_path, "localization")
    assert line == (
        "localization, object, LVIS: nothing is left; no threshold is responsible, but: "
        "several things of the category in the image (24)"
    )


def test_an_unknown_rule_is_refused_before_anything_is_read(own: Path) -> None:
    rules = own / "rules.yaml"
    rules.write_text("counted_opne: {minimum: 4}\n")
    with pytest.raises(SnellenError, match="no rule 'counted_opne'; did you mean 'counted_open'"):
        CURATED.plan(options(own, rules=rules))


def kept_objects(rules: Rules, shares: tuple[float, ...], bins: tuple[int, ...]) -> int:
    """Count of objects with shares in the range, if at least `least`, plus bins of enough images if `counts` allows."""
    objects = sum(rules.area[0] <= share <= rules.area[1] for share in shares)
    full = [number for number in bins if number >= rules.counts.minimum]
    return (objects if objects >= rules.least else 0) * (sum(full) if len(full) >= rules.counts.min_bins else 0)


@pytest.mark.parametrize(
    ("shares", "bins", "changes"),
    [
        # Enough of everything: nothing is changed.
        ((0.2,) * 5, (15,) * 5, {}),
        # Three bins of 15: two too few.
        ((0.2,) * 5, (15,) * 3, {"counts": {"min_bins": 3}}),
        # Five bins, the third largest of which has 7: all five are required, so that the smallest counts, 2.
        ((0.2,) * 5, (9, 8, 7, 3, 2), {"counts": {"minimum": 2}}),
        # Four objects: one too few.
        ((0.2,) * 4, (15,) * 5, {"least": 4}),
        # Five objects, one of which fills 0.05: the minimum stays 5, the lower end goes down to 0.05.
        ((0.2,) * 4 + (0.05,), (15,) * 5, {"area": [0.05, 0.5]}),
        # The same above: 0.8 is nearer than 0.75 and leaves it as well.
        ((0.2,) * 4 + (0.75,), (15,) * 5, {"area": [0.1, 0.8]}),
        # Two rules at once.
        ((0.2,) * 4, (15,) * 3, {"least": 4, "counts": {"min_bins": 3}}),
    ],
)
def test_rules_are_loosened_as_little_as_possible(
    shares: tuple[float, ...], bins: tuple[int, ...], changes: dict[str, object]
) -> None:
    loose = loosened(Rules(), lambda rules: kept_objects(rules, shares, bins))
    assert loose is not None
    assert kept_objects(loose, shares, bins)
    assert changed_rules(loose, Rules()) == changes


def test_without_candidates_no_rule_is_loosened() -> None:
    assert loosened(Rules(), lambda rules: kept_objects(rules, (), (15,) * 5)) is None
