"""Only drops whose interval is clear are named; items without a score on one side are counted, not judged."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from snellen.analysis.changes import DROPPED, OTHERS, ROSE, Changes, changes
from snellen.analysis.run_view import lines_of
from snellen.analysis.section import Run
from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.score import Outcome
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard, RunCard
from snellen.runs.score import COLUMNS
from tests.reports.exam import SUITE, write_items

Score = Callable[[Item], float]
"""The score of an item, NaN where the call failed."""


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return write_items(tmp_path_factory.mktemp("changes") / "items", 20)


def run_of(items: ItemSet, score: Score, *, tasks: tuple[str, ...] = ("naming", "finding", "building"),
           conditions: Mapping[str, str] | None = None, outcome: Outcome = "failed") -> Run:  # fmt: skip
    """A run of one subject with these scores, `outcome` for none; conditions with their value of `images`."""
    conditions = conditions or {"vanilla": "original"}
    rows = [
        {
            "subject": "chat:model", "fingerprint": "f", "suite": "shapes", "task": item.task, "condition": condition,
            "repeat": 0, "split": "test", "protocol": "strict", "judge": "", "item_id": item.item_id,
            "metric": SUITE.tasks[item.task].protocols["strict"].metrics[0].name, "stimulus_id": item.stimulus_id,
            "group_id": item.group_id, "cluster_id": item.cluster_id, "truth": json.dumps(item.answer),
            "prediction": "null", "outcome": outcome if math.isnan(score(item)) else "answered", "value": score(item),
            "chance": 0.25,
        }
        for condition in conditions for item in items.items if item.task in tasks
    ]  # fmt: skip
    arms = [
        ArmCard(subject="chat:model", fingerprint="f", settings={}, attributes={}, condition=condition,
                columns={"images": images}, repeat=0)
        for condition, images in conditions.items()
    ]  # fmt: skip
    card = RunCard(suite="shapes", version="1", itemset="", recipe_hash="r", content_hash=items.card.content_hash,
                   seed=0, limit=None, arms=arms)  # fmt: skip
    scores = {"strict": pd.DataFrame(rows, columns=list(COLUMNS))}
    return Run(card, SUITE, items, (), scores, pd.DataFrame(), (Path("run"),))


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
    assert by_name(changes(first, second)) == {"finding": "too few items"}


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
