"""Thresholds in words, bias and spread of points, and plans, by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from snellen.core.box_units import BOX_UNITS
from snellen.core.build_options import BuildOptions
from snellen.core.item import Item, Media, ReplySpec
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD, Measurement
from snellen.suites.thresholds.generated.recipe import Generated, conditions
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.pointing import fit_errors, metrics
from snellen.suites.thresholds.prompts import words
from snellen.suites.thresholds.published import REFERENCE
from snellen.suites.thresholds.report import pointing
from snellen.suites.thresholds.report.sections import ArmThreshold, in_words
from snellen.suites.thresholds.report.stimuli import letter
from snellen.suites.thresholds.scoring import amount, digits, error, estimate_text
from snellen_sight.psychometric import Answers
from tests.goldens.descriptions import line
from tests.goldens.golden import assert_golden

IMAGE = Media("a" * 64, "image", "png", 448, 448)
POINT = Item(
    "p", "thresholds", "pointing", "?", (IMAGE,), (10.0, 20.0), "point", "p", "p", "p", measures={"radius_px": 5.0}
)


def arm(task: str, reason: str, value: float, role: Any = "model") -> ArmThreshold:
    """A threshold of a subject with three of eight easy questions right."""
    answers: Any = SimpleNamespace(answers=Answers(np.array([5, 8]), np.array([2, 3])))
    return ArmThreshold(task, "py:x", reason, value, 0.9 * value, 1.1 * value, answers, role)


def test_numbers_have_two_or_three_digits_and_their_unit() -> None:
    values = (0.0512, 0.999, 1.0, 6.1, 16.04, 155.0, -0.123, -1.5)
    assert list(map(digits, values)) == ["0.051", "1.0", "1.00", "6.10", "16.0", "155", "-0.12", "-1.50"]
    assert [amount(2.0, MEASURES[task]) for task in ("acuity", "orientation")] == ["2.00 px", "2.00°"]
    cells = {MEASURED: "6.10 px [5.20, 7.00]", BELOW: "less than 6.10 px", ABOVE: "more than 6.10 px"}
    for reason, text in (cells | {NOT_UNDERSTOOD: NOT_UNDERSTOOD}).items():
        assert estimate_text(Measurement(6.1, 5.2, 7.0, "", reason, ""), MEASURES["acuity"]) == text
    gaps = ("acuity", 0.5), ("crowded-acuity", 1.98), ("acuity", 2.1), ("vernier", 2.0)
    letters = ["a 2.5 px letter", "a 9.9 px letter", "a 10 px letter", ""]
    assert [letter(arm(task, MEASURED, gap)) for task, gap in gaps] == letters


@pytest.mark.parametrize(
    ("threshold", "words"),
    [
        (arm("length", MEASURED, 5.0), "needs a bar that is longer by 5.00 % [4.50, 5.50]"),
        (arm("acuity", BELOW, 0.5, "person"), "not measurable at this distance: reads 0.50 px"),
        (arm("acuity", BELOW, 0.5), "needs a gap of less than 0.50 px"),
        (arm("acuity", ABOVE, 32.0, "person"), "needs a gap of more than 32.0 px"),
        (arm("number", BELOW, 5.0, "person"), "needs less than 5.00 % more dots"),
        (arm("touching", NOT_UNDERSTOOD, math.nan), "did not understand the question: 3 of 8 easy questions right"),
    ],
)
def test_a_threshold_is_a_sentence(threshold: ArmThreshold, words: str) -> None:
    assert in_words(threshold) == words


def test_the_reference_observer_is_the_one_of_the_measurements() -> None:
    """The column of 256 grey levels in docs/measurements/thresholds.md."""
    page = (Path(__file__).parents[3] / "docs" / "measurements" / "thresholds.md").read_text("utf-8")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| ")]
    assert {row[0]: float(row[2].split()[0]) for row in cells if row[0] in REFERENCE and len(row) == 4} == REFERENCE


def test_bias_and_spread_worked_by_hand() -> None:
    """Half at 2 and half at 4 px: 3 +- 1.96 s / sqrt(40), where s is sqrt(40 / 39); log s +- 1.96 / sqrt(78)."""
    by_name = {metric.name: metric for metric in metrics()}
    scores = {name: metric.score(POINT, (13.0, 15.0)) for name, metric in by_name.items()}
    assert scores == {"bias_x": 3.0, "spread_x": 3.0, "bias_y": -5.0, "spread_y": -5.0}
    assert [error(POINT, point) for point in ((13.0, 16.0), (13.0, 24.1))] == [0.0, 1.0]
    errors, spread = [2.0, 4.0] * 20, math.sqrt(40 / 39)
    half, step = 1.959964 * spread / math.sqrt(40), math.exp(1.959964 / math.sqrt(78))
    for name, metric in by_name.items():
        assert (metric.higher_is_better, metric.bounds) == (False, None)
        assert metric.estimate is not None
        estimate, few = (
            metric.estimate([POINT] * 40, errors),
            metric.estimate([POINT] * 5, [1.0, 2.0, 3.0, 4.0, math.nan]),
        )
        ends = (3.0, 3 - half, 3 + half) if name.startswith("bias") else (spread, spread / step, spread * step)
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx(ends, rel=0.02)
        assert (few.reason, few.note, metric.estimate([], []).reason) == (NOT_UNDERSTOOD, "too few points", "")
    five, same, slips = map(fit_errors, ([1.0, 2.0, 3.0, 4.0, 5.0], [7.0] * 9, [*errors, 200.0, -150.0, 120.0, 90.0]))
    assert five is not None
    assert same == pytest.approx((7.0, 0.05, 9.0), abs=0.01)
    assert slips == pytest.approx((3.0, 1.0, 40.0), abs=0.2)


def test_a_row_of_points_has_hits_biases_spread_and_slips() -> None:
    """Forty points 3 px to the right or 5, alternating, and 1 px above; deviations of 1.01 and at least 0.05 px."""
    points = [(POINT, (10.0 + (3, 5)[n % 2], 19.0)) for n in range(40)]
    assert pointing._cells(points) == ["20", "+4.0 px", "-1.0 px", "0.7 px", "0"]
    assert pointing._cells([*points, *[(POINT, (400.0, 400.0))] * 3])[-1] == "3"
    assert pointing._cells(points[:3]) == ["2", "–", "–", "–", "–"]
    factors = {level: {"level": f"{level}", "eccentricity": "far"} for level in (1, 5, 6, 10, 11, 16, 17)}
    levels = {
        level: pointing.parts_of(replace(POINT, factors=level_factors))[2:] for level, level_factors in factors.items()
    }
    small, middle, large = ((name,) for name in ("3 to 7.56 px", "9.524 to 24 px", "30.24 to 96 px"))
    assert levels == {1: small, 5: small, 6: middle, 10: middle, 11: large, 16: large, 17: ()}


def options(**changes: Any) -> BuildOptions:
    return BuildOptions(**{"tasks": ("acuity",), "n": 17, **changes})


def test_a_plan_counts_images_seconds_and_bytes() -> None:
    """17 test items and twice 32 training items of six levels are 401 images of 0.013 s and 12 kB.

    All canvases have 1 + (1024 / 448)^2 + (2048 / 448)^2 = 27.122 times the pixels of the smallest.
    """
    recipe, every = Generated(), {"canvas": "all"}
    plan = {"suite": "thresholds", "images": 401, "items": {"acuity": 17}, "parts": 1, "seconds": 3, "bytes": 4_812_000}
    assert recipe.plan(options(workers=2)) == {**plan, "workers": 2}
    all_canvases, quick = recipe.plan(options(settings=every)), recipe.plan(options(n=None, quick=True))
    assert [all_canvases[name] for name in ("images", "items", "parts", "seconds")] == [1203, {"acuity": 51}, 3, 141]
    assert all_canvases["bytes"] == pytest.approx(401 * 27.122 * 12_000, rel=1e-4)
    assert (quick["images"], quick["items"]) == (68 + 96, {"acuity": 68})
    assert recipe.parameters(options(seed=5, settings=every, quick=True)) == {
        "counts": {"acuity": 51}, "train": 288, "seed": 5, "settings": every,
    }  # fmt: skip
    rounds = [[level for level, _ in conditions(MEASURES["acuity"], count)] for count in (18, 3)]
    assert rounds == [[*reversed(range(17)), 16], [16, 11, 5]]
    turns = [variant for _, variant in conditions(MEASURES["contrast"], 5 * 17)]
    assert (turns[::17], len(set(turns[:17]))) == (["1/32", "1/16", "1/8", "1/4", "1/32"], 1)
    assert {variant for _, variant in conditions(MEASURES["pointing"], 4)} == {"near", "middle", "far"}


def test_questions_of_all_measures_and_prompts_equal_their_golden() -> None:
    conditions: Any = [{"prompt": prompt} for prompt in ("full", "short", "minimal")]
    view = POINT.view()
    points = [replace(view, reply=ReplySpec("point", unit=unit)) for unit in ("", *BOX_UNITS, "pixels-y-first")]
    others = [
        replace(view, task=task, question=measure.question, reply=ReplySpec("choice"))
        for task, measure in MEASURES.items()
        if task != "pointing"
    ]
    lines = [line([each.task, *(words(each, condition) for condition in conditions)]) for each in (*points, *others)]
    assert_golden("suites/thresholds-questions.txt", "\n".join(lines) + "\n")
