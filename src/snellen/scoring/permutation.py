"""Permutation tests of paired differences, and Holm's correction for the number of tests.

Units of one cluster (a scene, a clip) resemble each other, so signs are flipped by whole clusters. Random generators
are arguments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.scoring.clustered_means import MAX_CELLS, Floats

ALPHA = 0.05
"""A difference with p below this is significant."""
MAX_ENUMERATED = 16
"""Up to this many clusters that differ, all flips are tried: 2^15, since a flip and its mirror image are equivalent."""
DRAWS = 99_999
"""Greatest number of drawn flips: the least p is 1e-5, so that a family of 5,000 pairs can still have a clear one."""
MAX_DRAWN, MAX_WEIGHT = 10_000, 0.05
"""Clusters beyond which continuous scores have a normal approximation, if none has more of its standard deviation."""
ENOUGH = 1000
"""After this many drawn flips as far from 0 as the observed mean, p is known to 3 % of itself."""


def sign_flip(
    gaps: npt.ArrayLike, clusters: Sequence[Any] | npt.NDArray[Any], rng: np.random.Generator, draws: int = DRAWS
) -> float:
    """The two-sided p of the mean of `gaps` (n differences; NaN is ignored) under no difference between the arms.

    Under this hypothesis the arms could have exchanged their scores on a cluster, so the signs of all its differences
    flip together (Fisher's randomisation test for pairs, with clusters for pairs). p is the share of flips whose mean
    is at least as far from 0: of all flips if at most `MAX_ENUMERATED` clusters differ, else of drawn ones including
    the observed one, until `ENOUGH` are as far or `draws` are done (Besag and Clifford 1991, "Sequential Monte Carlo
    p-values", Biometrika 78, whose p is valid although drawing may end early). If `has_normal_p`, it is that of the
    normal approximation, but not under the least p of draws. 1 if no cluster differs, NaN if nothing was compared.
    """
    numbers, names = np.asarray(gaps, dtype=np.float64), np.asarray(clusters)
    if numbers.ndim != 1 or numbers.shape != names.shape:
        raise ValueError(f"differences {numbers.shape} and clusters {names.shape} must have the same length")
    is_number = ~np.isnan(numbers)
    if not is_number.any():
        return math.nan
    codes = np.unique(names[is_number], return_inverse=True)[1]
    sums = np.asarray(np.bincount(codes, numbers[is_number]), dtype=np.float64)
    alike = 1e-9 * max(1.0, float(np.abs(sums).sum()))
    sums = sums[np.abs(sums) > alike]
    if not len(sums):
        return 1.0
    threshold = abs(float(sums.sum())) - alike
    if len(sums) <= MAX_ENUMERATED:
        return float((np.abs(_all_flips(sums)) >= threshold).mean())
    if _is_normal(sums):
        return max(math.erfc(threshold / math.sqrt(2 * float((sums**2).sum()))), 1 / (draws + 1))
    return _drawn_share(sums, threshold, rng, draws)


def has_normal_p(gaps: Floats, clusters: npt.NDArray[Any]) -> bool:
    """True if `sign_flip` of these is a normal approximation: more than `MAX_DRAWN` clusters of continuous scores."""
    return len(gaps) > MAX_DRAWN and _is_normal(np.bincount(np.unique(clusters, return_inverse=True)[1], gaps))


def _is_normal(sums: npt.NDArray[Any]) -> bool:
    sizes = np.abs(sums[np.abs(sums) > 1e-9])
    is_even = len(sizes) > MAX_DRAWN and sizes.max() < MAX_WEIGHT * math.sqrt(float((sizes**2).sum()))
    return bool(is_even) and 10 * len(np.unique(sizes.round(12))) >= len(sizes)


def _all_flips(sums: Floats) -> Floats:
    """The sums of all flips that keep the sign of the first cluster."""
    totals = sums[:1]
    for cluster_sum in sums[1:]:
        totals = np.concatenate([totals + cluster_sum, totals - cluster_sum])
    return totals


def _drawn_share(sums: Floats, threshold: float, rng: np.random.Generator, draws: int) -> float:
    sizes, counts = np.unique(np.abs(sums).round(12), return_counts=True)
    few_sizes = 10 * len(sizes) < len(sums)  # as for right or wrong: count the flipped clusters of each size
    extreme, block = 0, max(1, min(10_000, MAX_CELLS // (len(sizes) if few_sizes else len(sums))))
    for start in range(0, draws, block):
        count = min(block, draws - start)
        if few_sizes:
            totals = (2 * rng.binomial(counts, 0.5, (count, len(counts))) - counts) @ sizes
        else:
            octets = rng.integers(0, 256, (count * len(sums) + 7) // 8, dtype=np.uint8)
            totals = 2 * (np.unpackbits(octets, count=count * len(sums)).reshape(count, -1) @ sums) - sums.sum()
        far = np.flatnonzero(np.abs(totals) >= threshold)
        if extreme + len(far) >= ENOUGH:
            return ENOUGH / (start + int(far[ENOUGH - extreme - 1]) + 1)
        extreme += len(far)
    return (extreme + 1) / (draws + 1)


def one_sided_p(gaps: Floats, clusters: npt.NDArray[Any], rng: np.random.Generator) -> float:
    """The p of the mean of `gaps` (n differences) in its own direction: half that of `sign_flip`, by symmetry.

    For one right or wrong answer per cluster it is the exact p of the sign test (McNemar's), at any number of them.
    """
    from scipy.stats import binom

    if len(np.unique(clusters)) == len(gaps) and np.isin(gaps, (-1, 0, 1)).all():
        fewer, more = sorted(((gaps < 0).sum(), (gaps > 0).sum()))
        return float(binom.sf(more - 1, fewer + more, 0.5))
    return sign_flip(gaps, clusters, rng) / 2


def noise_flips(gaps: Floats, clusters: npt.NDArray[Any]) -> tuple[int, float]:
    """The effective number of clusters of `gaps` (-1 to 1), and the share that flips in either direction by noise.

    A cluster counts by its squared mean. A change adds flips to one direction, so the other one is the noise.
    """
    codes = np.unique(clusters, return_inverse=True)[1]
    sums, sizes = np.bincount(codes, gaps), np.bincount(codes)
    mass = float((sizes**2).sum())
    flips = min(float((np.maximum(side, 0) ** 2).sum()) for side in (sums, -sums)) / mass
    return int(len(gaps) ** 2 / mass + 1e-9), flips  # Kish 1965, as for intervals


@lru_cache(maxsize=10_000)  # counts of flips are few, and comparisons of many runs ask again
def sign_test_power(count: int, drop: float, noise: float, level: float) -> float:
    """The power of a one-sided sign test of `count` clusters at `level`, from 0 to 1.

    A cluster flips to better with probability `noise` (less if nothing else is left) and to worse with `noise + drop`.
    """
    from scipy.stats import binom

    better = min(noise, (1 - drop) / 2)
    flips = 2 * better + drop
    reach = 8 * math.sqrt(count * flips) + 10
    numbers = np.arange(max(0, int(count * flips - reach)), min(count, int(count * flips + reach)) + 1)
    most = binom.isf(level, numbers, 0.5)  # the most flips to worse that are not significant
    return float((binom.pmf(numbers, count, flips) * binom.sf(most, numbers, (better + drop) / flips)).sum())


def least_p(clusters: int, sides: int = 2) -> float:
    """The smallest p possible with this many clusters: `sides` of 2^clusters flips are as far from 0 as any."""
    return min(1.0, sides * 2.0**-clusters)


def clusters_needed(tests: int, sides: int = 2) -> int:
    """The least number of clusters with which a test in a family of `tests` can have a corrected p under `ALPHA`."""
    return next(count for count in range(1, 10_000) if max(1, tests) * least_p(count, sides) < ALPHA)


def holm(p_values: npt.ArrayLike) -> Floats:
    """p values corrected so that any false positive in the family has probability `ALPHA` (Holm 1979).

    The smallest is multiplied by their number, the next by one less and so on, never decreasing, at most 1. NaN is no
    test: it stays and does not count.
    """
    p = np.asarray(p_values, dtype=np.float64)
    corrected = np.full(p.shape, math.nan)
    order = np.argsort(p, kind="stable")[: int((~np.isnan(p)).sum())]  # NaN is sorted last
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(np.arange(len(order), 0, -1) * p[order]))
    return corrected
