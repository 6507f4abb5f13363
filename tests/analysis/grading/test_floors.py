"""Which floors apply to which subject, and which of their scores are recorded."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from snellen.analysis.grading.floors import BOXES_LEARNT, BOXES_ONLY, EQUAL_QUESTIONS, READ_IMAGES, THUMBNAIL, Floors
from snellen.analysis.grading.rows import ResultRow
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import BlindCard, FloorScore
from snellen.runs.scores.blind import recipe_card
from snellen.scoring.protocols import ACCURACY
from snellen.suites import SUITES
from tests.helpers.sets import small_set

AVA = SUITES.get("ava-bench")


@pytest.fixture(scope="module")
def items(sets_folder: Path) -> ItemSet:
    return small_set("ava-bench", sets_folder)


def names(items: ItemSet, task: str, *, is_fitted: bool, boxes: str = "drawn") -> dict[str, float]:
    """The floors of all test items of a task, with their scores on these."""
    protocol = AVA.tasks[task].protocols["strict"]
    units = [item.item_id for item in items.task(task) if item.split == "test"]
    known, row = Floors(items, AVA), ResultRow(task=task, axes={"boxes": boxes})
    rules = known.applicable(row, is_fitted)
    floors = [known.of_units(task, protocol, protocol.metrics[0], rule, units) for rule in rules]
    assert all(len(floor.values) == len(units) for floor in floors)
    return {floor.name: floor.value for floor in floors}


def test_closed_rules_are_floors_of_every_subject_and_learnt_ones_of_fitted_subjects(items: ItemSet) -> None:
    assert names(items, "spatial", is_fitted=False) == {BOXES_ONLY: 1.0}
    assert list(names(items, "spatial", is_fitted=True)) == [BOXES_ONLY, EQUAL_QUESTIONS, BOXES_LEARNT, THUMBNAIL]
    assert list(names(items, "colour", is_fitted=True)) == [EQUAL_QUESTIONS, BOXES_LEARNT], "colour is low-level"
    assert names(items, "texture", is_fitted=False) == {}
    assert names(items, "texture", is_fitted=True)[THUMBNAIL] <= 0.45, "textures of equal mean and contrast"


def test_frames_are_no_floor_where_none_is_drawn(items: ItemSet) -> None:
    without = names(items, "spatial", is_fitted=True, boxes="none")
    assert list(without) == [EQUAL_QUESTIONS, THUMBNAIL]


def test_solved_examples_have_a_closed_rule(sets_folder: Path) -> None:
    combo, suite = small_set("combo", sets_folder), SUITES.get("combo")
    protocol = suite.tasks["category-building"].protocols["strict"]
    units = [item.item_id for item in combo.task("category-building")]
    row = ResultRow(task="category-building", chance=0.5)
    (floor,) = Floors(combo, suite).greatest(row, protocol, ACCURACY, False, units)
    assert floor.name == THUMBNAIL
    assert set(floor.values) <= {0.0, 1.0}
    perception = suite.tasks["pattern-perception"].protocols["strict"]
    assert 0.5 < Floors(combo, suite).thumbnail("pattern-perception", perception, ACCURACY) < 0.9, "a remark"
    assert math.isnan(Floors(combo, suite).thumbnail("category-building", protocol, ACCURACY)), (
        "a floor of all subjects"
    )


def test_recorded_scores_decide_which_floor_is_the_greatest(items: ItemSet) -> None:
    protocol = AVA.tasks["spatial"].protocols["strict"]
    units = [item.item_id for item in items.task("spatial") if item.split == "test"]
    recorded = FloorScore(task="spatial", protocol="strict", metric="accuracy", name=BOXES_ONLY, value=0.75, n=2000)
    with_record = replace(items, blind=BlindCard(method="by hand", floors=(recorded,)))
    row = ResultRow(task="spatial", chance=0.25)
    for known, measured in ((with_record, 0.75), (replace(items, blind=None), 1.0)):
        (floor,) = Floors(known, AVA).greatest(row, protocol, ACCURACY, False, units)
        assert (floor.value, floor.measured) == (1.0, measured)


@pytest.mark.parametrize("name", ["ava-bench", "combo", "vfm-bench", "vlm2-bench"])
def test_packages_record_the_floors_of_their_tasks(name: str) -> None:
    suite = SUITES.get(name)
    card = recipe_card(suite, {})
    assert card is not None
    recorded = {(score.task, score.name) for score in card.floors}
    for task in suite.tasks.values():
        if task.id not in suite.card.needs_real:
            assert ((task.id, BOXES_ONLY) in recorded) == (task.boxes_only is not None)
            assert ((task.id, THUMBNAIL) in recorded) == bool(task.cheap_sight)
    assert all(score.n >= (72 if score.name in READ_IMAGES else 1000) for score in card.floors)


def test_a_forest_that_is_no_greatest_floor_is_never_fitted(items: ItemSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule on drawn boxes is recorded as perfect, so a forest on the same boxes or on thumbnails is not needed."""
    monkeypatch.setattr("snellen.analysis.grading.floors.forest_answers", lambda *_: pytest.fail("a forest was fitted"))
    scores = [
        FloorScore(task="spatial", protocol="strict", metric="accuracy", name=name, value=value, n=2000)
        for name, value in ((BOXES_ONLY, 1.0), (BOXES_LEARNT, 0.99), (THUMBNAIL, 0.35))
    ]
    known = Floors(replace(items, blind=BlindCard(method="by hand", floors=tuple(scores))), AVA)
    units = [item.item_id for item in items.task("spatial") if item.split == "test"]
    row = ResultRow(task="spatial", chance=0.25, axes={"boxes": "drawn"})
    (floor,) = known.greatest(row, AVA.tasks["spatial"].protocols["strict"], ACCURACY, True, units)
    assert floor.name == BOXES_ONLY
