"""Formulas for intervals of a mean of units in clusters, for many samples of one design at once.

`snellen.scoring.uncertainty` calls them with one sample, `bench/coverage.py` with thousands, so that the simulated
intervals are those shown. A cluster is what was sampled independently, a unit is one scored thing in it. The coverage
of each formula is in docs/validity.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Ends: TypeAlias = tuple[Floats, Floats]
"""Lower and upper ends, one per sample."""
MAX_CELLS = 4_000_000
"""Numbers held at a time in a resampling step: bounds memory to some 100 MB."""
PSEUDO_UNITS = 2
"""Units of the largest possible variance that are added to those of a paired difference."""
ALIKE = 1e-12
"""Variances below this are rounding of floats."""


@dataclass(frozen=True)
class ClusteredSamples:
    """Samples of one design: sums of values by cluster (samples x clusters), sums of squared values (samples).

    `sizes` is the number of units of each cluster, the same in every sample. If units have weights (of mean 1), all
    three are weighted sums.
    """

    totals: Floats
    squares: Floats
    sizes: Floats

    @cached_property
    def n(self) -> float:
        """The number of units of a sample."""
        return float(self.sizes.sum())

    @cached_property
    def means(self) -> Floats:
        """The mean of each sample."""
        return np.asarray(self.totals.sum(axis=1) / self.n, dtype=np.float64)

    def unit_variances(self) -> Floats:
        """The variance of single units in each sample (divisor n - 1)."""
        return np.asarray(np.maximum(self.squares - self.n * self.means**2, 0.0) / (self.n - 1), dtype=np.float64)

    def mapped(self, low: float, high: float) -> ClusteredSamples:
        """The samples with values scaled from `low`..`high` to 0..1."""
        width = high - low
        squares = self.squares - 2 * low * self.totals.sum(axis=1) + low**2 * self.n
        return ClusteredSamples((self.totals - low * self.sizes) / width, squares / width**2, self.sizes)


def effective_clusters(sizes: Floats) -> float:
    """The equivalent number of clusters of equal size (Kish 1965): n^2 / sum of squared sizes."""
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def _t(count: float, level: float) -> float:
    """Student's t for an interval from `count` values (degrees of freedom: one less, at least a quarter)."""
    from scipy.special import stdtrit

    return float(stdtrit(max(count - 1, 0.25), (1 + level) / 2))


def mean_variances(samples: ClusteredSamples) -> Floats:
    """The cluster-robust variance of each sample's mean: c / (c - 1) sum (total - mean size)^2 / n^2."""
    count = len(samples.sizes)
    rest = samples.totals - samples.means[:, None] * samples.sizes
    return np.asarray(count / (count - 1) * (rest**2).sum(axis=1) / samples.n**2, dtype=np.float64)


def intraclass_correlations(samples: ClusteredSamples) -> Floats:
    """The correlation of units of one cluster by analysis of variance (Donner 1986), at least 0; 0 for single units."""
    n, sizes = samples.n, samples.sizes
    between = ((samples.totals - samples.means[:, None] * sizes) ** 2 / sizes).sum(axis=1)
    within = np.maximum(samples.unit_variances() * (n - 1) - between, 0.0)
    count = len(sizes)
    if n - count < 0.5:
        return np.zeros(len(between))
    between, within = between / (count - 1), within / (n - count)
    usual_size = (n - (sizes**2).sum() / n) / (count - 1)
    whole = between + (usual_size - 1) * within
    return np.asarray(np.divide(between - within, whole, out=np.zeros_like(whole), where=whole > 0).clip(0, 1))


def design_effects(samples: ClusteredSamples, level: float) -> Floats:
    """The factor by which more units are needed than independent ones, for each sample; at least 1.

    The greater of two estimates: the robust variance of the mean over that of independent units, and the design effect
    by the intraclass correlation. The first misses clusters that are bad and, by chance, small; the second misses
    everything but a common correlation. It is multiplied by (t of the effective clusters / t of the units)^2: Korn and
    Graubard 1998, Survey Methodology 24.
    """
    n, single = samples.n, samples.unit_variances()
    robust = np.divide(mean_variances(samples) * n, single, out=np.ones_like(single), where=single > ALIKE)
    modelled = 1 + intraclass_correlations(samples) * ((samples.sizes**2).sum() / n - 1)
    few = (_t(effective_clusters(samples.sizes), level) / _t(n, level)) ** 2
    return np.asarray(np.maximum(np.maximum(robust, modelled) * few, 1.0), dtype=np.float64)


def score_ends(shares: Floats, n: Floats, level: float) -> Ends:
    """Wilson's ends for shares of n units (both may be fractions), no nearer than the exact one-sided ones.

    Near 0 and 1 Wilson's interval excludes likely truths: for 8 units with a share of .98 it covers 85 %. If farther
    out, the exact bound of twice the tail on that side replaces its end: Brown, Cai and DasGupta 2001, "Interval
    estimation for a binomial proportion", Statistical Science 16, modification of section 4.1.1.
    """
    from scipy.special import betaincinv, ndtri

    z = float(ndtri((1 + level) / 2))
    spread = z * z / n
    middle = (shares + spread / 2) / (1 + spread)
    half = z / (1 + spread) * np.sqrt(np.maximum(shares * (1 - shares), 0.0) / n + spread / (4 * n))
    right = np.clip(shares * n, 1e-9, np.maximum(n - 1e-9, 1e-9))
    wrong = np.maximum(n - right, 1e-9)
    low = np.minimum(np.minimum(shares, middle - half), betaincinv(right, wrong + 1, 1 - level))
    high = np.maximum(np.maximum(shares, middle + half), betaincinv(right + 1, wrong, level))
    return np.where(low < 1e-9, 0.0, low), np.where(high > 1 - 1e-9, 1.0, high)


def wilson_ends(samples: ClusteredSamples, level: float) -> Ends:
    """Wilson's ends for means of values in 0..1: `score_ends` with n divided by the design effect.

    Values between 0 and 1 have less variance than n yes-or-no values of that mean, but the effective number is still at
    most n, since few values do not show the rare extreme ones. If all values are 0, or all are 1, the correlation is
    unknown, and units of one cluster are counted as one.
    """
    means, _, effective = _effective_units(samples, level)
    return score_ends(means, effective, level)


def _effective_units(samples: ClusteredSamples, level: float) -> tuple[Floats, npt.NDArray[np.bool_], Floats]:
    """Means of values in 0..1, those that are 0 or 1 exactly, and the effective numbers of units."""
    means = np.clip(samples.means, 0.0, 1.0)
    extreme = means * (1 - means) <= ALIKE
    effective = np.where(extreme, effective_clusters(samples.sizes), samples.n / design_effects(samples, level))
    return means, extreme, np.maximum(effective, 1e-6)


def bounded_ends(samples: ClusteredSamples, level: float) -> Ends:
    """Gaffke's ends for means of values in 0..1: by the spread of the values, with one more unit at the bound.

    The upper end is a quantile of the mean of all units and one of value 1, under random (Dirichlet) weights; for the
    lower end that unit has the value 0. Gaffke 2005, Mathematical Methods of Statistics 14; Learned-Miller and Thomas
    2019, "A new confidence interval for the mean of a bounded random variable", arXiv 1905.06208. Weighted means are
    approximated by a beta distribution with their mean and variance; n is divided by the design effect. Independent
    values of 0 and 1 have Clopper and Pearson's interval.

    If all values are 0, or all are 1, the interval is one-sided, and units of one cluster are counted as one: a share
    of at most 1 - (1 - level)^(1 / clusters) of the units has other values, which may be at the other end of the range.
    """
    from scipy.special import betaincinv

    means, extreme, effective = _effective_units(samples, level)
    tail = np.where(extreme, 1 - level, (1 - level) / 2)
    squares = np.maximum(effective - 1, 0.0) * samples.unit_variances()

    def end(bound: float, share: Floats) -> Floats:
        middle = (effective * means + bound) / (effective + 1)
        spread = squares + effective * (bound - means) ** 2 / (effective + 1)
        variance = spread / (effective + 1) / (effective + 2)
        size = np.maximum(middle * (1 - middle) / np.maximum(variance, 1e-300) - 1, 0.0)
        right, wrong = (np.maximum(mass * size, 1e-9) for mass in (middle, 1 - middle))
        return np.asarray(betaincinv(right, wrong, share), dtype=np.float64)

    return np.minimum(means, end(0.0, tail)), np.maximum(means, end(1.0, 1 - tail))


def normal_ends(samples: ClusteredSamples, level: float, pseudo_units: float = 0.0) -> Ends:
    """Ends for means of any values: mean -+ z times the standard error by the design effect.

    `pseudo_units` with a variance of 1 are added to the effective ones.
    """
    from scipy.special import ndtri

    effective = samples.n / design_effects(samples, level)
    variances = (samples.unit_variances() * effective + pseudo_units) / (effective + pseudo_units)
    half = float(ndtri((1 + level) / 2)) * np.sqrt(variances / effective)
    return samples.means - half, samples.means + half


def difference_ends(samples: ClusteredSamples, level: float) -> Ends:
    """Ends for means of differences of values in 0..1, each from -1 to 1: `normal_ends` with `PSEUDO_UNITS`.

    The pseudo-observations follow Agresti and Min 2005 ("Simple improved confidence intervals for comparing matched
    proportions", Statistics in Medicine 24): a few pairs that all agree do not show that none differs.
    """
    low, high = normal_ends(samples, level, PSEUDO_UNITS)
    return np.maximum(low, -1.0), np.minimum(high, 1.0)


def tails(count: float, level: float) -> tuple[float, float]:
    """The percentiles of the draws that bound the interval, given the number of clusters.

    Wider for few clusters, like a t interval: Hesterberg 2015, "What teachers should know about the bootstrap".
    """
    from scipy.special import ndtr

    wide = _t(count, level) * float(np.sqrt(count / (count - 1)))
    low = float(ndtr(-wide))
    return low, 1 - low


def draw_counts(count: int, rng: np.random.Generator, draws: int) -> Floats:
    """Counts of how often each of `count` clusters is drawn with replacement: draws x clusters."""
    drawn = rng.integers(count, size=(draws, count)) + np.arange(draws)[:, None] * count
    return np.bincount(drawn.ravel(), minlength=draws * count).reshape(draws, count).astype(np.float64)


def bootstrap_t_ends(samples: ClusteredSamples, rng: np.random.Generator, draws: int, level: float) -> Ends:
    """Ends for means of any values: bootstrap-t over whole clusters (Efron and Tibshirani 1993, chapter 12.5).

    The distances of redrawn means from the mean, in their own standard errors, estimate the distance of the mean from
    the truth on either side, at `tails` for the effective number of clusters, and no nearer than Student's t. An end is
    infinite if too many draws have no variance. All samples share the draws.
    """
    count, effective = len(samples.sizes), effective_clusters(samples.sizes)
    block = max(1, MAX_CELLS // max(count, len(samples.totals)))
    distances = [
        _distances(samples, draw_counts(count, rng, min(block, draws - start))) for start in range(0, draws, block)
    ]
    far_low, far_high = np.quantile(np.concatenate(distances), tails(effective, level), axis=0, method="inverted_cdf")
    errors, usual = np.sqrt(mean_variances(samples)), _t(effective, level)
    with np.errstate(invalid="ignore"):
        return (
            samples.means - np.maximum(far_high, usual) * errors,
            samples.means - np.minimum(far_low, -usual) * errors,
        )


def _distances(samples: ClusteredSamples, times: Floats) -> Floats:
    """Distances of redrawn means from the mean in standard errors (draws x samples); `times`: draws x clusters."""
    count, sizes, totals = len(samples.sizes), samples.sizes, samples.totals
    n = (times @ sizes)[:, None]
    means = times @ totals.T / n
    squares = times @ (totals**2).T - 2 * means * (times @ (totals * sizes).T) + means**2 * (times @ sizes**2)[:, None]
    errors = np.sqrt(np.maximum(squares, 0.0) * count / (count - 1)) / n
    gaps = means - samples.means
    no_error = errors <= 1e-9 * (np.abs(samples.means) + np.sqrt(samples.squares / samples.n))
    with np.errstate(divide="ignore", invalid="ignore"):
        far = np.where(np.abs(gaps) > ALIKE, np.sign(gaps) * np.inf, 0.0)
        return np.asarray(np.where(no_error, far, gaps / errors), dtype=np.float64)


def median_ends(values: Floats, codes: Ints, level: float) -> Ends:
    """Ends for medians of values (samples x units, `codes` the cluster of each unit), by Woodruff's method.

    The ends are the units with as large a share of units below them as the ends of the interval (`wilson_ends`) of the
    share below the median (Woodruff 1952, "Confidence intervals for medians", JASA 47). Infinite beyond all units.
    """
    ordered, n = np.sort(values, axis=1), values.shape[1]
    middle = np.median(values, axis=1)[:, None]
    below = (values < middle) + 0.5 * (values == middle)
    low, high = wilson_ends(grouped(below, codes), level)
    first, last = np.floor(low * n).astype(int) - 1, np.ceil(high * n).astype(int)
    rows = np.arange(len(values))
    return (
        np.where(first >= 0, ordered[rows, np.maximum(first, 0)], -np.inf),
        np.where(last < n, ordered[rows, np.minimum(last, n - 1)], np.inf),
    )


def grouped(values: Floats, codes: Ints, weights: Floats | None = None) -> ClusteredSamples:
    """Samples (samples x units) summed by cluster: `codes` from 0 without gaps."""
    mass = np.ones(values.shape[1]) if weights is None else weights / weights.mean()
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate([[0], np.flatnonzero(np.diff(codes[order])) + 1])
    add: Callable[[Floats], Floats] = lambda rows: np.add.reduceat(rows[:, order], starts, axis=1)  # noqa: E731
    return ClusteredSamples(add(values * mass), (values**2 * mass).sum(axis=1), add(mass[None, :])[0])
