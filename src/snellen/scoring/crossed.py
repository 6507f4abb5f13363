"""Intervals of several people's scores on the same items: both people and items are samples, and both are redrawn.

An answer belongs to a person and to a cluster of items, which are crossed: one person's answers resemble each other,
and so do all answers to one cluster. The variance of the mean is that by people, plus that by clusters, minus that by
their intersections, which is in both (Cameron, Gelbach and Miller 2011, "Robust inference with multiway clustering",
Journal of Business and Economic Statistics 29), and at least the greater of the first two. Coverage was simulated:
docs/validity.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from snellen.scoring.clustered_means import ALIKE, MAX_CELLS, Floats, Ints, draw_counts, score_ends, tails
from snellen.scoring.uncertainty import Bounds, Interval, Summary, check_bounds, untold

DRAWS = 2000
"""Number of draws of people and clusters."""
MIN_PEOPLE, MIN_CLUSTERS = 4.0, 8.0
"""Effective numbers that a bootstrap interval needs."""
PEOPLE_AND_CLUSTERS = "people and clusters"
"""Ends the kind of every interval of this module."""
WILSON = f"95 % Wilson, adjusted for {PEOPLE_AND_CLUSTERS}"
ON_RANGE = f"95 % Wilson on the range of the metric, adjusted for {PEOPLE_AND_CLUSTERS}"
BOOTSTRAP = f"95 % bootstrap of {PEOPLE_AND_CLUSTERS}"
WOODRUFF = f"95 % Woodruff, adjusted for {PEOPLE_AND_CLUSTERS}"


@dataclass(frozen=True)
class CrossedAnswers:
    """Answers with weights of mean 1, and the number (from 0 without gaps) of the person and cluster of each."""

    values: Floats
    weights: Floats
    people: Ints
    clusters: Ints

    @property
    def mean(self) -> float:
        """The weighted mean."""
        return float((self.values * self.weights).sum() / self.weights.sum())

    @property
    def effective_people(self) -> float:
        """The equivalent number of people with equally many answers (Kish 1965)."""
        return _effective(np.bincount(self.people, self.weights))

    @property
    def effective_clusters(self) -> float:
        """The equivalent number of clusters of equal size."""
        return _effective(np.bincount(self.clusters, self.weights))

    def with_values(self, values: Floats) -> CrossedAnswers:
        """The same answers with other values."""
        return CrossedAnswers(values, self.weights, self.people, self.clusters)


def _effective(sizes: npt.NDArray[Any]) -> float:
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def _answers(
    values: npt.ArrayLike,
    people: Sequence[Any] | npt.NDArray[Any],
    clusters: Sequence[Any] | npt.NDArray[Any],
    weights: npt.ArrayLike | None,
) -> CrossedAnswers:
    numbers, persons, names = np.asarray(values, np.float64), np.asarray(people), np.asarray(clusters)
    mass = np.ones(numbers.shape) if weights is None else np.asarray(weights, np.float64)
    if numbers.ndim != 1 or not numbers.shape == persons.shape == names.shape == mass.shape:
        raise ValueError(
            f"values {numbers.shape}, people {persons.shape}, clusters {names.shape}, weights {mass.shape} must be "
            f"lists of the same length"
        )
    known = ~np.isnan(numbers)
    codes = [np.unique(labels[known], return_inverse=True)[1].astype(np.int64) for labels in (persons, names)]
    return CrossedAnswers(numbers[known], mass[known] / (mass[known].mean() if known.any() else 1.0), *codes)


def mean_variance(panel: CrossedAnswers) -> tuple[float, float]:
    """(variance of the mean, degrees of freedom by Satterthwaite) for two or more people crossed with clusters."""
    rest = panel.weights * (panel.values - panel.mean)
    people, clusters = int(panel.people.max()) + 1, int(panel.clusters.max()) + 1
    cells = np.unique(panel.people * clusters + panel.clusters, return_inverse=True)[1]
    by_person, by_cluster, by_cell = (
        float((np.bincount(codes, rest) ** 2).sum() / panel.weights.sum() ** 2)
        for codes in (panel.people, panel.clusters, cells)
    )
    by_person *= people / (people - 1)
    by_cluster *= clusters / (clusters - 1)
    spread = by_person**2 / (people - 1) + by_cluster**2 / (clusters - 1)
    freedom = (by_person + by_cluster) ** 2 / spread if spread > 0 else float(min(people, clusters) - 1)
    return max(by_person + by_cluster - by_cell, by_person, by_cluster), max(1.0, freedom)


def redrawn_means(panel: CrossedAnswers, rng: np.random.Generator, draws: int = DRAWS) -> Floats:
    """At most `draws` means with people and, independently, clusters redrawn with replacement.

    In a draw, an answer counts as often as its person times its cluster was drawn; a draw without answers is left out.
    Owen 2007, "The pigeonhole bootstrap", Annals of Applied Statistics 1: the variance of such means is never too
    small, but counts the noise of single answers up to three times.
    """
    people, clusters = int(panel.people.max()) + 1, int(panel.clusters.max()) + 1
    sums, sizes = np.zeros((people, clusters)), np.zeros((people, clusters))
    np.add.at(sums, (panel.people, panel.clusters), panel.weights * panel.values)
    np.add.at(sizes, (panel.people, panel.clusters), panel.weights)
    means, block = list[Floats](), max(1, MAX_CELLS // max(people, clusters))
    for start in range(0, draws, block):
        count = min(block, draws - start)
        of_people, of_clusters = draw_counts(people, rng, count), draw_counts(clusters, rng, count)
        totals, masses = (((of_people @ cells) * of_clusters).sum(axis=1) for cells in (sums, sizes))
        means.append(totals[masses > 0] / masses[masses > 0])
    return np.concatenate(means)


def _wilson_ends(panel: CrossedAnswers, level: float) -> tuple[float, float]:
    """Wilson's ends for a mean of values in 0..1, for the equivalent number of independent answers.

    If all values are 0, or all are 1, the correlation of answers is unknown. Then answers to one cluster are counted as
    one, or those of one person if there are more people than clusters.
    """
    from scipy.special import ndtri, stdtrit

    mean, count = min(max(panel.mean, 0.0), 1.0), float(len(panel.values))
    single = mean * (1 - mean)
    if single <= ALIKE:
        effective = max(panel.effective_people, panel.effective_clusters)
    else:
        variance, freedom = mean_variance(panel)
        wider = float(stdtrit(freedom, (1 + level) / 2) / ndtri((1 + level) / 2)) ** 2
        effective = count if variance <= ALIKE else min(count, single / variance / wider)
    low, high = score_ends(np.array([mean]), np.array([max(effective, 1e-6)]), level)
    return float(low[0]), float(high[0])


def _bootstrap_ends(panel: CrossedAnswers, rng: np.random.Generator, level: float) -> tuple[float, float]:
    """Percentiles of redrawn means, scaled to the variance of `mean_variance`, and widened for few people."""
    means, mean = redrawn_means(panel, rng), panel.mean
    factor = math.sqrt(mean_variance(panel)[0] / float(((means - mean) ** 2).mean()))
    few = min(panel.effective_people, panel.effective_clusters)
    low, high = np.quantile(means, tails(few, level))
    return mean + factor * (float(low) - mean), mean + factor * (float(high) - mean)


def crossed_interval(
    values: npt.ArrayLike,
    people: Sequence[Any] | npt.NDArray[Any],
    clusters: Sequence[Any] | npt.NDArray[Any],
    summary: Summary,
    bounds: Bounds | None,
    rng: np.random.Generator,
    weights: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> Interval:
    """The interval of a metric's summary of the answers of several people.

    The first three arguments are over answers; those with the value NaN are ignored. For bounds within 0 and 1 a mean
    has Wilson's interval for the effective number of answers, since near 1, where people score, percentiles of redrawn
    means cover too seldom. Other means have `DRAWS` draws (`redrawn_means`), cut off at the bounds. A root mean square
    and a median derive from means as in `uncertainty.summary_interval`. Not estimable for one person or one cluster.
    Raises ValueError for values outside the bounds.
    """
    panel = _answers(values, people, clusters, weights)
    if not len(panel.values):
        return untold("no units")
    if not panel.people.any():
        return untold("one person")
    if not panel.clusters.any():
        return untold("all units belong to one cluster")
    if summary == "median":
        return _median_interval(panel, level)
    if summary == "root mean square":
        most = None if bounds is None else (0.0, max(abs(end) for end in bounds) ** 2)
        low, high, kind = _mean_interval(panel.with_values(panel.values**2), most, rng, level)
        return Interval(float(np.sqrt(max(low, 0.0))), float(np.sqrt(high)), kind)
    return _mean_interval(panel, bounds, rng, level)


def _mean_interval(panel: CrossedAnswers, bounds: Bounds | None, rng: np.random.Generator, level: float) -> Interval:
    if bounds is not None:
        check_bounds(panel.values, bounds)
        if bounds[0] >= 0 and bounds[1] <= 1:
            return Interval(*_range_ends(panel, bounds, level), WILSON)
    enough = panel.effective_people >= MIN_PEOPLE - 1e-9 and panel.effective_clusters >= MIN_CLUSTERS - 1e-9
    varied = mean_variance(panel)[0] > ALIKE * max(1.0, panel.mean**2)
    if enough and varied:
        low, high = _bootstrap_ends(panel, rng, level)
        cut = bounds or (-math.inf, math.inf)
        return Interval(max(low, cut[0]), min(high, cut[1]), BOOTSTRAP)
    if bounds is not None:
        return Interval(*_range_ends(panel, bounds, level), ON_RANGE)
    few = f"{int(panel.people.max()) + 1} people in {int(panel.clusters.max()) + 1} clusters"
    return untold(few if varied else "all answers are alike")


def _range_ends(panel: CrossedAnswers, bounds: Bounds, level: float) -> tuple[float, float]:
    width = bounds[1] - bounds[0]
    low, high = _wilson_ends(panel.with_values((panel.values - bounds[0]) / width), level)
    return bounds[0] + width * low, bounds[0] + width * high


def _median_interval(panel: CrossedAnswers, level: float) -> Interval:
    """The interval of the median by Woodruff 1952: the answers with the ends of the interval for 1/2 below them."""
    middle, ordered = float(np.median(panel.values)), np.sort(panel.values)
    below = (panel.values < middle) + 0.5 * (panel.values == middle)
    low, high = _wilson_ends(panel.with_values(below), level)
    first, last = math.floor(low * len(ordered)) - 1, math.ceil(high * len(ordered))
    if first < 0 or last >= len(ordered):
        return untold(f"a median of {len(ordered)} answers")
    return Interval(float(ordered[first]), float(ordered[last]), WOODRUFF)
