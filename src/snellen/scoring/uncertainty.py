"""How sure a number is: intervals that know which units are not independent.

A unit is one scored thing (an item, a pair); a cluster is what was sampled independently (an object, a scene, a clip).
Units of one cluster resemble each other, so that intervals are made from clusters. Units whose value is NaN were not
scored and are left out everywhere. Randomness is passed by hand. An interval that cannot be told is (NaN, NaN).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Statistic: TypeAlias = Literal["mean", "median", "root mean square"]
NOTHING = (math.nan, math.nan)
MAX_CELLS = 4_000_000
"""How many numbers a resampling step holds at a time: bounds memory to some 100 MB."""


class Paired(NamedTuple):
    """The mean of a - b over the `n` units that both arms have, with its interval."""

    difference: float
    low: float
    high: float
    n: int


def cluster_bootstrap(
    values: npt.ArrayLike,
    clusters: Sequence[Any] | npt.NDArray[Any],
    rng: np.random.Generator,
    draws: int = 2000,
    level: float = 0.95,
    statistic: Statistic = "mean",
) -> tuple[float, float]:
    """The interval of a statistic when whole clusters are drawn again with replacement.

    `values` (n numbers) and `clusters` (n names) run in parallel. Percentiles are widened for few clusters as a t
    interval is (Hesterberg 2015, "What teachers should know about the bootstrap", expanded percentile interval), for
    plain percentiles are too narrow there. With fewer than two clusters nothing can be told. Where all values are equal
    the interval has no width: use `cluster_wilson` for proportions.
    """
    numbers, codes, count = _clean(values, clusters)
    if count < 2:
        return NOTHING
    again: Callable[[Ints], Floats]
    if statistic == "median":
        again = _medians(numbers, codes)
    elif statistic in ("mean", "root mean square"):
        again = _means(numbers if statistic == "mean" else numbers**2, codes, count)
    else:
        raise ValueError(f"no statistic {statistic!r}; there are mean, median and root mean square")
    width = len(numbers) if statistic == "median" else count
    block = max(1, MAX_CELLS // max(width, count))
    statistics = []
    for start in range(0, draws, block):
        draw = rng.integers(count, size=(min(block, draws - start), count))
        statistics.append(again(_times(draw, count)) if statistic == "median" else again(draw))
    ends = np.quantile(np.concatenate(statistics), tails(count, level))
    if statistic == "root mean square":
        ends = np.sqrt(ends)
    return float(ends[0]), float(ends[1])


def _clean(values: npt.ArrayLike, clusters: Sequence[Any] | npt.NDArray[Any]) -> tuple[Floats, Ints, int]:
    """The values that are numbers, the cluster number of each, and how many clusters there are."""
    numbers, names = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    if numbers.ndim != 1 or numbers.shape != names.shape:
        raise ValueError(f"values {numbers.shape} and clusters {names.shape} must be two lists of one length")
    is_number = ~np.isnan(numbers)
    distinct, codes = np.unique(names[is_number], return_inverse=True)
    return numbers[is_number], codes.astype(np.int64), len(distinct)


def tails(count: int, level: float) -> tuple[float, float]:
    """Which percentiles of the draws make the interval, given the number of clusters."""
    from scipy import stats

    tail = (1 - level) / 2
    wide = stats.t.ppf(tail, count - 1) * math.sqrt(count / (count - 1))
    low = float(stats.norm.cdf(wide))
    return low, 1 - low


def _means(values: Floats, codes: Ints, count: int) -> Callable[[Ints], Floats]:
    """From drawn cluster numbers (draws x clusters) to the mean over all their units (draws)."""
    sums, sizes = np.bincount(codes, values, count), np.bincount(codes, minlength=count).astype(np.float64)
    return lambda draw: np.asarray(sums[draw].sum(axis=1) / sizes[draw].sum(axis=1), dtype=np.float64)


def _times(draw: Ints, count: int) -> Ints:
    """How often each cluster was drawn: draws x clusters."""
    rows = np.arange(len(draw))[:, None] * count
    return np.bincount((draw + rows).ravel(), minlength=len(draw) * count).reshape(len(draw), count)


def _medians(values: Floats, codes: Ints) -> Callable[[Ints], Floats]:
    """From how often each cluster was drawn (draws x clusters) to the median over all their units (draws)."""
    order = np.argsort(values, kind="stable")
    ranked, owner = values[order], codes[order]

    def medians(times: Ints) -> Floats:
        reached = np.cumsum(times[:, owner], axis=1)
        total = reached[:, -1:]
        below = (reached <= (total - 1) // 2).sum(axis=1)
        above = (reached <= total // 2).sum(axis=1)
        return np.asarray((ranked[below] + ranked[above]) / 2, dtype=np.float64)

    return medians


def wilson(k: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion, k of n (both may be fractions): inside 0..1, never without width."""
    from scipy import stats

    if n <= 0:
        return NOTHING
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is no proportion")
    z = float(stats.norm.ppf((1 + level) / 2))
    share, spread = k / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def cluster_wilson(
    values: npt.ArrayLike, clusters: Sequence[Any] | npt.NDArray[Any], level: float = 0.95
) -> tuple[float, float]:
    """Wilson's interval of the mean of values in 0..1, with the effective in place of the actual number of units.

    The effective number is n / design effect (variance of the mean between clusters over that of independent units),
    times (t with n - 1 / t with clusters - 1 degrees of freedom) squared, and at most n: Korn and Graubard 1998,
    "Confidence intervals for proportions with small expected number of positive counts estimated from survey data",
    Survey Methodology 24; with Wilson's interval in place of Clopper and Pearson's as in Franco, Little, Louis and Slud
    2019, Journal of Survey Statistics and Methodology 7. Clusters of one unit each give Wilson's own interval. Where
    all values are 0 or all are 1 there is no variance to go by: then units of one cluster are taken to stand for one
    another (n^2 / sum of squared cluster sizes), for taking them as independent misses clustered truths.
    """
    from scipy import stats

    numbers, codes, count = _clean(values, clusters)
    if not len(numbers):
        return NOTHING
    if numbers.min() < 0 or numbers.max() > 1:
        raise ValueError("a proportion needs values from 0 to 1")
    n, share = len(numbers), float(numbers.mean())
    sizes = np.bincount(codes, minlength=count)
    min_effective = n**2 / float((sizes**2).sum())
    if count < 2 or not 0 < share < 1:
        return wilson(share * min_effective, min_effective, level)
    rest = np.bincount(codes, numbers, count) - share * sizes
    variance = count / (count - 1) * float((rest**2).sum()) / n**2
    effect = variance / (share * (1 - share) / (n - 1))
    tail = (1 + level) / 2
    few = float(stats.t.ppf(tail, n - 1) / stats.t.ppf(tail, count - 1)) ** 2
    effective = min(n, n / effect * few) if effect > 0 else n * few
    return wilson(share * effective, effective, level)


def paired_difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters: Sequence[Any] | npt.NDArray[Any],
    rng: np.random.Generator,
    draws: int = 2000,
    level: float = 0.95,
) -> Paired:
    """The mean of a - b over the units that both arms have, with a cluster bootstrap interval.

    `a`, `b` and `clusters` run over the same units in the same order; NaN stands where an arm lacks a unit. If every
    cluster has the same mean difference the bootstrap has nothing to draw; for values in 0..1 the interval then says
    how far the mean could move if as many units differed as Wilson's upper bound for "none seen" allows, else it
    cannot be told.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(f"the arms have {first.shape} and {second.shape} units; give NaN where one lacks a unit")
    gaps = first - second
    numbers, codes, count = _clean(gaps, clusters)
    if not len(numbers):
        return Paired(math.nan, math.nan, math.nan, 0)
    mean = float(numbers.mean())
    low, high = cluster_bootstrap(gaps, clusters, rng, draws, level)
    if math.isnan(low) or high - low > 1e-12:
        return Paired(mean, low, high, len(numbers))
    both = np.concatenate([first[~np.isnan(gaps)], second[~np.isnan(gaps)]])
    if both.min() < 0 or both.max() > 1 or count < 2:
        return Paired(mean, math.nan, math.nan, len(numbers))
    unseen = cluster_wilson(np.zeros(len(numbers)), codes, level)[1]
    return Paired(mean, mean - unseen * (1 + mean), mean + unseen * (1 - mean), len(numbers))


def fleiss_kappa(counts: npt.ArrayLike) -> float:
    """Fleiss' kappa of a table units x categories that holds how many raters chose each category.

    1 is full agreement, 0 what chance gives, negative less than that; NaN where all raters always chose one category.
    Every unit must have the same number of raters, two or more.
    """
    table = np.asarray(counts, dtype=np.float64)
    raters = table.sum(axis=1)
    if table.ndim != 2 or not len(table) or raters[0] < 2 or (raters != raters[0]).any():
        raise ValueError("fleiss_kappa needs a table units x categories with the same number of raters, two or more")
    each = raters[0]
    observed = float((((table**2).sum(axis=1) - each) / (each * (each - 1))).mean())
    chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return (observed - chance) / (1 - chance) if chance < 1 else math.nan
