"""The arithmetic of bench/traits.py on made-up scores, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from bench.traits import MEASURES, comparison, correlations, progress_of, redrawn

ASCENDING = [1, 2, 3, 4, 5, 6, 7, 8]
SWAPPED = [2, 1, 4, 3, 6, 5, 8, 7]
"""Differences of 1 in all eight places: rho = 1 - 6 * 8 / (8 * 63) = 0.905."""


def result(
    subject: str, level: str, value: float, blind: float, chance: float, state: str = "graded"
) -> dict[str, object]:
    return {"subject": subject, "protocol": "strict", "task": "pattern-perception", "metric": "accuracy",
            "factor": "question", "level": level, "value": value, "blind": blind, "chance": chance,
            "ceiling": math.nan, "state": state}  # fmt: skip


def test_progress_is_the_mean_over_levels_of_the_share_of_the_way_from_the_better_floor_to_the_ceiling() -> None:
    rows = [
        result("encoder:a", "primary-colour", 0.6, 0.2, 0.1),  # (0.6 - 0.2) / 0.8 = 0.5
        result("encoder:a", "secondary-colour", 0.8, 0.1, 0.2),  # (0.8 - 0.2) / 0.8 = 0.75
        result("encoder:a", "primary-shape", 0.0, 0.2, 0.2),
        result("encoder:b", "primary-colour", 0.6, 0.2, 0.1, "declined"),
        result("encoder:c", "primary-colour", math.nan, 0.2, 0.1),
    ]
    assert progress_of(MEASURES[0], pd.DataFrame(rows)).to_dict() == pytest.approx({"encoder:a": 0.625})


def test_progress_of_an_error_counts_down_from_the_blind_error() -> None:
    row = result("encoder:a", "", 7.0, 28.0, 38.0) | {"task": "colour", "metric": "ciede2000", "factor": ""}
    assert progress_of(MEASURES[3], pd.DataFrame([row])).to_dict() == pytest.approx({"encoder:a": 0.75})


def test_correlations_are_spearmans_over_the_rows_with_both_scores() -> None:
    scores = pd.DataFrame({0: [1.0, 2, 3, 4, 5], 1: [20.0, 10, 40, 30, 50], 2: [1.0, 2, 3, math.nan, math.nan]})
    rho = correlations(scores)
    assert rho[0, 1] == pytest.approx(1 - 6 * 4 / (5 * 24))
    assert math.isnan(rho[0, 2])


def test_rows_of_one_unit_are_redrawn_together() -> None:
    scores = pd.DataFrame({0: ASCENDING, 1: SWAPPED})
    rho = correlations(scores)
    assert np.allclose(redrawn(scores, ["a"] * 8, 5), rho)
    assert not np.allclose(redrawn(scores, list("abcdefgh"), 5), rho)


def test_means_within_and_across_traits() -> None:
    shape = ASCENDING[::-1]
    columns = {0: ASCENDING, 1: shape, 3: SWAPPED, 4: shape}  # colour and shape of combo, then of ava-bench
    scores = pd.DataFrame(columns, [f"encoder:{name}?readout={k}" for name in "abcd" for k in ("auto", "knn")])
    cells = [line.strip("| ").split(" | ") for line in comparison(scores, draws=10)]
    assert [row[:3] for row in cells] == [
        ["colour: combo pattern-perception, ava-bench colour", "8", "0.90"],
        ["shape: combo pattern-perception, ava-bench object", "8", "1.00"],
        ["mean: one trait, two suites", "2 pairs", "0.95"],
        ["mean: two traits and suites", "2 pairs", "-0.95"],
        ["mean: one suite", "2 pairs", "-0.95"],
        ["first mean minus second", "", "1.90"],
    ]
    assert cells[1][3:] == ["1.00 to 1.00", "1.00 to 1.00"]
