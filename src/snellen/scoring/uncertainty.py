"""Confidence intervals of scores whose units are not independent.

A unit is one scored thing (an item, a pair); a cluster is what was sampled independently (an object, a scene, a clip).
Units of one cluster resemble each other, so intervals are computed over clusters. Units with the value NaN were not
scored and are ignored. Random generators are arguments. The method of an interval depends on what a metric declares,
never on the values, except that a score at a bound has a one-sided interval. If no method covers, there is no interval:
(NaN, NaN). Coverage was simulated: docs/validity.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from snellen.scoring import clustered_means as formulas
from snellen.scoring.clustered_means import ClusteredSamples, Floats, Ints

Bounds: TypeAlias = tuple[float, float]
"""The least and the greatest value that a metric can give."""
Summary: TypeAlias = Literal["mean", "median", "root mean square"]
NOTHING = (math.nan, math.nan)
DRAWS = 2000
MIN_EFFECTIVE_CLUSTERS = 8.0
"""Effective number of clusters that a bootstrap-t interval needs; with fewer it covers only by being wide."""
WILSON = "95 % Wilson, adjusted for clusters"
GAFFKE = "95 % Gaffke, adjusted for clusters"
ONE_SIDED = "95 % one-sided, for deviations of up to the whole range, adjusted for clusters"
BOOTSTRAP_T = "95 % cluster bootstrap-t"
WOODRUFF = "95 % Woodruff, adjusted for clusters"
UNTOLD = "not estimable: "
"""Begins the kind of an interval that does not exist; the reason follows."""


class Interval(NamedTuple):
    """The ends of an interval and its method; if it is not estimable, the ends are NaN and `kind` has the reason."""

    low: float
    high: float
    kind: str

    def above(self, least: float) -> Interval:
        """The interval of a number that cannot be below `least`; it covers the number as often. NaN ends stay."""
        return Interval(float(np.maximum(self.low, least)), self.high, self.kind)


class Paired(NamedTuple):
    """The mean of a - b over the `n` units that both arms have, with its interval."""

    difference: float
    low: float
    high: float
    n: int


def untold(reason: str) -> Interval:
    """An interval that is not estimable, with the reason."""
    return Interval(*NOTHING, UNTOLD + reason)


def _clean(values: npt.ArrayLike, clusters: Sequence[Any] | npt.NDArray[Any]) -> tuple[Floats, Ints, int]:
    """The values that are numbers, the cluster number of each, and the number of clusters."""
    numbers, names = np.asarray(values, dtype=np.float64), np.asarray(clusters)
    if numbers.ndim != 1 or numbers.shape != names.shape:
        raise ValueError(f"values {numbers.shape} and clusters {names.shape} must have the same length")
    is_number = ~np.isnan(numbers)
    distinct, codes = np.unique(names[is_number], return_inverse=True)
    return numbers[is_number], codes.astype(np.int64), len(distinct)


def _sample(
    values: npt.ArrayLike, clusters: Sequence[Any] | npt.NDArray[Any], weights: npt.ArrayLike | None = None
) -> ClusteredSamples | None:
    """One sample by cluster; None with fewer than two clusters, since one does not show how clusters differ."""
    numbers, codes, count = _clean(values, clusters)
    if count < 2:
        return None
    mass = None if weights is None else np.asarray(weights, np.float64)[~np.isnan(np.asarray(values, np.float64))]
    return formulas.grouped(numbers[None, :], codes, mass)


def outside(values: npt.ArrayLike, bounds: Bounds) -> Floats:
    """The values (except NaN) that are outside the bounds of a metric by more than rounding."""
    numbers = np.asarray(values, dtype=np.float64)
    slack = 1e-9 * (bounds[1] - bounds[0])
    return numbers[(numbers < bounds[0] - slack) | (numbers > bounds[1] + slack)]


def check_bounds(values: npt.ArrayLike, bounds: Bounds) -> None:
    """Raise ValueError for values (except NaN) outside the bounds of a metric."""
    if len(outside(values, bounds)):
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        raise ValueError(f"values from {low:g} to {high:g}, outside of {bounds[0]:g} to {bounds[1]:g}: fix the bounds")


def _within(sample: ClusteredSamples, values: npt.ArrayLike, bounds: Bounds) -> ClusteredSamples:
    check_bounds(values, bounds)
    return sample.mapped(*bounds)


def wilson(k: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion, k of n (both may be fractions): within 0..1, never of zero width."""
    from scipy.special import ndtri

    if n <= 0:
        return NOTHING
    if not 0 <= k <= n:
        raise ValueError(f"{k} of {n} is not a proportion")
    z = float(ndtri((1 + level) / 2))
    share, spread = k / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def cluster_wilson(
    values: npt.ArrayLike, clusters: Sequence[Any] | npt.NDArray[Any], level: float = 0.95
) -> tuple[float, float]:
    """Wilson's interval of the mean of values in 0..1, adjusted for clusters (`clustered_means.wilson_ends`).

    Clusters of one unit each give Wilson's own interval, somewhat widened for shares near 0 and 1. Not estimable for a
    single cluster. Franco, Little, Louis and Slud 2019, Journal of Survey Statistics and Methodology 7, compare such
    intervals.
    """
    sample = _sample(values, clusters)
    if sample is None:
        return NOTHING
    low, high = formulas.wilson_ends(_within(sample, values, (0.0, 1.0)), level)
    return float(low[0]), float(high[0])


def mean_interval(
    values: npt.ArrayLike,
    clusters: Sequence[Any] | npt.NDArray[Any],
    bounds: Bounds | None,
    rng: np.random.Generator,
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
    binary: bool = True,
) -> Interval:
    """The interval of the mean of a metric with these bounds (None: none), of units with these weights (None: equal).

    If the metric is `binary` (a unit scores 0 or 1), it is `cluster_wilson`. For other metrics, and for bounds not
    within 0 and 1, it is `clustered_means.bounded_ends`, which is one-sided if all units have the value of one bound.
    Without bounds it is a cluster bootstrap-t, or none if that is not estimable (too few clusters, one with most units,
    no variance in too many draws). Raises ValueError for values outside the bounds.
    """
    sample = _sample(values, clusters, weights)
    if sample is None:
        return untold("all units belong to one cluster" if np.size(values) else "no units")
    if bounds is not None:
        inside = _within(sample, values, bounds)
        if binary and bounds[0] >= 0 and bounds[1] <= 1:
            return Interval(*_ends(formulas.wilson_ends(inside, level), bounds), WILSON)
        share = float(inside.means[0])
        kind = ONE_SIDED if share * (1 - share) <= formulas.ALIKE else GAFFKE
        return Interval(*_ends(formulas.bounded_ends(inside, level), bounds), kind)
    reason = _reason(sample)
    if not reason:
        low, high = formulas.bootstrap_t_ends(sample, rng, DRAWS, level)
        if np.isfinite([low[0], high[0]]).all():
            return Interval(float(low[0]), float(high[0]), BOOTSTRAP_T)
        reason = "the variance depends on few clusters"
    return untold(reason)


def _ends(shares: formulas.Ends, bounds: Bounds) -> tuple[float, float]:
    """Ends as shares of a range, in the unit of the range."""
    low, high = (bounds[0] + float(share[0]) * (bounds[1] - bounds[0]) for share in shares)
    return low, high


def _reason(sample: ClusteredSamples) -> str:
    """The reason that a bootstrap-t interval is not estimable; empty if it is."""
    if formulas.mean_variances(sample)[0] <= formulas.ALIKE * max(1.0, float(sample.means[0]) ** 2):
        return "all clusters have one mean"
    effective = formulas.effective_clusters(sample.sizes)
    if effective >= MIN_EFFECTIVE_CLUSTERS - 1e-9:
        return ""
    few = len(sample.sizes) < MIN_EFFECTIVE_CLUSTERS
    return f"{len(sample.sizes)} clusters" if few else f"clusters so uneven that they are worth {effective:.1f}"


def summary_interval(
    values: npt.ArrayLike,
    clusters: Sequence[Any] | npt.NDArray[Any],
    summary: Summary,
    bounds: Bounds | None,
    rng: np.random.Generator,
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
    binary: bool = True,
) -> Interval:
    """The interval of a metric's summary of units.

    A mean has `mean_interval`, a root mean square the root of the interval of the mean square. A median has
    Woodruff's, for any bounds and without weights. Raises ValueError for values outside the bounds, and for another
    summary.
    """
    if summary == "mean":
        return mean_interval(values, clusters, bounds, rng, weights, level, binary)
    if summary == "root mean square":
        most = None if bounds is None else (0.0, max(abs(end) for end in bounds) ** 2)
        squares = np.asarray(values, np.float64) ** 2
        low, high, kind = mean_interval(squares, clusters, most, rng, weights, level, binary)
        return Interval(float(np.sqrt(np.maximum(low, 0.0))), float(np.sqrt(high)), kind)
    if summary != "median":
        raise ValueError(f"no summary {summary!r}; available: mean, median, root mean square")
    numbers, codes, count = _clean(values, clusters)
    if count < 2:
        return untold("all units belong to one cluster" if len(numbers) else "no units")
    first, last = formulas.median_ends(numbers[None, :], codes, level)
    if np.isfinite([first[0], last[0]]).all():
        return Interval(float(first[0]), float(last[0]), WOODRUFF)
    return untold(f"a median of {len(numbers)} units in {count} clusters")


def paired_difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters: Sequence[Any] | npt.NDArray[Any],
    rng: np.random.Generator,
    level: float = 0.95,
    bounds: Bounds | None = (0.0, 1.0),
) -> Paired:
    """The mean of a - b over the units that both arms have, with its interval.

    `a`, `b` and `clusters` are over the same units in the same order, with NaN for units that an arm lacks. `bounds`
    are those of the metric. With bounds, whether or not the metric is binary, the interval is
    `clustered_means.difference_ends` on their range: it follows from the spread of the differences and needs two
    clusters. Without bounds it is a cluster bootstrap-t, or none if that is not estimable. Raises ValueError for arms
    of different lengths, and for values outside the bounds.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape:
        raise ValueError(f"the arms have {first.shape} and {second.shape} units; give NaN where one lacks a unit")
    gaps = first - second
    n = int((~np.isnan(gaps)).sum())
    if not n:
        return Paired(math.nan, math.nan, math.nan, 0)
    mean, sample = float(np.nanmean(gaps)), _sample(gaps, clusters)
    if sample is None:
        return Paired(mean, *NOTHING, n)
    if bounds is None:
        interval = mean_interval(gaps, clusters, None, rng, level=level)
        return Paired(mean, interval.low, interval.high, n)
    width = bounds[1] - bounds[0]
    _within(sample, gaps, (-width, width))
    scaled = ClusteredSamples(sample.totals / width, sample.squares / width**2, sample.sizes)
    low, high = formulas.difference_ends(scaled, level)
    return Paired(mean, width * float(low[0]), width * float(high[0]), n)


def unpaired_difference(
    minuend: tuple[float, float, float], subtrahend: tuple[float, float, float]
) -> tuple[float, float, float]:
    """The difference of two independent scores, each (score, low, high), with its interval.

    The distances of the ends are the roots of the sums of squared distances of the two intervals' ends, so the interval
    respects what theirs do: bounds, clusters, asymmetry (Newcombe 1998, Statistics in Medicine 17, method 10, for two
    shares with Wilson's intervals; Zou and Donner 2008, Statistics in Medicine 27, for any). NaN without an interval.
    """
    (score, low, high), (other, other_low, other_high) = minuend, subtrahend
    difference = score - other
    below, above = math.hypot(score - low, other_high - other), math.hypot(high - score, other - other_low)
    return difference, difference - below, difference + above
