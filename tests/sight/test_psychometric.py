"""Psychometric functions: hand-worked posteriors, planted observers, and choices that follow from brute force."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from snellen.core.seeds import stream
from snellen_sight.psychometric import (
    Answers,
    FunctionGrid,
    credible_ends,
    deviance_p,
    fit,
    next_conditions,
    posterior,
    weibull,
    weibull_grid,
)
from tests.helpers.threshold_rates import Design, rates


def counts(*pairs: tuple[int, int]) -> Answers:
    """Answers from (number, right ones) of each condition."""
    return Answers(np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs]))


def tiny(right: list[list[float]]) -> FunctionGrid:
    """Two functions with equal priors and thresholds 0 and 1."""
    ones = np.ones(2)
    return FunctionGrid(np.array(right), np.array([0.0, 1.0]), ones, 0 * ones, ones / 2)


def test_the_threshold_is_halfway_between_guesses_and_lapses() -> None:
    assert weibull(0.7, 0.7, 3.0, 0.1, 0.125) == pytest.approx((0.125 + 0.9) / 2)
    assert weibull(-9.0, 0.7, 3.0, 0.1, 0.125) == pytest.approx(0.125)
    assert weibull(9.0, 0.7, 3.0, 0.1, 0.125) == pytest.approx(0.9)
    # One tenth of a log unit above, slope 2: 1 - 2^-(10^.2) = 1 - 2^-1.58489 = .66665.
    assert weibull(0.8, 0.7, 2.0, 0.0, 0.0) == pytest.approx(0.66665, abs=1e-5)


def test_a_posterior_worked_by_hand() -> None:
    grid = tiny([[0.9, 0.2], [0.5, 0.5]])
    # Two answers at the first condition, one right: .9 x .1 = .09 against .2 x .8 = .16. The second tells nothing.
    weights = posterior(grid, counts((2, 1), (5, 3)))
    assert weights == pytest.approx([0.09 / 0.25, 0.16 / 0.25])
    result = fit(grid, counts((2, 1), (5, 3)))
    assert result.threshold == pytest.approx(0.64)
    # Shares .36 and .64 over steps from -.5 to .5 and to 1.5: 2.5 % of the mass lies below -.5 + .025 / .36.
    assert result.low == pytest.approx(-0.5 + 0.025 / 0.36)
    assert result.high == pytest.approx(1.5 - 0.025 / 0.64)


def test_the_next_condition_has_the_least_expected_entropy() -> None:
    rng = stream("test", "next condition")
    right = rng.uniform(0.05, 0.95, (4, 6))
    grid = FunctionGrid(right, np.arange(6.0), np.ones(6), np.zeros(6), np.full(6, 1 / 6))
    weights = rng.dirichlet(np.ones(6))

    def expected_entropy(conditions: tuple[int, ...]) -> float:
        total = 0.0
        for outcome in product((0, 1), repeat=len(conditions)):
            joint = weights.copy()
            for condition, is_right in zip(conditions, outcome, strict=True):
                joint *= right[condition] if is_right else 1 - right[condition]
            total -= float((joint * np.log(joint / joint.sum())).sum())
        return total

    (first,) = next_conditions(grid, weights, [1] * 4, 1)
    assert first == min(range(4), key=lambda k: expected_entropy((k,)))
    second = next_conditions(grid, weights, [2] * 4, 2)
    assert second == [first, min(range(4), key=lambda k: expected_entropy((first, k)))]


def test_a_condition_without_exemplars_is_not_chosen() -> None:
    grid = weibull_grid([0.0, 0.5, 1.0], 8)
    chosen = next_conditions(grid, grid.prior, [1, 2, 1, 0], 8)
    assert sorted(chosen) == [0, 1, 1, 2]


def test_credible_ends_of_a_normal_posterior() -> None:
    values = np.linspace(-5, 5, 1001)
    weights = np.exp(-(values**2) / 2)
    low, high = credible_ends(values, weights / weights.sum())
    assert (low, high) == pytest.approx((-1.96, 1.96), abs=0.01)


def test_observers_beyond_the_levels_are_beyond_them() -> None:
    grid = weibull_grid(np.linspace(0, 1.5, 16).tolist(), 8)
    perfect, blind = (counts(*[(3, right)] * 16, (8, 8)) for right in (3, 0))
    assert fit(grid, perfect).threshold < 0 < fit(grid, perfect).high + 0.2
    assert fit(grid, blind).threshold > 1.5


def test_goodness_of_fit_refuses_what_is_no_psychometric_function() -> None:
    grid, levels = weibull_grid(np.linspace(0, 1.5, 16).tolist(), 8), np.linspace(0, 1.5, 16)
    numbers = np.full(17, 30)
    share = np.append(weibull(levels, 0.8, 2.5, 0.02, 1 / 8), 0.98)
    good = Answers(numbers, np.round(numbers * share).astype(np.int64))
    assert deviance_p(grid, good, stream("test", "good")) > 0.5
    falling = Answers(numbers, good.right[::-1].copy())
    assert deviance_p(grid, falling, stream("test", "falling")) < 0.01


def test_goodness_of_fit_of_planted_observers_is_uniform_enough() -> None:
    grid, rng = weibull_grid(np.linspace(0, 1.5, 8).tolist(), 8), stream("test", "uniform")
    numbers, share = np.full(9, 20), np.append(weibull(np.linspace(0, 1.5, 8), 0.7, 2.3, 0.02, 1 / 8), 0.98)
    below = [deviance_p(grid, Answers(numbers, rng.binomial(numbers, share)), rng) < 0.1 for _ in range(60)]
    assert np.mean(below) < 0.25


def test_a_few_planted_observers_are_measured() -> None:
    row = rates(Design(8, 40, 8), count=8)
    assert row["median error"] < 1.35
    assert row["coverage"] > 0.6


@pytest.mark.slow
def test_planted_observers_are_measured_as_stated() -> None:
    batches, singly = (rates(Design(8, 40, batch), count=400) for batch in (8, 1))
    assert batches["median error"] <= 1.20
    assert batches["95th percentile"] <= 1.50
    assert 0.93 <= batches["coverage"] <= 0.99
    errors = [math.log10(row["root mean square error"]) for row in (batches, singly)]
    assert errors[0] <= 1.25 * errors[1]
    lapsing = rates(Design(8, 40, 8), count=200, lapses=(0.1,))
    assert lapsing["median error"] <= 1.20
    assert lapsing["coverage"] >= 0.93
