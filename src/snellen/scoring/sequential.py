"""Confidence sequences: intervals of a mean that hold however often one looks, and whenever one stops.

A gambler starts with 1 and bets against the claim that a mean is at most 0. If the claim is true, the wealth is a
nonnegative supermartingale: by Ville's inequality it ever reaches 1 / alpha with a probability of at most alpha. The
values that are refuted in this way are outside the sequence (Waudby-Smith and Ramdas 2024, Estimating means of bounded
random variables by betting, JRSS B 86). Clusters are the rounds of the game, in the order in which they were asked: the
items of a round may depend on each other. The wealth is divided among a few fixed bets (`BETS`), shares of the largest
one that cannot lose everything: a bet that does not depend on earlier rounds stays fair if these are balanced by
design.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from snellen.scoring.clustered_means import Floats

BETS = {0.01: 0.01, 0.025: 0.01, 0.05: 0.03, 0.1: 0.05, 0.2: 0.225, 0.4: 0.225, 0.7: 0.225, 0.95: 0.225}
"""Bets as shares of the largest, with the part of the wealth that each has at the beginning.

Tuned by simulation for 20 to 240 clusters (docs/measurements/deciding.md); small bets tell small differences apart in
thousands of clusters.
"""
BALANCED_LEVELS = 1000
"""Levels that an order of asking balances at most: its time is their number times the square of that of clusters."""
STEPS = 24
"""Halvings of the range when a sequence's end is sought: it is found to within its range / 2^24, 6e-8."""


class Rounds(NamedTuple):
    """Sums of values and numbers of units by cluster, in the order of asking."""

    sums: Floats
    sizes: Floats


def rounds(values: npt.ArrayLike, turns: npt.ArrayLike) -> Rounds:
    """The rounds of units with these values. `turns` is the place of each unit's cluster in the order of asking.

    Units without a value (NaN) are ignored. Raises ValueError for different lengths.
    """
    numbers, places = np.asarray(values, np.float64), np.asarray(turns, np.int64)
    if numbers.shape != places.shape or numbers.ndim != 1:
        raise ValueError(f"values {numbers.shape} and turns {places.shape} must have the same length")
    has_value = ~np.isnan(numbers)
    _, codes = np.unique(places[has_value], return_inverse=True)
    sums, sizes = (np.bincount(codes, part).astype(np.float64) for part in (numbers[has_value], None))
    return Rounds(sums, sizes)


def greatest_wealth(game: Rounds, mean: float, least: float) -> float:
    """The logarithm of the greatest wealth so far of a bet that the mean is above `mean`; values are at least `least`.

    It is 0 before the first round, and for a `mean` that every value exceeds.
    """
    if not len(game.sums):
        return 0.0
    if mean <= least:
        return math.inf if np.any(game.sums > game.sizes * mean) else 0.0
    largest = np.maximum.accumulate(game.sizes)  # of the rounds so far: the sizes are known before the answers
    gains = (game.sums - game.sizes * mean) / ((mean - least) * largest)
    shares, parts = np.array(list(BETS)), np.log(list(BETS.values()))
    logs = parts[:, None] + np.cumsum(np.log1p(np.outer(shares, gains)), axis=1)
    return max(0.0, float(np.max(np.logaddexp.reduce(logs, axis=0))))


def confidence_sequence(
    values: npt.ArrayLike, turns: npt.ArrayLike, bounds: tuple[float, float], level: float = 0.95
) -> tuple[float, float]:
    """The ends of the confidence sequence of the mean of units within these bounds; the bounds, if there are no units.

    Both ends hold at once at every moment with a probability of at least `level`.
    """
    game, (least, most) = rounds(values, turns), bounds
    mirrored = Rounds(-game.sums, game.sizes)
    needed = math.log(2 / (1 - level))
    low = _refuted(game, least, most, needed)
    return low, -_refuted(mirrored, -most, -least, needed)


def _refuted(game: Rounds, least: float, most: float, needed: float) -> float:
    """The greatest mean that is refuted as too small: the wealth falls as the mean rises."""
    low, high = least, most
    if greatest_wealth(game, low, least) < needed:
        return least
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if greatest_wealth(game, middle, least) >= needed else (low, middle)
    return low


def is_paired_beyond(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    turns: npt.ArrayLike,
    bounds: tuple[float, float],
    mean: float,
    side: Literal[-1, 1],
    level: float = 0.95,
) -> bool:
    """True if the confidence sequence of the mean of a - b is above this mean (`side` 1), or below it (-1).

    `bounds` are those of a. b is known before anything is asked (a floor), so no bet can lose more than the greatest
    mean of b in a round allows. One wealth tells, and no end is sought: this holds to the last digit.
    """
    differences, (least, most) = _differences(a, b, turns, bounds)
    game = rounds(side * differences, turns)
    lowest, claim = (least, mean) if side == 1 else (-most, -mean)
    return claim < lowest or greatest_wealth(game, claim, lowest) >= math.log(2 / (1 - level))


def _differences(
    a: npt.ArrayLike, b: npt.ArrayLike, turns: npt.ArrayLike, bounds: tuple[float, float]
) -> tuple[Floats, tuple[float, float]]:
    """a - b with its bounds."""
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    known = rounds(np.where(np.isnan(first), math.nan, second), turns)
    if not len(known.sums):
        return first - second, (bounds[0] - bounds[1], bounds[1] - bounds[0])
    means = known.sums / known.sizes
    return first - second, (bounds[0] - float(means.max()), bounds[1] - float(means.min()))


def asking_order(clusters: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """The order in which clusters are asked: every part of it from the beginning has about the shares of the whole.

    `clusters` are names with the levels of their items (of factors and answers, each level as often as it occurs), in
    an order that decides between equals. The next cluster is always the one after which the counts of all levels are
    closest to their shares. Of more than `BALANCED_LEVELS` levels, only the most frequent are balanced.
    """
    frequencies = Counter(level for _, levels in clusters for level in levels)
    names = sorted(level for level, _ in frequencies.most_common(BALANCED_LEVELS))
    column = {level: number for number, level in enumerate(names)}
    counts = np.zeros((len(clusters), len(names)))
    for row, (_, levels) in enumerate(clusters):
        for level in column.keys() & levels:
            counts[row, column[level]] = levels.count(level)
    shares = counts.sum(axis=0) / max(len(clusters), 1)
    # A level counts by its own size, so that rare ones are spread as well as common ones.
    scale = 1 / np.sqrt(np.maximum(shares, 1e-12))
    gaps, left = np.zeros(len(names)), np.arange(len(clusters))
    order = []
    while len(left):
        distances = np.square((gaps + counts[left] - shares) * scale).sum(axis=1)
        best = int(np.argmin(np.round(distances, 9)))
        gaps += counts[left[best]] - shares
        order.append(clusters[left[best]][0])
        left = np.delete(left, best)
    return order
