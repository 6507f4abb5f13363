"""Thresholds in words: amounts, bounds, states, judgements beyond their levels, and the columns of the report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from snellen.core.item import Item
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD, Measurement
from snellen.core.storage.itemset import ItemSet
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.published import REFERENCE
from snellen.suites.thresholds.report import sections as report
from snellen.suites.thresholds.report.sections import ArmThreshold, in_words
from snellen.suites.thresholds.report.stimuli import letter
from snellen.suites.thresholds.scoring import amount, digits, estimate_text, fitted
from snellen_sight.psychometric import Answers
from tests.suites.thresholds.banks import bank

NAN = math.nan


def arm(task: str, reason: str, value: float, low: float = NAN, high: float = NAN, **fields: Any) -> ArmThreshold:
    """A threshold of a subject with three of eight easy questions right."""
    result = SimpleNamespace(answers=Answers(np.array([5, 6, 8]), np.array([2, 4, 3])), side=448)
    return ArmThreshold(
        task, "py:x", reason, value, low, high, fields.get("result", result), fields.get("role", "model")
    )


def test_numbers_have_two_or_three_digits_and_their_unit() -> None:
    values = (0.0512, 0.999, 1.0, 6.1, 16.04, 155.0, -0.123, -1.5)
    assert [digits(value) for value in values] == ["0.051", "1.0", "1.00", "6.10", "16.0", "155", "-0.12", "-1.50"]
    assert [amount(2.0, MEASURES[task]) for task in ("acuity", "orientation", "length")] == [
        "2.00 px",
        "2.00°",
        "2.00 %",
    ]


def test_a_measurement_is_a_value_a_bound_or_a_reason() -> None:
    cells = {
        (MEASURED, 6.1): "6.10 px [5.20, 7.00]",
        (BELOW, 0.5): "less than 0.50 px",
        (ABOVE, 32.0): "more than 32.0 px",
    }
    for (reason, value), text in (cells | {(NOT_UNDERSTOOD, NAN): NOT_UNDERSTOOD}).items():
        assert estimate_text(Measurement(value, 5.2, 7.0, "", reason, ""), MEASURES["acuity"]) == text


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (arm("length", MEASURED, 6.1, 5.2, 7.0), "needs a bar that is longer by 6.10 % [5.20, 7.00]"),
        (arm("vernier", ABOVE, 10.0), "needs an offset of more than 10.0 px"),
        (arm("acuity", BELOW, 0.5, role="person"), "not measurable at this distance: reads 0.50 px"),
        (arm("acuity", BELOW, 0.5), "needs a gap of less than 0.50 px"),
        (arm("acuity", ABOVE, 32.0, role="person"), "needs a gap of more than 32.0 px"),
        (arm("number", BELOW, 5.0, role="person"), "needs less than 5.00 % more dots"),
        (arm("touching", NOT_UNDERSTOOD, NAN), "did not understand the question: 3 of 8 easy questions right"),
    ],
)
def test_a_threshold_is_a_sentence(threshold: ArmThreshold, words: str) -> None:
    assert in_words(threshold) == words


def test_a_ring_is_a_letter_of_five_gaps() -> None:
    rings = [
        letter(arm(task, MEASURED, gap)) for task, gap in (("acuity", 0.5), ("crowded-acuity", 1.98), ("acuity", 2.1))
    ]
    assert rings == ["a 2.5 px letter", "a 9.9 px letter", "a 10 px letter"]
    assert letter(arm("vernier", MEASURED, 2.0)) == ""


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return bank(tmp_path_factory.mktemp("sentences") / "bank", ("touching", "acuity"), n=136, test_only=True)


def asked(items: ItemSet, task: str) -> list[Item]:
    return [item for item in items.task(task) if item.split == "test"]


def judged(items: ItemSet, most: float) -> ArmThreshold:
    """A judge that says yes up to this gap, but is right about easy questions."""
    of_task = asked(items, "touching")
    errors = [
        float((item.measures["gap_diameters"] <= most) != (item.answer == "yes")) * (item.factors["control"] == "no")
        for item in of_task
    ]
    return arm("touching", MEASURED, NAN, result=fitted(of_task, errors))


def test_a_point_beyond_the_levels_is_told_as_a_bound(items: ItemSet) -> None:
    beyond = "; spread no baseline"
    assert in_words(judged(items, 0.5)) == f"calls circles touching up to a gap of more than 0.40 diameters{beyond}"
    words = "calls circles touching only from an overlap of more than 0.20 diameters"
    assert in_words(judged(items, -0.3)) == f"{words}{beyond}"
    assert in_words(judged(items, 0.0)).endswith("; spread less than 0.020 diameters")


def cells_of(sections: Iterator[Any]) -> list[list[str]]:
    (section,) = sections
    return [list(map(str, row)) for row in section.table.to_numpy()]


def test_slope_lapses_and_fit_are_those_of_a_threshold(items: ItemSet) -> None:
    """Wrong below 4 px; of 128 answers besides 8 easy ones. Of a bound, and of a judgement, nothing is fitted."""
    of_task = asked(items, "acuity")
    result = fitted(of_task, [float(item.measures["gap_px"] < 4) for item in of_task])
    known, beyond = arm("acuity", MEASURED, 4.0, 3.5, 4.5, result=result), arm("acuity", ABOVE, 32.0, result=result)
    judgement = judged(items, 0.1)
    by_task: dict[str, list[ArmThreshold]] = {"acuity": [known, beyond], "touching": [judgement]}
    first, second, third = cells_of(report._in_words(by_task))
    assert first[3:7] == ["128", "8 of 8", f"{result.fit.slope:.1f}", f"{100 * result.fit.lapse:.0f} %"]
    assert second[3:] == ["128", "8 of 8", "–", "–", "–"]
    assert (third[5], third[6] != "–", third[7] != "–") == ("–", True, True)


def test_answers_to_one_level_are_its_dot_in_the_figure(items: ItemSet) -> None:
    """The ninth level, 3.48 px, is always wrong, the tenth always right; eight answers each."""
    of_task = asked(items, "acuity")
    result = fitted(of_task, [float(item.measures["gap_px"] < 4) for item in of_task])
    threshold = arm("acuity", MEASURED, 4.0, 3.5, 4.5, result=result)
    curve = report.curve_of(threshold, MEASURED, threshold)
    assert curve.answers.tolist() == [8] * 16
    assert curve.shares.tolist() == [float(level >= 4) for level in MEASURES["acuity"].levels]
    assert 10 ** np.array(curve.levels) == pytest.approx(MEASURES["acuity"].levels)
    assert (curve.value, curve.low, curve.high) == (4.0, 3.5, 4.5)
    assert curve.fit[0] < 0.3 < 0.7 < curve.fit[-1]


def test_the_reference_observer_is_the_one_of_the_measurements() -> None:
    """The column of 256 grey levels in docs/measurements/thresholds.md."""
    page = (Path(__file__).parents[3] / "docs" / "measurements" / "thresholds.md").read_text("utf-8")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    measured = {row[0]: float(row[2].split()[0]) for row in cells if row[0] in REFERENCE and len(row) == 4}
    assert measured == REFERENCE


def test_wrong_answers_are_shares_of_the_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of four wrong answers of the first subject three name patch 2, one 9; right answers do not count."""
    predictions: Sequence[tuple[str, str, float]] = (
        ("a", "2", 1.0), ("a", "2", 1.0), ("a", "2", 1.0), ("a", "9", 1.0), ("a", "5", 0.0), ("b", "1", 1.0),
    )  # fmt: skip
    rows = pd.DataFrame(
        [{"subject": s, "condition": "", "prediction": f'"{p}"', "value": v} for s, p, v in predictions]
    )
    empty = rows.iloc[:0]
    arms = [SimpleNamespace(subject=name, condition="") for name in "abc"]
    monkeypatch.setattr(report, "score_rows", lambda run, task: rows if task == "length" else empty)
    monkeypatch.setattr(report, "examined", lambda run, arms: arms)
    monkeypatch.setattr(report, "main_arms", lambda run: arms)
    zero = "0 %"
    assert [row[1:] for row in cells_of(report._places(cast(Any, None)))] == [
        ["4", zero, "75 %", *[zero] * 6, "25 %"], ["1", "100 %", *[zero] * 8],
    ]  # fmt: skip
