"""Psychometric functions of forced choice, fitted and measured on a grid of parameters.

P(right) at a level x (log10 units, larger is easier) is g + (1 - g - l) (1 - 2^-(10^(s (x - t)))): a Weibull function
with guess rate g, one over the number of alternatives, lapse rate l and slope s. The threshold t is the level at which
half of the answers that are neither guesses nor lapses are right. The levels of the next answers are chosen by QUEST+
(Watson 2017, Journal of Vision 17(3):10): those after which the expected entropy of the posterior is least.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]

SLOPES: Floats = np.array([1.2, 1.7, 2.3, 3.2, 4.4, 6.0])
LAPSES: Floats = np.array([0.0, 0.02, 0.05, 0.1, 0.2])
"""Lapse rates of the grid; unreadable replies count as lapses."""
LAPSE_WEIGHTS: Floats = np.array([4.0, 4.0, 3.0, 2.0, 1.0])
STEP, BEYOND = 0.04, 0.8
"""Distance of thresholds on the grid, and how far it extends beyond the levels, in log10 units."""
SIMULATIONS = 400
CREDIBLE = "95 % credible interval"
"""The kind of the interval of a threshold."""
PEAKS: Floats = np.array([-5.5, -4.0, -2.5, -1.0])
CURVATURES: Floats = np.array([0.0, 0.06, 0.24])
"""Logarithms (base 2) of peak frequencies, and rises of the threshold with the square of octaves from the peak."""


class Answers(NamedTuple):
    """The number of answers, and of right ones, at each condition."""

    counts: Ints
    right: Ints


class Fit(NamedTuple):
    """Posterior means of a psychometric function, and the 95 % credible interval of its threshold.

    `threshold`, `low` and `high` are in log10 units, `slope` per log10 unit (geometric mean), `lapse` is a share.
    """

    threshold: float
    low: float
    high: float
    slope: float
    lapse: float


def weibull(
    x: npt.ArrayLike,
    threshold: npt.ArrayLike,
    slope: npt.ArrayLike,
    lapse: npt.ArrayLike,
    guess: float,
) -> Floats:
    """The probability of a right answer at levels x in log10 units; all arguments but `guess` are broadcast."""
    log_odds = np.clip(np.asarray(slope) * (np.asarray(x) - np.asarray(threshold)), -30.0, 3.0)
    detected = -np.expm1(-np.log(2.0) * 10.0**log_odds)
    return np.asarray(guess + (1.0 - guess - np.asarray(lapse)) * detected, np.float64)


@dataclass(frozen=True)
class FunctionGrid:
    """Psychometric functions on a grid of parameters, with the prior of each.

    `right` has the probability of a right answer, conditions x functions; `thresholds`, `slopes`, `lapses` and `prior`
    have one number per function; so have the rows of `by_frequency`, if there are several kinds of stimulus.
    """

    right: Floats
    thresholds: Floats
    slopes: Floats
    lapses: Floats
    prior: Floats
    by_frequency: Floats | None = None

    @cached_property
    def logs(self) -> tuple[Floats, Floats]:
        """Logarithms of the probabilities of a right and of a wrong answer."""
        return np.log(np.maximum(self.right, 1e-12)), np.log(np.maximum(1.0 - self.right, 1e-12))

    @cached_property
    def entropies(self) -> Floats:
        """The entropy of one answer at each condition under each function, in nats."""
        return _entropy(self.right) + _entropy(1.0 - self.right)


def _entropy(p: Floats) -> Floats:
    return -p * np.log(np.maximum(p, 1e-300))


def _combined(*values: Floats) -> list[Floats]:
    """All combinations of the values of parameters, one array per parameter."""
    return [np.asarray(part.ravel(), np.float64) for part in np.meshgrid(*values, indexing="ij")]


def weibull_grid(
    levels: Sequence[float], alternatives: int, has_control: bool = True, further_lapses: Sequence[float] = ()
) -> FunctionGrid:
    """The grid for levels in log10 units; the last condition is a control that only a lapse fails.

    Its thresholds extend beyond the levels by `BEYOND`. Without `has_control` there are only the levels.
    `further_lapses`, above `LAPSES`, are as likely as the largest of these.
    """
    x = np.asarray(levels, np.float64)
    count = round((x.max() - x.min() + 2 * BEYOND) / STEP) + 1
    t, s, lapse = _combined(
        np.linspace(x.min() - BEYOND, x.max() + BEYOND, count), SLOPES, np.append(LAPSES, further_lapses)
    )
    right = weibull(x[:, None], t, s, lapse, 1.0 / alternatives)
    if has_control:
        right = np.vstack([right, 1.0 - lapse])
    weights = LAPSE_WEIGHTS[np.minimum(np.searchsorted(LAPSES, lapse), len(LAPSES) - 1)]
    return FunctionGrid(right, t, s, lapse, weights / weights.sum())


def sensitivity_grid(levels: Sequence[float], frequencies: Sequence[float], alternatives: int) -> FunctionGrid:
    """The grid for contrasts at several spatial frequencies (cycles per pixel): one function of contrast sensitivity.

    The threshold rises with the square of octaves from the peak frequency: a log-parabola (Watson and Ahumada 2005,
    Journal of Vision 5(9):6). Conditions are the levels (log10) at each frequency in turn, then the controls.
    `thresholds` are those at the frequency of these that is seen best, `by_frequency` those at each.
    """
    x = np.asarray(levels, np.float64)
    count = round((x.max() - x.min() + 2 * BEYOND) / (1.5 * STEP)) + 1
    thresholds = np.linspace(x.min() - BEYOND, x.max() + BEYOND, count)
    t, peak, curvature, s, lapse = _combined(thresholds, PEAKS, CURVATURES, SLOPES[1::2], LAPSES[1:4])
    octaves = np.log2(np.asarray(frequencies))[:, None] - peak
    by_frequency = t + curvature * octaves**2
    right = weibull(x[None, :, None], by_frequency[:, None], s, lapse, 1.0 / alternatives).reshape(-1, len(t))
    weights = np.ones(len(t)) / len(t)
    return FunctionGrid(np.vstack([right, 1.0 - lapse]), by_frequency.min(0), s, lapse, weights, by_frequency)


def posterior(functions: FunctionGrid, answers: Answers) -> Floats:
    """The posterior of the functions of a grid after these answers."""
    right, wrong = functions.logs
    logs = np.log(functions.prior) + answers.right @ right + (answers.counts - answers.right) @ wrong
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum(), np.float64)


def next_conditions(functions: FunctionGrid, weights: Floats, available: Sequence[int] | Ints, size: int) -> list[int]:
    """The conditions of the next `size` answers, which are given before any of them is known.

    Each in turn adds most to what the answers so far tell of the function together: the mutual information of all
    answers of the batch and the function, over all 2^k outcomes. A condition may repeat, at most as often as it is
    `available`. Equal ones are taken in order. Fewer than `size` if no more are available.
    """
    remaining = np.array(available)
    outcomes = weights[None, :]  # probability of each outcome so far, jointly with each function
    chosen: list[int] = []
    while len(chosen) < size and remaining.any():
        joint = outcomes @ functions.right.T  # outcomes x conditions, for one more right answer
        information = (_entropy(joint) + _entropy(outcomes.sum(1, keepdims=True) - joint)).sum(0)
        information -= functions.entropies @ weights
        best = int(np.argmax(np.where(remaining > 0, information, -np.inf)))
        chosen.append(best)
        remaining[best] -= 1
        outcomes = np.vstack([outcomes * functions.right[best], outcomes * (1.0 - functions.right[best])])
    return chosen


def fit(functions: FunctionGrid, answers: Answers) -> Fit:
    """The fit to these answers."""
    weights = posterior(functions, answers)
    low, high = credible_ends(functions.thresholds, weights)
    slope = float(np.exp(weights @ np.log(functions.slopes)))
    return Fit(float(weights @ functions.thresholds), low, high, slope, float(weights @ functions.lapses))


def credible_ends(values: Floats, weights: Floats, level: float = 0.95) -> tuple[float, float]:
    """The central credible interval of a parameter on a grid, interpolated within its steps."""
    points, codes = np.unique(values, return_inverse=True)
    shares = np.bincount(codes, weights)
    if len(points) == 1:
        return float(points[0]), float(points[0])
    half = np.diff(points) / 2
    edges = np.concatenate([[points[0] - half[0]], points[:-1] + half, [points[-1] + half[-1]]])
    cumulated = np.concatenate([[0.0], np.cumsum(shares)])
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], cumulated / cumulated[-1], edges)
    return float(low), float(high)


def deviance_p(functions: FunctionGrid, answers: Answers, rng: np.random.Generator) -> float:
    """The share of `SIMULATIONS` data sets of the best fit that fit no better than these answers.

    Each set is simulated with the same number of answers and fitted anew. A small share means that no function of the
    grid describes the answers (Wichmann and Hill 2001, Perception & Psychophysics 63).
    """
    right, wrong = functions.logs
    best = int(np.argmax(answers.right @ right + (answers.counts - answers.right) @ wrong))
    sets = np.vstack([answers.right, rng.binomial(answers.counts, functions.right[:, best], (SIMULATIONS, len(right)))])
    log_likelihood = (sets @ right + (answers.counts - sets) @ wrong).max(1)
    share = sets / np.maximum(answers.counts, 1)
    saturated = -(answers.counts * (_entropy(share) + _entropy(1.0 - share))).sum(1)
    deviance = 2 * (saturated - log_likelihood)
    return float(np.mean(deviance[1:] >= deviance[0] - 1e-9))
