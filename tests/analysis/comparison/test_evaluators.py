"""Two evaluators of the same encoders, compared with values by hand, brute force and scipy."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from snellen.analysis.comparison.evaluators import mean_scores, mean_tau, order_p
from snellen.analysis.tables.rankings import ScoreMatrix, observed_signs

NAN = math.nan


def matrix(values: list[list[float]], name: str = "ocr", lower: bool = False) -> ScoreMatrix:
    """Every item is its own cluster."""
    return ScoreMatrix(name, np.array(values, float), tuple(f"i{n}" for n in range(len(values[0]))), lower)


def steady(*means: float, items: int = 12, lower: bool = False) -> ScoreMatrix:
    """Encoders that score the same on every item: no draw of items changes their order."""
    return matrix([[mean] * items for mean in means], lower=lower)


def test_mean_tau_of_two_abilities() -> None:
    first = [steady(4, 3, 2, 1), steady(4, 3, 2, 1)]
    # Orders 1 2 3 4 against 2 1 3 4: one of six pairs is reversed, (5 - 1) / 6 = 2/3; against itself 1.
    second = [steady(3, 4, 2, 1), steady(9, 8, 7, 6)]
    mean = mean_tau(first, second, np.random.default_rng(0), draws=50)
    assert tuple(mean) == pytest.approx((5 / 6, 5 / 6, 5 / 6))
    # If lower is better in one of them, the same scores are the opposite order: (2/3 - 1) / 2.
    second = [steady(3, 4, 2, 1), steady(9, 8, 7, 6, lower=True)]
    assert mean_tau(first, second, np.random.default_rng(0), draws=50).value == pytest.approx(-1 / 6)


def test_mean_tau_leaves_out_abilities_without_differences() -> None:
    first, alike = [steady(3, 2, 1), steady(3, 2, 1)], steady(5, 5, 5)
    assert mean_tau(first, [steady(3, 2, 1), alike], np.random.default_rng(0), draws=20).value == 1
    assert math.isnan(mean_tau(first, [alike, alike], np.random.default_rng(0), draws=20).value)


def test_the_interval_of_mean_tau_is_wide_where_scores_are_noise() -> None:
    draws = np.random.default_rng(1)
    noise = [matrix(draws.normal(size=(6, 40)).tolist()) for _ in range(4)]
    mean = mean_tau(noise[:2], noise[2:], np.random.default_rng(0), draws=300)
    assert mean.low < mean.value < mean.high
    assert mean.high - mean.low > 0.5


def test_order_p_is_the_share_of_orders() -> None:
    """Against all orders of four encoders, and scipy's exact test of one tau (one-sided, no ties)."""
    means, others = (4.0, 3.0, 2.0, 1.0), (3.0, 4.0, 2.0, 1.0)
    signs, other_signs = observed_signs(steady(*means)), observed_signs(steady(*others))
    observed = stats.kendalltau(means, others).statistic
    taus = [stats.kendalltau(means, order).statistic for order in permutations(others)]
    share = np.mean([tau >= observed - 1e-9 for tau in taus])
    assert share == pytest.approx(4 / 24)  # the order itself, and those of one swap of neighbours
    assert share == pytest.approx(stats.kendalltau(means, others, alternative="greater", method="exact").pvalue)
    p = order_p([signs], [other_signs], np.random.default_rng(0), draws=4000)
    assert p == pytest.approx(share, abs=0.025)  # four standard errors of a share of 4000


def test_order_p_permutes_encoders_jointly_over_abilities() -> None:
    """The same ability twice is no more evidence than once; opposite orders never agree by chance."""
    signs = observed_signs(steady(5, 4, 3, 2, 1))
    once = order_p([signs], [signs], np.random.default_rng(0), draws=2000)
    assert order_p([signs] * 2, [signs] * 2, np.random.default_rng(0), draws=2000) == once
    assert once < 0.03  # one order of 120
    assert order_p([signs], [-signs], np.random.default_rng(0), draws=500) == 1
    assert math.isnan(order_p([signs], [signs * 0], np.random.default_rng(0)))


def test_scores_are_means_over_encoders_that_have_both() -> None:
    first, second = [[1, 1, NAN, NAN], [0, 1, 1, 1]], [[0, NAN, 1, 1], [1, 0, 0, NAN]]
    scores, others = mean_scores(np.array(first, float), np.array(second, float))
    # Item 0: (1 + 0) / 2 and (0 + 1) / 2; items 1 and 2: the second encoder only; item 3: no encoder has both.
    assert scores[:3].tolist() == [0.5, 1.0, 1.0]
    assert others[:3].tolist() == [0.5, 0.0, 0.0]
    assert np.isnan([scores[3], others[3]]).all()
