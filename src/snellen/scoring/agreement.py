"""Agreement between raters of the same units, by categories or numbers: people in a study, reviewers, judges.

Ratings are a table units x raters (`ratings`), or a table units x categories of numbers of raters (`counts`).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from snellen.scoring.clustered_means import Floats


def rating_counts(ratings: npt.ArrayLike) -> Floats:
    """Table units x categories (sorted) of the number of raters who chose each; NaN is no rating.

    `ratings` is units x raters.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"ratings {table.shape}; give a table units x raters")
    categories = np.unique(table[~np.isnan(table)])
    return np.stack([(table == category).sum(axis=1) for category in categories], axis=1, dtype=np.float64) if len(
        categories
    ) else np.zeros((len(table), 0))  # fmt: skip


def percent_agreement(counts: npt.ArrayLike) -> float:
    """The share of pairs of raters of one unit who chose the same category, averaged over units; 0 to 1.

    `counts` is units x categories. Units with fewer than two raters are left out; NaN if no unit has two.
    """
    table = np.asarray(counts, dtype=np.float64)
    raters = table.sum(axis=1)
    table, raters = table[raters > 1], raters[raters > 1]
    return float((((table**2).sum(axis=1) - raters) / (raters * (raters - 1))).mean()) if len(table) else math.nan


def fleiss_kappa(counts: npt.ArrayLike) -> float:
    """Fleiss' kappa of a table units x categories of the number of raters who chose each category.

    1 is full agreement, 0 chance agreement, negative less than that; NaN if all raters always chose one category.
    Every unit must have the same number of raters, two or more. Fleiss 1971, "Measuring nominal scale agreement among
    many raters", Psychological Bulletin 76.
    """
    table = np.asarray(counts, dtype=np.float64)
    raters = table.sum(axis=1) if table.ndim == 2 else np.zeros(0)
    if not len(raters) or raters[0] < 2 or (raters != raters[0]).any():
        raise ValueError("fleiss_kappa needs a table units x categories with the same number of raters, two or more")
    chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return (percent_agreement(table) - chance) / (1 - chance) if chance < 1 else math.nan


def krippendorff_alpha(ratings: npt.ArrayLike) -> float:
    """Krippendorff's alpha of a table units x raters, NaN for no rating; 1 is full agreement, 0 chance agreement.

    Negative if raters differ more than by chance; NaN if fewer than two ratings can be compared, or all are equal. Any
    number of raters may miss units; a unit with one rating does not count. Ratings are names: two are equal or not.
    Krippendorff 2011, "Computing Krippendorff's alpha-reliability".
    """
    counts = rating_counts(ratings)
    raters = counts.sum(axis=1)
    counts, raters = counts[raters > 1], raters[raters > 1]
    totals = counts.sum(axis=0)
    if totals.sum() < 2 or (totals > 0).sum() < 2:
        return math.nan
    # Coincidences: every ordered pair of ratings of one unit; a unit with m ratings has weight m in total.
    pairs = np.einsum("uc,uk->uck", counts, counts)
    within = (pairs / (raters - 1)[:, None, None]).sum(axis=0) - np.diag((counts / (raters - 1)[:, None]).sum(axis=0))
    distances = 1 - np.eye(len(totals))
    observed = float((within * distances).sum() / totals.sum())
    expected = float((np.outer(totals, totals) * distances).sum() / (totals.sum() * (totals.sum() - 1)))
    return 1 - observed / expected


# Reliability of a test in distinguishing people: split halves with the Spearman-Brown correction


SPLITS = 1000
MIN_PEOPLE, MIN_ITEMS = 3, 4


def split_half(scores: npt.ArrayLike, rng: np.random.Generator, splits: int = SPLITS) -> float:
    """Reliability of the mean scores of `scores` (people x items, NaN if not asked); at most 1.

    Items are repeatedly split at random into halves; the people's means on both correlate by r (Pearson), averaged over
    the splits, and a test of twice the length has 2 r / (1 + r) (Spearman 1910, Brown 1910). 1 is a test that would
    order the same people in the same way again, 0 one whose differences between people are chance. A negative r is not
    corrected, since a longer test of nothing is no worse. People without an answer in a half are left out of that
    split. NaN for fewer than three people or four items, or if people do not differ.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(f"scores {table.shape}; give a table people x items")
    answered = ~np.isnan(table)
    table, answered = table[:, answered.any(axis=0)], answered[:, answered.any(axis=0)]
    people, items = table.shape
    if people < MIN_PEOPLE or items < MIN_ITEMS:
        return math.nan
    values, present = np.nan_to_num(table), answered.astype(np.float64)
    first_half = np.argsort(rng.random((splits, items)), axis=1) < items // 2
    means = []
    for half in (first_half, ~first_half):
        counts = present @ half.T
        means.append(np.divide(values @ half.T, counts, out=np.full(counts.shape, np.nan), where=counts > 0))
    correlations = [_correlation(first, second) for first, second in zip(means[0].T, means[1].T, strict=True)]
    known = [r for r in correlations if not math.isnan(r)]
    if not known:
        return math.nan
    mean = float(np.mean(known))
    return 2 * mean / (1 + mean) if mean > 0 else mean


def _correlation(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    both = ~np.isnan(first) & ~np.isnan(second)
    a, b = first[both], second[both]
    if len(a) < MIN_PEOPLE:
        return math.nan
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt(float((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / size if size > 1e-12 else math.nan
