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
    sensitivity_grid,
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


def test_the_grid_has_each_combination_with_its_prior() -> None:
    """Levels 0 to 1, so thresholds from -.8 to 1.8 in steps of .04; lapse rates beyond .2 are as likely as that one."""
    grid = weibull_grid([0.0, 1.0], 4, further_lapses=(0.35,))
    assert np.unique(grid.thresholds) == pytest.approx(np.linspace(-0.8, 1.8, 66))
    assert grid.right.shape == (3, 66 * 6 * 6)
    assert grid.right[-1] == pytest.approx(1 - grid.lapses), "the control, which only a lapse fails"
    shares = {lapse: grid.prior[grid.lapses == lapse].sum() for lapse in (0, 0.02, 0.05, 0.1, 0.2, 0.35)}
    assert list(shares.values()) == pytest.approx([4 / 15, 4 / 15, 3 / 15, 2 / 15, 1 / 15, 1 / 15])
    assert grid.prior.sum() == pytest.approx(1)
    last = grid.thresholds[-1], grid.slopes[-1], grid.lapses[-1]
    assert grid.right[0, -1] == weibull(0.0, *last, 0.25)
    assert grid.right[1, -1] == weibull(1.0, *last, 0.25)
    assert weibull_grid([0.0, 1.0], 4, has_control=False).right.shape == (2, 66 * 6 * 5)


def test_the_contrast_sensitivity_function_is_a_parabola_of_octaves() -> None:
    """Four peaks and three curvatures: those of 0 are alike, so nine shapes over three frequencies."""
    grid = sensitivity_grid([0.0, 1.0], [1 / 16, 1 / 8, 1 / 4], 2)
    assert grid.by_frequency is not None
    assert grid.right.shape == (3 * 2 + 1, len(grid.thresholds))
    steep = grid.by_frequency[:, np.ptp(grid.by_frequency, axis=0).argmax()]
    rises = {tuple(np.diff(row).round(4)) for row in grid.by_frequency.T}
    octaves = {peak: [0.24 * (log - peak) ** 2 for log in (-4, -3, -2)] for peak in (-5.5, -4.0, -2.5, -1.0)}
    assert {tuple(np.diff(values).round(4)) for values in octaves.values()} <= rises
    assert (0.0, 0.0) in rises
    assert len(rises) == 9
    assert grid.thresholds == pytest.approx(grid.by_frequency.min(0))
    column = int(np.flatnonzero((grid.by_frequency == steep[:, None]).all(0))[0])
    last = steep[2], grid.slopes[column], grid.lapses[column], 0.5
    assert grid.right[4:6, column] == pytest.approx(weibull([0.0, 1.0], *last))
    assert grid.right[-1] == pytest.approx(1 - grid.lapses)
