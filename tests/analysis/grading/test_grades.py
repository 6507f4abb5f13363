"""The rule for grades, on rows worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading import states
from snellen.analysis.grading.grades import GRADES, UnitFloor, grade_of, progress
from snellen.analysis.grading.meanings import GRADE_MEANINGS, STATE_MEANINGS
from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.core.score import ABOVE, BELOW, MEASURED, Metric
from snellen.reports.words import colour, grade_text, label_text
from snellen.scoring.protocols import ACCURACY
from snellen.scoring.sequential import confidence_sequence

ERROR_METRIC = Metric("mae_over_gt", lambda item, prediction: 0.0, higher_is_better=False, share=False, bounds=None)
FACTS: dict[str, Any] = {
    "subject": "model", "task": "naming", "chance": 0.25, "blind": 0.4, "ceiling": math.nan, "degenerate": False,
    "no_answer_rate": 0.0, "cut_off_rate": 0.0, "not_applicable": 0, "items": 36,
    "boxes_in": "", "failure_rate": 0.0,
}  # fmt: skip


def grading(value: float, low: float, high: float, metric: Metric = ACCURACY, **facts: Any) -> Grade:
    """The grade of a row of a task with chance level .25 and blind baseline .40."""
    return grade_of(ResultRow(**{**FACTS, "value": value, "low": low, "high": high, **facts}), metric)


def text(value: float, low: float, high: float, metric: Metric = ACCURACY, **facts: Any) -> str:
    return grading(value, low, high, metric, **facts).label


def test_shares_of_the_way_from_a_floor_to_people() -> None:
    assert progress(0.7, 0.4, 1.0) == pytest.approx(0.5)
    assert progress(0.7, 0.4, 0.7) == 1, "as good as people"
    assert progress(0.3, 0.5, 0.0) == pytest.approx(0.4), "an error of .3, with blind .5 and perfect 0"
    assert math.isnan(progress(0.3, math.nan, 1.0))
    assert math.isnan(progress(1.0, 1.0, 1.0)), "blind is perfect: there is no way"


def test_a_grade_claims_no_more_than_its_interval() -> None:
    # On the way from .40 to 1, a quarter is .55, a half .70, nine tenths .94.
    assert text(0.3, 0.10, 0.54) == "none"
    assert text(0.3, 0.10, 0.56) == "open: too few items"
    assert text(0.7, 0.54, 0.9) == "open: too few items"
    assert text(0.7, 0.56, 0.9) == "some"
    assert text(0.8, 0.71, 0.9) == "most"
    assert text(0.97, 0.95, 1.0) == "nearly all right"
    assert text(0.97, 0.95, 1.0, ceiling=0.98) == "as people"
    assert text(0.3, 0.10, 0.5, ceiling=0.3) == "none", "people below blind are no ceiling"
    # People get .70: a quarter of the way is .475.
    assert text(0.3, 0.10, 0.5, ceiling=0.7) == "open: too few items"
    assert grading(0.5, 0.41, 0.9).note == "above the floor", "the only one is the blind baseline"
    assert grading(0.5, 0.39, 0.9).note == ""


def test_the_better_of_chance_and_blind_is_the_blind_floor() -> None:
    assert text(0.6, 0.56, 0.9, chance=0.5) == "open: too few items", "a quarter of the way from .5 is .625"
    # Half of the way is half of the error removed: chance .25 is a better error than blind .40.
    assert text(0.1, 0.05, 0.12, metric=ERROR_METRIC) == "most"
    assert text(0.1, 0.05, 0.13, metric=ERROR_METRIC) == "some"
    assert text(0.3, 0.19, 0.5, metric=ERROR_METRIC) == "none"
    assert text(0.3, 0.18, 0.5, metric=ERROR_METRIC) == "open: too few items"


def test_replies_without_an_answer_and_equal_ones_are_states_of_their_own() -> None:
    assert text(0.1, 0.0, 0.2, no_answer_rate=0.05) == "none"
    assert text(0.1, 0.0, 0.2, no_answer_rate=0.06) == "unreadable: words"
    assert text(0.1, 0.0, 0.9, no_answer_rate=0.1, cut_off_rate=0.3) == "unreadable: cut off"
    assert text(0.1, 0.0, 0.9, no_answer_rate=0.3, cut_off_rate=0.1) == "unreadable: words"
    assert text(0.1, 0.0, 0.2, no_answer_rate=0.03, cut_off_rate=0.03) == "unreadable: cut off", "together too many"
    assert text(0.1, 0.0, 0.2, cut_off_rate=0.05) == "none", "few enough"
    assert text(0.1, 0.0, 0.2, no_answer_rate=1.0, boxes_in="pixels") == "unreadable: unit"
    assert grading(0.1, 0.0, 0.2, no_answer_rate=1.0, boxes_in="pixels").note == (
        "boxes in pixels; score again with --box-unit pixels"
    )
    assert text(0.1, 0.0, 0.2, degenerate=True) == "open: always the same answer"
    assert text(0.8, 0.71, 0.9, no_answer_rate=0.06) == "most", "read or not, this much is right"
    assert grading(0.1, 0.0, 0.2, no_answer_rate=0.4).note == "40 % of its replies"


def test_a_chosen_part_of_the_items_has_no_grade() -> None:
    declined = grading(0.9, 0.8, 1.0, not_applicable=13)
    assert (declined.label, declined.word, declined.note) == ("declined: in part", "", "23 of 36")
    failed = grading(0.9, 0.8, 1.0, not_applicable=6, failure_rate=0.5)
    assert (failed.label, failed.word, failed.note) == ("failed: in part", "", "15 of 36")
    assert text(0.9, 0.8, 1.0, failure_rate=0.5) == "failed: in part"
    assert text(0.9, 0.8, 1.0, not_applicable=3) == "most"
    assert text(0.9, 0.8, 1.0, failure_rate=0.05, left_out=0.2) == "failed: in part", "groups with a failed item"
    assert text(math.nan, math.nan, math.nan, not_applicable=36) == "declined: all"
    assert text(math.nan, math.nan, math.nan) == "not asked: never asked"
    assert text(math.nan, math.nan, math.nan, failure_rate=1.0) == "failed: all"


def test_without_a_floor_or_an_interval_there_is_no_grade() -> None:
    assert grading(0.9, 0.8, 1.0, chance=math.nan, blind=math.nan).label == "open: no baseline"
    assert grading(0.9, 0.8, 1.0, blind=1.0).label == "open: baseline leaves no room"
    assert text(0.9, math.nan, math.nan) == "open: too few items"


def with_floor(right: np.ndarray[Any, Any], floor: list[float], condition: str = "") -> Grade:
    units = pd.DataFrame({"value": right, "cluster_id": [str(n) for n in range(len(right))]})
    facts = {**FACTS, "blind": 0.25, "value": right.mean(), "low": right.mean() - 0.05, "high": right.mean() + 0.05}
    scores = np.array(floor)
    frames = UnitFloor("drawn boxes", "boxes only", scores, scores.mean(), scores.mean(), condition)
    return grade_of(ResultRow(**facts), ACCURACY, units, [frames])


def test_presence_is_judged_from_the_greatest_floor_and_absence_from_blind() -> None:
    half, few = np.tile([1.0, 0.0], 100), np.tile([1.0, 0.0, 0.0, 0.0], 50)
    reader = with_floor(half, half.tolist())
    assert (reader.label, reader.floor, reader.decided_by) == ("no better than: boxes only", 0.5, "drawn boxes")
    assert with_floor(few, half.tolist()).word == "none", "it does not even read the boxes"
    assert with_floor(np.ones(200), half.tolist()).word == "nearly all right"
    assert with_floor(half, np.zeros(200).tolist()).word == "some", "a rule below blind is no floor"


def test_too_few_items_are_marked_if_above_a_floor() -> None:
    """Blind is .25, and the boxes give .5: a quarter of the way from there is .625."""
    boxes = np.tile([1.0, 0.0], 50)
    little_more, as_much = boxes.copy(), np.tile([0.0, 1.0], 50)
    little_more[1:25:2] = 1.0
    assert with_floor(little_more, boxes.tolist()).note == "above the floor"
    assert with_floor(as_much, boxes.tolist()).note == "above the blind baseline"


def test_a_rule_that_is_worse_than_blind_on_a_part_is_not_its_only_floor() -> None:
    """On many items the rule is right on 60 %, on these on none; blind is .9 here, and .925 a quarter of the way."""
    units = pd.DataFrame({"value": np.tile([1.0] * 9 + [0.0], 10), "cluster_id": [str(n) for n in range(100)]})
    rule = UnitFloor("thumbnail", "thumbnail", np.zeros(100), 0.0, 0.95)
    facts = {**FACTS, "blind": 0.9, "value": 0.9, "low": 0.83, "high": 0.95}
    part = grade_of(ResultRow(**facts), ACCURACY, units, [rule])
    assert (part.word, part.floor, part.floor_name) == ("", 0.9, "blind baseline")


def test_a_floor_near_the_ceiling_leaves_nothing_to_grade() -> None:
    nearly = np.tile([1.0] * 19 + [0.0], 10)
    full = with_floor(np.ones(200), nearly.tolist(), "boxes=none")
    assert full.label == "open: baseline leaves no room"
    assert full.note == "boxes only give 95 %; ask under boxes=none"
    assert with_floor(np.ones(200), nearly.tolist()).note == "boxes only give 95 %", "no condition is without them"


def test_the_greatest_floor_is_chosen_by_its_score_on_many_items() -> None:
    """On the subject's own items the thumbnail happens to be better than the boxes."""
    right, halves = np.ones(200), np.tile([1.0, 0.0], 100)
    boxes = UnitFloor("drawn boxes", "boxes only", halves, 0.5, 0.6)
    thumbnail = UnitFloor("thumbnail", "thumbnail", right, 1.0, 0.55)
    units = pd.DataFrame({"value": right, "cluster_id": [str(n) for n in range(200)]})
    row = ResultRow(**{**FACTS, "blind": 0.25, "value": 1.0, "low": 0.98, "high": 1.0})
    chosen = grade_of(row, ACCURACY, units, [thumbnail, boxes])
    assert (chosen.word, chosen.floor_name, chosen.floor) == ("nearly all right", "drawn boxes", 0.5)
    little = UnitFloor("thumbnail", "thumbnail", right, 1.0, 0.28)
    assert grade_of(row, ACCURACY, units, [little]).floor_name == "blind baseline", (
        "less than 5 % of the way above blind"
    )


def test_a_thumbnail_is_a_note_for_subjects_that_it_is_no_floor_of() -> None:
    units = pd.DataFrame({"value": np.ones(200), "cluster_id": [str(n) for n in range(200)]})
    row = ResultRow(**{**FACTS, "value": 1.0, "low": 0.98, "high": 1.0})
    noted = grade_of(row, ACCURACY, units, thumbnail=0.8)
    assert (noted.word, noted.note) == ("nearly all right", "a thumbnail gives 80 %")
    assert grade_of(row, ACCURACY, units, thumbnail=0.5).note == "", "under a quarter of the way from .40 to 1"


def test_equal_answers_to_the_items_of_a_floor_are_compared_item_by_item() -> None:
    """The rule is right on 60 % of the items; so is a subject, on all those it misses and on half of the others."""
    rule = np.tile([1.0, 1.0, 1.0, 0.0, 0.0], 40)
    unlike = np.tile([1.0, 0.0, 0.0, 1.0, 1.0], 40)
    assert with_floor(unlike, rule.tolist()).label in ("no better than: boxes only", "open: near the boundary")
    assert with_floor(np.ones(200), rule.tolist()).word == "nearly all right"


def test_every_state_has_one_colour() -> None:
    grades = [Grade("", state, reason) for state, reasons in states.STATES.items() for reason in reasons]
    assert {colour(grade) for grade in grades if grade.state != "not asked"} == {"same"}
    assert {colour(grade) for grade in grades if grade.state == "not asked"} == {"none"}
    assert [colour(Grade(word, "", "")) for word in ("none", "some", "most", "as people")] == [
        "below", "part", "above", "above",
    ]  # fmt: skip


def test_every_grade_and_state_has_a_text_and_a_meaning() -> None:
    grades = [Grade("", state, reason) for state, reasons in states.STATES.items() for reason in reasons]
    texts = [grade_text(grade) for grade in grades]
    assert len(set(texts)) == len(texts)
    assert texts == [label_text(grade.label) for grade in grades]
    assert list(STATE_MEANINGS) == [(grade.state, grade.reason) for grade in grades]
    assert set(GRADE_MEANINGS) == set(GRADES)


def asked_until_decided(share: float, items: int, floor: UnitFloor | None = None, **facts: Any) -> Grade:
    """The grading of a score of this share of right answers, spread evenly, of a task that was asked until decided."""
    values = (np.floor(np.arange(1, items + 1) * share) - np.floor(np.arange(items) * share)).astype(float)
    low, high = confidence_sequence(values, range(items), (0, 1))
    units = pd.DataFrame({"value": values, "cluster_id": list(map(str, range(items))), "turn": range(items)})
    row = ResultRow(**{**FACTS, "value": float(values.mean()), "low": low, "high": high, **facts})
    return grade_of(row, ACCURACY, units, [floor] if floor else [])


def test_a_score_near_a_boundary_stays_undecided() -> None:
    """On the way from .40 to 1, a quarter is .55."""
    assert asked_until_decided(0.55, 60).label == "open: too few items"
    for items in (1000, 3000):
        assert asked_until_decided(0.55, items).label == "open: near the boundary"
    assert asked_until_decided(0.60, 3000).word == "some"
    assert asked_until_decided(0.50, 3000).word == "none"


def test_a_decision_is_a_grade_a_threshold_or_no_better_than_a_named_baseline() -> None:
    grades = [Grade("", state, reason) for state, reasons in states.STATES.items() for reason in reasons]
    bounds = {f"threshold: {reason}" for reason in (MEASURED, BELOW, ABOVE)}
    of_floors = {grade.label for grade in grades if grade.state == "no better than"}
    assert {grade.label for grade in grades if grade.is_decided} == bounds | of_floors
    assert all(Grade(word, "", "").is_decided for word in GRADES)


def test_what_is_far_from_a_boundary_is_graded() -> None:
    assert asked_until_decided(0.38, 200).word == "none"
    assert asked_until_decided(0.80, 400).word == "most"
    assert asked_until_decided(0.62, 800).word == "some"


def test_a_floor_per_item_is_compared_item_by_item_in_the_order_of_asking() -> None:
    """A rule that is right on every second item: a subject that is right on the others, too, is far above it."""
    values = np.tile([1.0, 0.0], 200)
    floor = UnitFloor("drawn boxes", "boxes only", values, 0.5, 0.5)
    assert asked_until_decided(1.0, 400, floor).word == "nearly all right"
    values = np.tile([1.0, 0.0], 800)
    floor = UnitFloor("drawn boxes", "boxes only", values, 0.5, 0.5)
    copied = asked_until_decided(0.5, 1600, floor, blind=0.25)
    assert copied.label == "no better than: boxes only"


def test_a_score_at_the_boundary_of_none_that_is_below_a_great_floor_is_no_better_than_this_floor() -> None:
    """Blind is .25, so a quarter of the way is .4375; from the rule, right on three of four items, it is .8125."""
    right = np.tile([1.0, 0.0, 1.0, 1.0], 200)

    def state(share: float, items: int) -> str:
        floor = UnitFloor("drawn boxes", "boxes only", right[:items], 0.75, 0.75)
        return asked_until_decided(share, items, floor, blind=0.25, chance=0.25).label

    assert state(0.44, 800) == "no better than: boxes only"
    assert state(0.44, 40) == "open: too few items", "it may be below .3625"
    assert [state(0.25, items) for items in (20, 200)] == ["open: too few items", "none"], "asked until that is proven"
