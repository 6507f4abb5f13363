"""Agreement between raters who give the same units categories or numbers: people in a study, reviewers, judges.

Ratings are a table units x raters (`ratings`), or a table units x categories of how many raters chose each (`counts`).
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
"""What ratings mean: names, places in an order, or numbers whose differences count."""


def rating_counts(ratings: npt.ArrayLike) -> Floats:
    """Table units x categories of how many raters chose each, categories in their order; NaN is no rating.

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

    `counts` is units x categories. Units with fewer than two raters are left out; NaN where no unit has two.
    """
    table = np.asarray(counts, dtype=np.float64)
    raters = table.sum(axis=1)
    table, raters = table[raters > 1], raters[raters > 1]
    return float((((table**2).sum(axis=1) - raters) / (raters * (raters - 1))).mean()) if len(table) else math.nan


def fleiss_kappa(counts: npt.ArrayLike) -> float:
    """Fleiss' kappa of a table units x categories that holds how many raters chose each category.

    1 is full agreement, 0 what chance gives, negative less than that; NaN where all raters always chose one category.
    Every unit must have the same number of raters, two or more. Fleiss 1971, "Measuring nominal scale agreement among
    many raters", Psychological Bulletin 76.
    """
    table = np.asarray(counts, dtype=np.float64)
    raters = table.sum(axis=1) if table.ndim == 2 else np.zeros(0)
    if not len(raters) or raters[0] < 2 or (raters != raters[0]).any():
        raise ValueError("fleiss_kappa needs a table units x categories with the same number of raters, two or more")
    chance = float(((table.sum(axis=0) / table.sum()) ** 2).sum())
    return (percent_agreement(table) - chance) / (1 - chance) if chance < 1 else math.nan


def krippendorff_alpha(ratings: npt.ArrayLike, level: Level = "nominal") -> float:
    """Krippendorff's alpha of a table units x raters, NaN for no rating; 1 is full agreement, 0 what chance gives.

    Negative where raters differ more than by chance; NaN where fewer than two ratings can be compared, or all are
    alike. Raters may be as many as one likes and miss units; a unit with one rating does not count. With `ordinal` the
    order of the numbers counts, with `interval` their squared difference. Krippendorff 2011, "Computing Krippendorff's
    alpha-reliability".
    """
    counts = rating_counts(ratings)
    raters = counts.sum(axis=1)
    counts, raters = counts[raters > 1], raters[raters > 1]
    totals = counts.sum(axis=0)
    if totals.sum() < 2 or (totals > 0).sum() < 2:
        return math.nan
    # Coincidences: every ordered pair of ratings of one unit, a unit with m ratings weighing m in all.
    pairs = np.einsum("uc,uk->uck", counts, counts)
    within = (pairs / (raters - 1)[:, None, None]).sum(axis=0) - np.diag((counts / (raters - 1)[:, None]).sum(axis=0))
    every = np.asarray(ratings, dtype=np.float64)
    distances = _squared_distances(np.unique(every[~np.isnan(every)]), totals, level)
    observed = float((within * distances).sum() / totals.sum())
    expected = float((np.outer(totals, totals) * distances).sum() / (totals.sum() * (totals.sum() - 1)))
    return 1 - observed / expected


def _squared_distances(categories: Floats, totals: Floats, level: Level) -> Floats:
    """How far categories (in order, with how often each was chosen) lie apart, squared: categories x categories."""
    if level == "nominal":
        return 1 - np.eye(len(categories))
    if level == "interval":
        return np.asarray((categories[:, None] - categories[None, :]) ** 2)
    if level != "ordinal":
        raise ValueError(f"no level {level!r}; there are nominal, ordinal and interval")
    middles = np.cumsum(totals) - totals / 2  # as many ratings lie between two middles as between the categories
    return np.asarray((middles[:, None] - middles[None, :]) ** 2)
