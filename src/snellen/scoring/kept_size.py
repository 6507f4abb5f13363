"""How far images may be reduced: the threshold, and the least level that keeps 95 % of what is right at full size.

P(right) of an image at a level x (log10, 0 at full size) is a Weibull function of x - t - z with guess rate g, lapse
rate l and slope s. Every image has a difficulty z of its own, normally distributed with mean 0 and standard deviation
d. The threshold is t: the level at which an image of middling difficulty is answered half of the time, guesses and
lapses apart. The size kept is the least level x at which the mean over images is at least `SHARE` of that at full size.

A service may shrink images itself: at levels above its limit, answers are those at the limit.

Each image is usually asked about once. If it is asked about more often, its answers share z. Parameters are on a grid.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from snellen_sight.psychometric import (
    Answers,
    Floats,
    FunctionGrid,
    Ints,
    credible_ends,
    next_conditions,
    posterior,
    weibull,
)

SHARE = 0.95
"""What is to remain of the share right at full size."""
SLOPES, SPREADS = (2.0, 3.2, 5.0, 8.0), (0.05, 0.15, 0.25, 0.4)
LAPSES, LAPSE_WEIGHTS = (0.01, 0.03, 0.06, 0.12, 0.25, 0.4), (4.0, 4.0, 3.0, 2.0, 0.5, 0.3)
LIMITS, OPEN = (-0.45, -0.3, -0.15, 0.0), 4.0
"""Levels (log10) to which a service may shrink images itself, 0 for none, and how much likelier none is than each."""
STEP, BEYOND = 0.04, 0.3
"""Distance of thresholds on the grid, and how far they extend beyond the levels, in log10 units."""
NODES = 7
"""Points at which the difficulty of images is integrated."""
FINE = 0.01
"""Distance of levels among which the size kept is sought, in log10 units."""
UNLIKELY, MOST_ORDERS = 0.05, 4
"""The share of honest items that may be struck as blind, and the most orders in which an item is asked blind."""


@dataclass(frozen=True)
class ReductionGrid:
    """The functions of a grid: `marginal` over images, and `conditional` on z (nodes x levels x functions).

    `sizes` has the log10 of the size kept by function, `weights` are those of the nodes.
    """

    marginal: FunctionGrid
    conditional: Floats
    sizes: Floats
    weights: Floats


class Reduction(NamedTuple):
    """Posterior medians with 95 % credible intervals, as shares of full size, and the curve over the levels.

    `curve` is the mean share right of images at each level.
    """

    threshold: float
    threshold_low: float
    threshold_high: float
    size: float
    size_low: float
    size_high: float
    curve: Floats


class Loss(NamedTuple):
    """The share right that is lost by sending images smaller, with its 95 % interval; positive is worse."""

    value: float
    low: float
    high: float


def reduction_grid(levels: Sequence[float], guess: float) -> ReductionGrid:
    """The grid for levels in log10 units, at most 0, where 0 is full size; `guess` is the share right by guessing."""
    x = np.asarray(levels, np.float64)
    count = round((x.max() - x.min() + 2 * BEYOND) / STEP) + 1
    axes = np.linspace(x.min() - BEYOND, x.max() + BEYOND, count), SLOPES, SPREADS, LAPSES, LIMITS
    t, s, d, lapse, limit = (part.ravel() for part in np.meshgrid(*axes, indexing="ij"))
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights = weights / weights.sum()
    fine = np.arange(x.min(), FINE / 2, FINE)
    moved = [t + node * d for node in nodes]
    conditional = np.array([weibull(np.minimum(x[:, None], limit), place, s, lapse, guess) for place in moved])
    curve = np.array([weibull(np.minimum(fine[:, None], limit), place, s, lapse, guess) for place in moved])
    mean = np.tensordot(weights, curve, 1)
    kept = fine[np.argmax(mean >= SHARE * mean[-1], axis=0)]
    prior = np.asarray(LAPSE_WEIGHTS)[np.searchsorted(LAPSES, lapse)] * np.where(limit == 0, OPEN, 1.0)
    marginal = FunctionGrid(np.tensordot(weights, conditional, 1), t, s, lapse, prior / prior.sum())
    return ReductionGrid(marginal, conditional, kept, weights)


def posterior_of_images(reductions: ReductionGrid, level_numbers: Ints, right: Ints, image_numbers: Ints) -> Floats:
    """The posterior of the functions. Per answer: the index of its level, whether it is right, its image's number."""
    logs = np.log(reductions.marginal.prior)
    repeated = np.bincount(image_numbers)[image_numbers] > 1 if len(image_numbers) else np.zeros(0, bool)
    of_right, of_wrong = np.log(reductions.conditional), np.log1p(-reductions.conditional)
    for image in np.unique(image_numbers[repeated]):
        own = image_numbers == image
        steps = [
            (of_right if is_right else of_wrong)[:, level]
            for level, is_right in zip(level_numbers[own], right[own], strict=True)
        ]
        logs = logs + np.log(np.tensordot(reductions.weights, np.exp(np.sum(steps, axis=0)), 1))
    count = len(reductions.marginal.right)
    counts = np.bincount(level_numbers[~repeated], minlength=count)
    hits = np.bincount(level_numbers[~repeated], right[~repeated], minlength=count).astype(np.int64)
    weights = (
        posterior(reductions.marginal, Answers(counts, hits)) * np.exp(logs - logs.max()) / reductions.marginal.prior
    )
    return np.asarray(weights / weights.sum(), np.float64)


def next_levels(reductions: ReductionGrid, weights: Floats, available: Sequence[int], size: int) -> list[int]:
    """The levels of the next `size` answers by QUEST+ (`next_conditions`): those that tell most of the threshold."""
    thresholds = np.unique(reductions.marginal.thresholds)
    unknown = np.zeros(len(thresholds))
    joint = weights.reshape(len(thresholds), -1)
    mean = (reductions.marginal.right.reshape(-1, *joint.shape) * joint).sum(2) / joint.sum(1)
    functions = FunctionGrid(mean, thresholds, unknown, unknown, joint.sum(1))
    return next_conditions(functions, functions.prior, available, size)


def reduction(reductions: ReductionGrid, weights: Floats) -> Reduction:
    """Threshold and size kept under a posterior of the grid."""
    threshold, size = (
        [min(1.0, 10**value) for level in (0.0, 0.95) for value in credible_ends(values, weights, level)]
        for values in (reductions.marginal.thresholds, reductions.sizes)
    )
    curve = reductions.marginal.right @ weights
    return Reduction(threshold[0], threshold[2], threshold[3], size[0], size[2], size[3], curve)


def paired_loss(full: Sequence[bool], reduced: Sequence[bool]) -> Loss:
    """The loss in paired questions, with the interval of Agresti and Min (2005, Statistics in Medicine 24).

    Half an answer is added to each of the four cells of the table, so that no difference among few questions is not
    taken for certainty. Raises ValueError if there is no question.
    """
    first, second = np.asarray(full, bool), np.asarray(reduced, bool)
    if not len(first):
        raise ValueError("no paired question")
    worse, better, count = int((first & ~second).sum()) + 0.5, int((second & ~first).sum()) + 0.5, len(first) + 2.0
    middle = (worse - better) / count
    half = 1.96 * math.sqrt(max(0.0, (worse + better) / count - middle**2) / count)
    return Loss((worse - better) / len(first), max(-1.0, middle - half), min(1.0, middle + half))


def blind_orders(guess: float) -> int:
    """The orders of options in which an item is asked without its image: 2 to 4; 0 if four do not tell.

    All right in that many orders has at most the probability `UNLIKELY` for a guesser. With two options none suffices.
    """
    return next((count for count in range(2, MOST_ORDERS + 1) if guess**count <= UNLIKELY), 0)


def is_blind(right: Sequence[bool], guess: float) -> bool:
    """True if an item was right without its image more often than guessing explains (binomial tail, 5 %)."""
    from scipy.stats import binom

    return any(right) and bool(binom.sf(sum(right) - 1, len(right), guess) <= UNLIKELY)
