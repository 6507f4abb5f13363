"""Only drops whose interval is clear are named; items without a score on one side are counted, not judged."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom, permutation_test

from snellen.analysis.comparison.changes import OTHERS, Changes, changes, plain_changes
from snellen.analysis.comparison.verdicts import DROPPED, ROSE
from snellen.analysis.tables.run_view import lines_of
from snellen.analysis.tables.section import Run
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.scoring.permutation import noise_flips, one_sided_p, sign_flip, sign_test_power
from snellen.scoring.protocols import ACCURACY, strict
from tests.helpers.guard import NOISE, answered, compare, own_items, probabilities, run_of, scored_run
from tests.reports.exam import SUITE, write_items


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return write_items(tmp_path_factory.mktemp("changes") / "items", 20)


def number(item: Item) -> int:
    return int(item.item_id.rpartition("-")[2])


def right(item: Item) -> float:
    return 1.0


def by_name(compared: Changes) -> dict[str, str]:
    return {row.name: row.verdict for row in lines_of(compared.table)}


def test_by_hand(items: ItemSet) -> None:
    # Of ten items six went from right to wrong: mean -0.6, variance of the units (6 - 10 * 0.36) / 9 = 0.26667; with
    # two units of variance 1 it is (10 * 0.26667 + 2) / 12 = 0.38889, half a width 1.95996 * sqrt(0.038889) = 0.38651.
    # Six differences flip their signs: 2 of 64 are as far from 0. One test: Holm changes nothing.
    first = run_of(items, lambda item: 1.0 if number(item) < 10 else math.nan, tasks=("finding",))
    second = run_of(items, lambda item: 0.0 if number(item) < 6 else 1.0, tasks=("finding",))
    compared = changes(first, second)
    (row,) = lines_of(compared.table)
    assert (row.kind, row.name, row.n, row.clusters, row.before) == ("task", "finding", 10, 10, 1.0)
    assert row.difference == pytest.approx(-0.6)
    assert (row.low, row.high) == (pytest.approx(-0.98651, abs=1e-5), pytest.approx(-0.21349, abs=1e-5))
    assert row.p == row.p_holm == pytest.approx(2 / 64)
    assert compared.names(DROPPED) == ["finding"]
    assert compared.names(ROSE) == []
    assert list(compared.flips["item_id"]) == [f"finding-{n:04d}" for n in range(6)]
    assert not compared.flips["is_better"].any()
    assert (compared.pairs, compared.unpaired_items.only_after, compared.unpaired_items.total) == (10, 10, 10)
    back = changes(second, first)
    assert (back.names(DROPPED), back.names(ROSE)) == ([], ["finding"])


def test_only_the_planted_drop_is_named(items: ItemSet) -> None:
    """Two tasks have items that need colour; one of them also has items that need shape."""
    compared = changes(run_of(items, right), run_of(items, lambda item: float("colour" not in item.requires)))
    assert compared.names(DROPPED) == ["colour (naming, building)"]
    verdicts = by_name(compared)
    assert {name for name, verdict in verdicts.items() if verdict == DROPPED} == {"colour", "naming", "building"}
    assert verdicts["shape"] == verdicts["finding"] == "no clear change"
    assert all("colour" in items.by_id[item_id].requires for item_id in compared.flips["item_id"])
    assert len(compared.flips) == 30


def test_an_ability_is_not_blamed_for_a_drop_of_one_needed_with_it(items: ItemSet) -> None:
    """Ten items need shape only, ten need colour and shape: losing colour is not losing shape."""
    both = [
        replace(item, requires=("colour", "shape") if "colour" in item.requires else item.requires)
        for item in items.items
    ]
    mixed = replace(items, items=tuple(both))
    lost = run_of(mixed, lambda item: float("colour" not in item.requires))
    compared = changes(run_of(mixed, right), lost)
    assert compared.names(DROPPED) == ["colour + shape (naming, building)"]
    assert by_name(compared)["shape"] == "no clear change"


def test_six_items_of_a_combination_have_a_row_and_five_have_none(items: ItemSet) -> None:
    """Six items need colour and shape, five colour and place."""
    needs = dict.fromkeys(range(6), ("colour", "shape")) | dict.fromkeys(range(6, 11), ("colour", "place"))
    mixed = replace(
        items,
        items=tuple(
            replace(item, requires=needs.get(number(item), ("colour",)) if item.task == "naming" else ("shape",))
            for item in items.items
        ),
    )
    names = by_name(changes(run_of(mixed, right), run_of(mixed, right)))
    assert "colour + shape" in names
    assert OTHERS in names
    assert "colour + place" not in names


def test_a_task_that_drops_apart_from_its_abilities_is_named(items: ItemSet) -> None:
    compared = changes(run_of(items, right), run_of(items, lambda item: float(item.task != "finding")))
    assert compared.names(DROPPED) == ["finding"]


def test_equal_answers_show_no_change(items: ItemSet) -> None:
    same = run_of(items, lambda item: float(number(item) % 3 == 0))
    compared = changes(same, same)
    assert (len(compared.flips), compared.names(DROPPED), compared.names(ROSE)) == (0, [], [])
    assert compared.unpaired_items.total == 0
    assert (compared.table["difference"] == 0).all()


def test_a_larger_error_is_a_drop(items: ItemSet) -> None:
    first = run_of(items, lambda item: 0.1 + 0.01 * (number(item) % 5), tasks=("sizing",))
    second = run_of(items, lambda item: 0.9 + 0.09 * (number(item) % 5), tasks=("sizing",))
    assert changes(first, second).names(DROPPED) == ["sizing"]
    assert changes(second, first).names(ROSE) == ["sizing"]


def test_failed_calls_are_neither_right_nor_wrong(items: ItemSet) -> None:
    second = run_of(items, lambda item: math.nan if item.task == "finding" or number(item) < 5 else 1.0)
    compared = changes(run_of(items, right), second)
    assert compared.names(DROPPED) == []
    assert len(compared.flips) == 0
    assert compared.left_out == ("finding [vanilla]",)
    assert "finding" not in by_name(compared)
    assert (compared.unpaired_items.only_before, compared.pairs) == (30, 30)


def test_items_that_both_decline_are_not_missing(items: ItemSet) -> None:
    both = [run_of(items, lambda item: math.nan if item.task == "finding" else 1.0, outcome="not_applicable")] * 2
    assert changes(*both).unpaired_items.total == 0
    assert changes(run_of(items, right), both[1]).unpaired_items.only_before == 20


def test_too_few_items_give_no_verdict(items: ItemSet) -> None:
    first = run_of(items, lambda item: 1.0 if number(item) < 5 else math.nan, tasks=("finding",))
    second = run_of(items, lambda item: 0.0 if number(item) < 5 else math.nan, tasks=("finding",))
    assert by_name(changes(first, second)) == {"finding": "too few clusters"}


def test_equal_conditions_are_paired_and_controls_left_out(items: ItemSet) -> None:
    blind = {"vanilla": "original", "images=none": "none"}
    first, second = run_of(items, right, conditions=blind), run_of(items, right, conditions=blind)
    assert set(changes(first, second).table["condition"]) == {"vanilla"}
    with pytest.raises(SnellenError, match=r"no item has a score in both .* samples=1 and vanilla"):
        changes(run_of(items, right, conditions={"samples=1": "original"}), run_of(items, right))


def test_other_items_are_refused(items: ItemSet, tmp_path: Path) -> None:
    other = write_items(tmp_path / "items", 4, seed=1)
    with pytest.raises(SnellenError, match="have different items"):
        changes(run_of(items, right), run_of(other, right))


def test_the_same_items_rendered_on_two_machines_are_compared(items: ItemSet) -> None:
    first, second = run_of(items, right), run_of(items, right)
    moved = [
        replace(run, card=run.card.model_copy(update={"content_hash": content, "rows_hash": rows}))
        for run, content, rows in ((first, "c1", "r"), (second, "c2", "r"), (second, "c1", "s"), (second, "c2", ""))
    ]
    assert changes(moved[0], moved[1]).pairs == changes(first, second).pairs
    for other in moved[2:]:
        with pytest.raises(SnellenError, match="have different items"):
            changes(moved[0], other)


def shares(count: int, right_before: int, right_after: int) -> tuple[np.ndarray, np.ndarray]:
    """So many right answers of `count`, the same items first."""
    return (np.arange(count) < right_before).astype(float), (np.arange(count) < right_after).astype(float)


@pytest.mark.parametrize(
    ("count", "classes", "before", "after"),
    [(38, 2, 38, 0), (58, 3, 55, 18), (180, 3, 173, 75)],  # 100 to 0 %, 95 to 31 %, 96 to 42 %
)
def test_own_images_of_few_classes_can_drop(count: int, classes: int, before: int, after: int) -> None:
    compared = compare(own_items(count, classes), *shares(count, before, after))
    (row,) = lines_of(compared.table)
    assert compared.names(DROPPED) == ["finding"]
    # All flips are to worse, so that 1 of 2^flips is as far; by class, 2 of 2^classes.
    assert row.p == row.p_holm == pytest.approx(0.5 ** (before - after), rel=1e-9)
    assert (row.clusters, row.classes, row.class_p) == (count, classes, 2 / 2**classes)
    assert row.class_low <= row.low < row.high < 0
    assert row.high < row.class_high
    back = compare(own_items(count, classes), *reversed(shares(count, before, after)))
    assert (back.names(ROSE), back.table["p"][0]) == (["finding"], row.p)


def with_classes(items: ItemSet) -> ItemSet:
    """The set with its classes as a factor, and images as clusters."""
    both = (replace(item, factors={"class": item.cluster_id}, cluster_id=item.item_id) for item in items.items)
    return replace(items, items=tuple(both))


def test_each_class_is_tested_and_corrected_apart_from_the_task() -> None:
    # 20 images of each of three classes. Of class-2, 8 get wrong; of class-0, 2 get right.
    items = with_classes(own_items(60))
    classes, places = np.arange(60) % 3, np.arange(60) // 3
    before = np.where(classes == 0, places < 18, places < 15 + 5 * (classes == 1)).astype(float)
    after = np.where(classes == 2, places < 7, 1).astype(float)
    compared = compare(items, before, after)
    rows = {row.name: row for row in lines_of(compared.table)}
    # One test of the task: 1 + 10 + 45 of 2^10. Three of classes: 3 of 2^8, then 2 of 2^2, and no flip at all.
    expected = {"finding": 56 / 1024, "class-2": 3 / 256, "class-0": 2 / 4, "class-1": 1}
    assert {name: row.p_holm for name, row in rows.items()} == pytest.approx(expected)
    assert (compared.names(DROPPED), compared.names(ROSE)) == (["class class-2"], [])
    assert (rows["finding"].clusters, rows["finding"].classes, rows["class-2"].clusters) == (60, 3, 20)
    assert math.isnan(rows["class-2"].class_p)
    # The power of a class is that at a third of the level, the power of the task is that without classes.
    (alone,) = lines_of(compare(own_items(60), before, after).table)
    assert rows["finding"].detectable_drop == alone.detectable_drop
    drop = rows["class-1"].detectable_drop
    assert sign_test_power(20, drop, 0.5 / 21, 0.05 / 3) >= 0.8 > sign_test_power(20, drop - 0.01, 0.5 / 21, 0.05 / 3)


def test_a_factor_class_of_other_sets_has_no_rows(items: ItemSet) -> None:
    labelled = with_classes(items)
    same = run_of(labelled, right, tasks=("finding",))
    assert list(changes(same, same).table["kind"]) == ["task"]


def test_one_sided_p_by_hand() -> None:
    names, rng = np.arange(40), stream("one-sided")
    # Five images worse, one better: 1 + 6 of 64. Twenty all worse: 1 of 2^20, which no drawing finds.
    gaps = np.array([-1.0] * 5 + [1.0] + [0.0] * 34)
    assert one_sided_p(gaps, names, rng) == one_sided_p(-gaps, names, rng) == 7 / 64
    assert one_sided_p(np.repeat([-1.0, 0.0], 20), names, rng) == pytest.approx(0.5**20)
    assert one_sided_p(np.zeros(40), names, rng) == 1
    # Near copies flip together: one cluster of two and three of one, 1 of 16; as five images it would be 1 of 32.
    assert one_sided_p(-np.ones(5), np.array([0, 0, 1, 2, 3]), rng) == 1 / 16
    # Partial credit: all 2^10 flips, as in scipy.
    partial = stream("partial credit").normal(0.3, 0.5, 10)
    expected = permutation_test((partial,), np.mean, permutation_type="samples", alternative="greater").pvalue
    assert one_sided_p(partial, np.arange(10), rng) == pytest.approx(expected)
    assert sign_flip(partial, np.arange(10), rng) == pytest.approx(2 * expected)


def test_flips_without_a_change_by_hand() -> None:
    # Two flips to better, four to worse of 20.
    gaps = np.array([1.0] * 2 + [-1.0] * 4 + [0.0] * 14)
    assert noise_flips(gaps, np.arange(20)) == noise_flips(-gaps, np.arange(20)) == (20, 0.1)
    # Ten clusters of two: two are half better, two half worse, which counts as a quarter of a flip.
    gaps = np.array([1.0, 0.0] * 2 + [-1.0, 0.0] * 2 + [0.0] * 12)
    assert noise_flips(gaps, np.repeat(np.arange(10), 2)) == (10, 2 * 0.25 / 10)


def test_the_detectable_drop_and_the_images_needed() -> None:
    equal = compare(own_items(38, 2), *shares(38, 38, 38))
    (row,) = lines_of(equal.table)
    # Noise 0.5 / 39; the power is that of the binomial distribution.
    assert row.detectable_drop == 0.2
    assert sign_test_power(38, 0.2, 0.5 / 39, 0.05) >= 0.8 > sign_test_power(38, 0.19, 0.5 / 39, 0.05)
    assert (equal.margin, equal.undetectable) == (0.2, {})
    small = compare(own_items(20, 2), *shares(20, 20, 20))
    # Half a flip of noise among 37 images.
    assert small.undetectable == {"finding": 37}
    assert sign_test_power(37, 0.2, 0.5 / 38, 0.05) >= 0.8 > sign_test_power(36, 0.2, 0.5 / 37, 0.05)
    # 15 % right can drop by 15 points at most, which 100 images detect and 30 do not; 0 % cannot drop.
    assert compare(own_items(100), *shares(100, 15, 15)).undetectable == {}
    assert 30 < compare(own_items(30), *shares(30, 5, 5)).undetectable["finding"] < 100
    # One of 20 right can drop by 5 points at most, which takes more images than the margin of 20 points would.
    assert compare(own_items(20), *shares(20, 1, 1)).undetectable == {"finding": 152}
    assert sign_test_power(152, 0.05, 0.5 / 153, 0.05) >= 0.8 > sign_test_power(151, 0.05, 0.5 / 152, 0.05)
    assert math.isinf(compare(own_items(100), *shares(100, 0, 0)).undetectable["finding"])
    # Four images never detect a drop; JSON has no infinity.
    none = plain_changes(compare(own_items(4, 2), *shares(4, 4, 0)))
    assert (none["rows"][0]["verdict"], none["rows"][0]["detectable_drop"]) == ("too few clusters", None)


def error_rates(items: ItemSet, scores: np.ndarray) -> Run:
    """A run whose only task has a score of which lower is better."""
    scored = scored_run(items, scores)
    error = replace(ACCURACY, higher_is_better=False)
    task = replace(SUITE.tasks["finding"], protocols={"strict": strict(error)})
    return replace(scored, suite=replace(SUITE, tasks={"finding": task}))


@pytest.mark.parametrize("right", [30, 25, 5, 0])
def test_errors_can_rise_as_far_as_right_answers_can_fall(right: int) -> None:
    items, (before, after) = own_items(30), shares(30, right, right)
    errors = changes(error_rates(items, 1 - before), error_rates(items, 1 - after)).table
    expected = compare(items, before, after).table
    assert list(errors["detectable_drop"]) == pytest.approx(list(expected["detectable_drop"]))
    assert list(errors["items_needed"]) == pytest.approx(list(expected["items_needed"]), nan_ok=True)


def test_other_sets_need_no_margin(items: ItemSet) -> None:
    same = run_of(items, right, tasks=("finding",))
    compared = changes(same, same)
    # Twenty images, two-sided at 0.05: as one-sided at 0.025, where six of six are needed (1 / 64).
    assert (compared.undetectable, math.isnan(compared.table["class_p"][0])) == ({}, True)
    drop = compared.table["detectable_drop"][0]
    assert sign_test_power(20, drop, 0.5 / 21, 0.025) >= 0.8 > sign_test_power(20, drop - 0.01, 0.5 / 21, 0.025)
    assert set(changes(same, same, margin=0.1).undetectable) == {"finding"}
    # With all tasks and abilities there are five tests, so that a drop must be larger to be found.
    rows = changes(run_of(items, right), run_of(items, right)).table.set_index("name")
    assert rows["detectable_drop"]["finding"] > drop


@pytest.mark.slow
@pytest.mark.parametrize("noise", NOISE)
@pytest.mark.parametrize("count", [38, 100])
def test_drops_on_own_images(count: int, noise: str) -> None:
    """False drops in at most 5 % of 400 comparisons, and of drops of the size that is printed 80 % are found."""
    items, false_drops, detections, comparisons = own_items(count), 0, 0, 400
    for seed in range(comparisons):
        rng = stream("guard", count, noise, seed)
        right_answers = probabilities(items, noise, rng)
        before = answered(items, right_answers, rng)
        equal = changes(before, answered(items, right_answers, rng))
        false_drops += bool(equal.names(DROPPED))
        drop = float(equal.table["detectable_drop"][0])
        detections += bool(changes(before, answered(items, right_answers, rng, drop)).names(DROPPED))
    assert false_drops <= binom.ppf(0.999, comparisons, 0.05)
    assert detections >= binom.ppf(0.001, comparisons, 0.78)


def guesses(items: ItemSet, rng: np.random.Generator) -> Run:
    scores = dict(zip(items.by_id, (rng.random(len(items.items)) < 0.5).astype(float), strict=True))
    return run_of(items, lambda item: scores[item.item_id])


def false_drops(items: ItemSet, seeds: range) -> tuple[int, int]:
    """One comparison of two guessers per seed: the number with any drop, and the number with any verdict."""
    drops = verdicts = 0
    for seed in seeds:
        rng = stream("two that guess", seed)
        compared = changes(guesses(items, rng), guesses(items, rng))
        drops += bool(compared.names(DROPPED))
        verdicts += bool(compared.names(DROPPED) or compared.names(ROSE))
    return drops, verdicts


@pytest.mark.slow
@pytest.mark.parametrize(("size", "comparisons"), [(20, 300), (120, 200)])
def test_false_alarms_stay_at_the_level(size: int, comparisons: int, tmp_path: Path) -> None:
    """Any verdict in at most 5 % of comparisons of equal guessers, a drop in half as many."""
    drops, verdicts = false_drops(write_items(tmp_path / "items", size), range(comparisons))
    assert verdicts <= binom.ppf(0.999, comparisons, 0.05)
    assert drops <= binom.ppf(0.999, comparisons, 0.025)
