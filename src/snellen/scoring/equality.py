"""Bias apart from precision: the point of subjective equality of yes-or-no judgements, and their spread.

P(yes) at x falls from near 1 to near 0: l / 2 + (1 - l) (1 - F((x - m) / s)), with the normal distribution F. The point
of subjective equality m is where yes and no are equally frequent: it differs from the true boundary if the subject's
criterion does. The spread s is the standard deviation of what is judged: it is large if the subject is imprecise. An
accuracy mixes both. Lapses l are answers that have nothing to do with x.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from snellen_sight.psychometric import Answers, FunctionGrid, credible_ends, posterior

LAPSES = (0.0, 0.03, 0.1, 0.2, 0.3)
POINTS, SPREADS = 65, 19
"""Points of subjective equality and spreads on the grid."""
SMALLEST = 1e-6
"""The least probability of an answer: none is impossible."""


class Equality(NamedTuple):
    """Posterior means with 95 % credible intervals, in the unit of the levels; `spread` is a geometric mean."""

    point: float
    point_low: float
    point_high: float
    spread: float
    spread_low: float
    spread_high: float


def equality_grid(levels: Sequence[float], lapses: Sequence[float] = LAPSES) -> FunctionGrid:
    """The grid for judgements at these levels: `thresholds` are points of subjective equality, `slopes` are spreads.

    Points lie within the levels or half their range beyond them; spreads are between 1/60 of the range and the range.
    All have equal priors, spreads by their logarithm.
    """
    from scipy.special import ndtr

    x = np.asarray(levels, np.float64)
    reach = float(np.ptp(x))
    points = np.linspace(x.min() - reach / 2, x.max() + reach / 2, POINTS)
    spreads = np.geomspace(reach / 60, reach, SPREADS)
    m, s, lapse = (part.ravel() for part in np.meshgrid(points, spreads, np.asarray(lapses), indexing="ij"))
    says_yes = lapse / 2 + (1 - lapse) * ndtr((m - x[:, None]) / s)
    return FunctionGrid(np.clip(says_yes, SMALLEST, 1 - SMALLEST), m, s, lapse, np.full(len(m), 1 / len(m)))


def equality(functions: FunctionGrid, answers: Answers) -> Equality:
    """The point of subjective equality and the spread after these answers; `answers.right` counts those with yes."""
    weights, logs = posterior(functions, answers), np.log(functions.slopes)
    point = float(weights @ functions.thresholds), *credible_ends(functions.thresholds, weights)
    low, high = credible_ends(logs, weights)
    return Equality(*point, *(float(np.exp(end)) for end in (weights @ logs, low, high)))
