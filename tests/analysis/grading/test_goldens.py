"""Grades over a grid of scores, floors and facts, and what decides them, equal the goldens."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading.answer_forms import box_units, other_unit, units_read
from snellen.analysis.grading.deciding import units_to_decide
from snellen.analysis.grading.grades import UnitFloor, baseline, ceiling_of, grade_of, incomplete, look_level
from snellen.analysis.grading.results import over_draws, unit_interval
from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.analysis.tables import cells
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD, Measurement, Metric
from snellen.reports import words
from snellen.scoring.protocols import ACCURACY
from tests.goldens.golden import assert_golden
from tests.helpers.report_texts import rounded

NO = math.nan
ERROR = Metric(
    "error", lambda item, reply: 0.0, higher_is_better=False, share=False, bounds=None, unit="px", decimals=2
)
OVERLAP = Metric("giou", lambda item, reply: 0.0, worst=-1.0, bounds=(-1.0, 1.0), decimals=3, title="GIoU")
CLOSE = Metric("near", lambda item, reply: 0.0, summary="median", bounds=(0.0, 1.0))
METRICS = {"accuracy": ACCURACY, "error": ERROR, "overlap": OVERLAP, "median": CLOSE}
FACTS: dict[str, dict[str, Any]] = {
    "plain": {}, "people": {"ceiling": 0.8}, "weak people": {"ceiling": 0.3}, "no chance": {"chance": NO},
    "no baseline": {"chance": NO, "blind": NO}, "perfect blind": {"blind": 1.0}, "equal": {"degenerate": True},
    "unread": {"no_answer_rate": 0.04, "cut_off_rate": 0.02}, "cut off": {"no_answer_rate": 0.03, "cut_off_rate": 0.04},
    "unit": {"no_answer_rate": 0.5, "boxes_in": "pixels"}, "declined": {"not_applicable": 9, "failure_rate": 0.1},
    "failed": {"not_applicable": 4, "failure_rate": 0.2}, "just enough": {"not_applicable": 4},
    "groups": {"left_out": 0.11, "failure_rate": 0.05}, "of groups": {"left_out": 0.1, "failure_rate": 0.5},
}  # fmt: skip
SCORES = ((0.3, 0.1, 0.45), (0.5, 0.41, 0.9), (0.5, 0.4, 0.6), (0.62, 0.56, 0.68), (0.8, 0.71, 0.9), (0.97, 0.95, 1.0),
          (0.1, 0.05, 0.12), (0.7, NO, NO), (NO, NO, NO))  # fmt: skip


def row_of(score: tuple[float, ...], **facts: Any) -> ResultRow:
    usual: dict[str, Any] = {
        "subject": "model", "task": "naming", "chance": 0.25, "blind": 0.4, "no_answer_rate": 0.0, "cut_off_rate": 0.0,
        "items": 40, "n": 40, "failure_rate": 0.0, "interval": "95 % Wilson",
    }  # fmt: skip
    return ResultRow(**usual | dict(zip(("value", "low", "high"), score, strict=True)) | facts)


def plain(grade: Grade) -> str:
    return f"{grade.label} | {grade.floor:.6g} {grade.floor_name} | {grade.decided_by} | {grade.note}"


def grade_lines() -> Iterator[str]:
    for (name, metric), (about, facts), score in product([*METRICS.items()][:2], FACTS.items(), SCORES):
        row = row_of(score, **facts)
        grade = grade_of(row, metric, thumbnail=0.6)
        graded = replace(row, grade=grade)
        texts = words.grade_text(grade), words.first_text(grade), words.value_words(graded, metric), words.colour(grade)
        decide = NO if math.isnan(row.low) else units_to_decide(graded, metric)
        numbers = baseline(row, metric), ceiling_of(row, metric), decide
        yield f"{name}, {about}, {score}: {plain(grade)} {texts} {numbers} {cells.metric_cell(graded, metric)}"
        if part := incomplete(row):
            yield f"    {plain(part)}"


def floor_lines() -> Iterator[str]:
    """Of 60 units, in clusters of one to three, the first are right; rules are right on others, or on many of them."""
    places = np.arange(60)
    rules = {
        "every second": places % 2,
        "four of five": places % 5 > 0,
        "the same": places < 40,
        "nearly all": places % 20 > 0,
    }
    for right, (name, rule), measured in product((18, 30, 40, 57), rules.items(), (0.3, 0.55, 0.96)):
        values, scores = (places < right).astype(float), np.asarray(rule, float)
        units = pd.DataFrame({"value": values, "cluster_id": [f"c{n * n // 40}" for n in places]})
        floors = [
            UnitFloor("thumbnail", "thumbnail", scores[::-1], float(scores.mean()), 0.45),
            UnitFloor("drawn boxes", "boxes only", scores, float(scores.mean()), measured, "boxes=none"),
        ]
        orders = {
            "all": units,
            "a look": units.assign(look=1, looks=3),
            "until decided": units.assign(turn=places // 2),
        }
        for about, ordered in orders.items():
            interval = unit_interval(ordered, ACCURACY, ("key",))
            row = row_of((float(values.mean()), interval.low, interval.high), blind=0.3)
            grade = grade_of(row, ACCURACY, ordered, floors)
            decide = units_to_decide(replace(row, grade=grade), ACCURACY)
            yield f"{right}, {name}, {measured}, {about}: {interval} {look_level(ordered):.6g} {plain(grade)} {decide}"
    weighted = pd.DataFrame(
        {"value": places % 3 / 2, "cluster_id": list(map(str, places // 2)), "weight": 1.0 + places % 2}
    )
    for metric, level in product((ACCURACY, ERROR, OVERLAP, CLOSE), (0.95, 0.8)):
        for units in (weighted, weighted.drop(columns="weight"), weighted.assign(turn=places), weighted[:0]):
            interval = unit_interval(units, metric, ("key", metric.name), level)
            yield f"{metric.name}, {list(units)}, {len(units)}: {interval}"
    threshold = Measurement(8.0, 6.5, 9.0, "95 % credible", MEASURED, "8 px")
    bounds = [Measurement(4.0, NO, NO, "", BELOW, "small"), Measurement(64.0, NO, NO, "", ABOVE, "large")]
    others = [
        replace(threshold, value=9.5, low=9.0, high=11.0),
        *bounds,
        Measurement(NO, NO, NO, "", NOT_UNDERSTOOD, ""),
    ]
    for parts in ([threshold], *([threshold, other] for other in others), bounds, bounds[:1] * 2, others[-1:] * 2):
        yield f"draws: {over_draws(parts)}"


def form_lines() -> Iterator[str]:
    forms = ["pixels or percent", "pixels", "percent", "thousandths", "none", "as asked", "corners exchanged"]
    counts = ((9, 0, 0, 0, 1), (9, 0, 0, 0, 2), (5, 5, 0, 0, 1), (5, 0, 4, 0, 1), (0, 0, 0, 10, 1), (0, 0, 0, 0, 0, 9))
    for count in counts:
        given = [form for form, times in zip(forms, count, strict=False) for _ in range(times)]
        owns = ("", "pixels", "percent", "1024ths", "thousandths-y-first")
        yield f"{count}: {[other_unit(given, own) for own in owns]}"
        outcomes = ["answered" if n % 3 else "no_answer" for n in range(len(given))]
        yield f"{units_read(given, outcomes)} {box_units(pd.DataFrame({'form': given, 'outcome': outcomes}), 'pixels')}"
    row = row_of((0.5, 0.25, 0.75), n=199, no_answer_rate=0.1, cut_off_rate=0.05, failure_rate=0.02)
    for facts in ({}, {"n": 200}, {"n": 0, "not_applicable": 3}, {"n": 0}, {"interval": "not estimable: 3 clusters"}):
        changed = replace(row, **facts)
        for name, metric in METRICS.items():
            texts = [words.value_words(changed, metric), words.span(0.123, 45.6, metric, changed.n)]
            texts += [words.amount(value, metric, changed.n) for value in (0.0, 0.004567, -1.5, 1234.5, NO)]
            texts += [words.difference(value, metric, changed.n) for value in (-0.123, 2.5)]
            yield f"{name}, {facts}: {cells.metric_cell(changed, metric)} | {cells.result_cell(changed)} {texts}"
            texts = [
                cells.column_head("task", metric),
                *words.unread_notes(changed, metric),
                cells.number(0.126, metric, 9),
            ]
            yield f"    {texts}"
    yield f"{cells.points(0.123, -0.01, 0.2)} {cells.points(-0.1, NO, NO)} {cells.decimal_interval(1.26, 1, 2.04)}"
    yield f"{cells.decimal_interval(NO, 1, 2)} {cells.chance_range([0.25, 0.5, NO, 0.25])}"
    yield f"{cells.value_range([3, 1, 3])} {cells.share_cell([1, 0, 1, 1], ['b', 'a', 'a', 'c'])}"
    yield f"{[words.probability(p) for p in (0.0004, 0.04, 0.5, 1, NO)]}"
    yield f"{[words.rate(share) for share in (0, 0.004, 0.126, 0.999, 1)]}"
    grade = Grade("", "threshold", BELOW, note="a note", floor=0.4, floor_name="drawn boxes")
    yield f"{words.value_words(replace(row, grade=grade), ERROR)} {words.grade_text(grade)} {grade.label}"


LINES = {"grades": grade_lines, "floors": floor_lines, "forms": form_lines}


@pytest.mark.parametrize("part", LINES)
def test_grades_are_what_they_were(part: str) -> None:
    text = rounded("\n".join(LINES[part]())).replace("np.float64", "")
    assert_golden(f"grading/{part}.txt", text + "\n")
