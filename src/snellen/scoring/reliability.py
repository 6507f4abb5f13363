"""Reliability of a test in distinguishing people: split halves with the Spearman-Brown correction."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

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
