"""Bias apart from precision, on planted observers and on 5,376 real answers about two circles.

`make slow REAL_REPLIES=FOLDER` names a folder with touching_circles.csv.gz (tests/helpers/circles.py).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from snellen.core.seeds import stream
from snellen.scoring.equality import Equality, equality, equality_grid
from snellen_sight.psychometric import Answers
from tests.helpers.circles import distances, judgements, measured, replay_rates

REAL_REPLIES = os.environ.get("REAL_REPLIES", "")
LEVELS = np.linspace(-0.2, 0.3, 11).tolist()
PRINTED = {
    ("gemini-1.5", "overlapping"): (93, (-0.02, -0.01, 0.00)),
    ("gemini-1.5", "touching"): (92, (0.06, 0.07, 0.07)),
    ("sonnet-3.5", "overlapping"): (89, (-0.05, -0.13, -0.14)),
    ("sonnet-3.5", "touching"): (94, (0.01, 0.05, 0.04)),
    ("sonnet-3", "overlapping"): (88, (0.06, 0.04, 0.02)),
    ("sonnet-3", "touching"): (81, (0.19, 0.14, 0.14)),
    ("gpt-4o", "overlapping"): (71, (0.17, 0.16, 0.17)),
    ("gpt-4o", "touching"): (74, (0.24, 0.17, 0.18)),
}
"""Percent right, and PSEs at 384, 769 and 1155 px by maximum likelihood, an independent fit."""


def planted(point: float, spread: float, each: int, seed: int) -> Equality:
    """The fit to simulated answers, `each` at every level."""
    rng, counts = stream("test", "equality", seed), np.full(len(LEVELS), each)
    yes = rng.binomial(counts, norm.cdf((point - np.array(LEVELS)) / spread))
    return equality(equality_grid(LEVELS), Answers(counts, yes))


def test_a_shifted_criterion_is_not_imprecision() -> None:
    shifted, imprecise = planted(0.12, 0.03, 40, 1), planted(0.0, 0.15, 40, 2)
    assert shifted.point == pytest.approx(0.12, abs=0.01)
    assert shifted.spread == pytest.approx(0.03, rel=0.3)
    assert imprecise.point == pytest.approx(0.0, abs=0.04)
    assert imprecise.spread == pytest.approx(0.15, rel=0.35)


def test_intervals_hold_planted_values() -> None:
    every = [planted(0.05, 0.06, 8, seed) for seed in range(60)]
    assert np.mean([fit.point_low <= 0.05 <= fit.point_high for fit in every]) >= 0.88
    assert np.mean([fit.spread_low <= 0.06 <= fit.spread_high for fit in every]) >= 0.88


def test_points_of_equality_beyond_the_levels_are_found_up_to_half_the_range() -> None:
    """Levels from -.2 to .3: an observer with its point at .45 says yes to all, one at -.35 to none."""
    grid = equality_grid(LEVELS)
    assert (grid.thresholds.min(), grid.thresholds.max()) == pytest.approx((-0.45, 0.55))
    assert (grid.slopes.min(), grid.slopes.max()) == pytest.approx((0.5 / 60, 0.5))
    counts = np.full(len(LEVELS), 20)
    always, never = (equality(grid, Answers(counts, counts * share)) for share in (1, 0))
    assert always.point > 0.3
    assert always.point - 0.05 == pytest.approx(0.05 - never.point, abs=1e-6), "yes and no are mirror images"


@pytest.mark.slow
@pytest.mark.skipif(not REAL_REPLIES, reason="needs answers about two circles: make slow REAL_REPLIES=FOLDER")
def test_four_models_judge_two_circles_as_was_computed_before() -> None:
    every = judgements(Path(REAL_REPLIES))
    assert len(every) == 5376
    levels = distances(every)
    grid = equality_grid(levels)
    for (model, question), (right, points) in PRINTED.items():
        of_model = [judgement for judgement in every if (judgement.model, judgement.question) == (model, question)]
        assert 100 * np.mean([judgement.is_right for judgement in of_model]) == pytest.approx(right, abs=0.6)
        for canvas, point in zip((384, 769, 1155), points, strict=True):
            fit = measured([judgement for judgement in of_model if judgement.canvas_px == canvas], levels, grid)
            assert fit.point == pytest.approx(point, abs=0.021)
            assert fit.point_low <= point <= fit.point_high


@pytest.mark.slow
@pytest.mark.skipif(not REAL_REPLIES, reason="needs answers about two circles: make slow REAL_REPLIES=FOLDER")
def test_forty_answers_place_the_point_of_equality() -> None:
    rates = replay_rates(judgements(Path(REAL_REPLIES)), 40)
    assert rates["point"] <= 0.03
    assert 0.93 <= rates["coverage"] <= 0.99
