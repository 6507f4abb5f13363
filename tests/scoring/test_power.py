"""Power by hand, and against statsmodels for independent units."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_effectsize

from snellen.scoring.power import detectable, units_needed
from snellen.scoring.uncertainty import cluster_wilson, wilson

Z = 1.959964


def around(value: float, error: float) -> tuple[float, float]:
    return value - Z * error, value + Z * error


def test_detectable_differences_by_hand() -> None:
    # A standard error of 5 points: (1.960 + 0.842) x 5 = 14.0 points.
    low, high = around(0.6, 0.05)
    assert detectable(low, high) == pytest.approx(0.14008, abs=1e-5)
    # 100 units detect 14 points; 10 points take (14.008 / 10)^2 = 1.962 times as many, 28 a quarter.
    assert units_needed(0.6, 0.5, low, high, 100) == 197
    assert units_needed(0.6, 0.6 - 0.28016, low, high, 100) == pytest.approx(25, abs=1)
    assert units_needed(0.5, 0.6, *around(0.5, 0.05), 100) == 197  # below chance as above


def test_the_detectable_difference_needs_as_many_units_as_there_are() -> None:
    """Not one more, which rounding of floats would add."""
    for width in np.linspace(0.01, 0.5, 50).tolist():
        assert units_needed(0.2 + detectable(0.1, 0.1 + width), 0.2, 0.1, 0.1 + width, 10) == 10


def test_without_a_difference_or_values_nothing_is_estimated() -> None:
    low, high = around(0.6, 0.05)
    assert math.isnan(units_needed(0.6, 0.6, low, high, 100))
    assert math.isnan(units_needed(0.6, math.nan, low, high, 100))
    assert math.isnan(units_needed(0.6, 0.5, math.nan, math.nan, 100))
    assert math.isnan(detectable(math.nan, math.nan))


def test_more_than_100_000_units_are_not_estimated() -> None:
    # A standard error of .05 with 100 units detects .14008; a difference of d takes 100 (.14008 / d)^2.
    low, high = around(0.6, 0.05)
    assert units_needed(0.6, 0.6 - 0.0045, low, high, 100) == pytest.approx(96_902, abs=2)
    assert math.isnan(units_needed(0.6, 0.6 - 0.0044, low, high, 100))
    assert math.isnan(units_needed(0.6, 0.6 - 1e-12, low, high, 100))


@given(st.floats(0.05, 3), st.floats(0.05, 0.8), st.integers(5, 500))
def test_units_are_those_of_statsmodels_for_independent_values(spread: float, effect: float, n: int) -> None:
    difference = effect * spread
    low, high = around(difference, spread / math.sqrt(n))
    expected = NormalIndPower().solve_power(effect, alpha=0.05, power=0.8, ratio=0)
    # statsmodels also counts the power of the wrong side, which matters for large effects only.
    assert units_needed(difference, 0.0, low, high, n) == pytest.approx(expected, rel=0.01, abs=1.01)


@pytest.mark.parametrize(("share", "chance"), [(0.6, 0.5), (0.4, 0.25), (0.55, 0.5), (0.35, 0.3)])
def test_units_are_near_those_by_cohen_s_h_for_shares(share: float, chance: float) -> None:
    # Cohen's h equalises the variances of both shares, which differ by a few percent here.
    effect = proportion_effectsize(share, chance)
    expected = NormalIndPower().solve_power(effect, alpha=0.05, power=0.8, ratio=0)
    low, high = wilson(share * 1000, 1000)
    assert units_needed(share, chance, low, high, 1000) == pytest.approx(expected, rel=0.13)


def test_clusters_take_more_units() -> None:
    right = np.repeat([1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0] * 2, 5)
    together = cluster_wilson(right, np.repeat(np.arange(20), 5))
    apart = cluster_wilson(right, np.arange(100))
    needs = [units_needed(0.7, 0.5, *ends, 100) for ends in (together, apart)]
    assert needs[0] > 5 * needs[1]
