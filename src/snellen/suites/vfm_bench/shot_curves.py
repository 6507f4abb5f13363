"""Statistics of accuracy by number of shots as in the paper: efficiency, effectiveness, and the effect of an ablation.

A curve maps shots per class to accuracy (0 to 1). People were asked at 0, 1, 3 and 5 shots only, so every mean is over
the shots that a curve has. An undefined number is None. The paper computed everything from accuracies rounded to two
decimals: `printed` rounds a curve in this way, which is needed to reproduce its derived numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from snellen.scoring.clustered_means import Floats, tails

Curve: TypeAlias = Mapping[int, float]
"""Shots per class -> accuracy."""
MIN_GAIN = 1e-12
"""Differences below this are rounding of floats, not gains."""
MAX_UNDEFINED = 0.05
"""If more than this share of the draws has no value, the interval is not estimable."""


def eta(curve: Curve) -> float | None:
    """Efficiency (equation 2): the mean gain over zero shots as a share of the largest one; at most 1, higher better.

    The mean is over all shots from 1 that the curve has. None without zero shots, without any others, or if no number
    of shots gains anything: the formula would divide by 0 or by a loss.
    """
    return _efficiency(_gains(curve, curve.get(0)))


def delta(curve: Curve) -> float | None:
    """Effectiveness (equation 3): the mean gain over zero shots as a share of the possible gain; at most 1.

    Negative if demos do harm, though the paper gives its range as 0 to 1. None without zero shots, without any others,
    or if zero shots are perfect already.
    """
    return _effectiveness(curve, curve.get(0))


def eta_above_chance(curve: Curve, chance: float) -> float | None:
    """`eta` with exact chance in place of zero shots, for subjects that need demos. Never in one column with `eta`."""
    return _efficiency(_gains(curve, chance))


def delta_above_chance(curve: Curve, chance: float) -> float | None:
    """`delta` with exact chance in place of zero shots, for subjects that need demos. Never in one column with it."""
    return _effectiveness(curve, chance)


def _gains(curve: Curve, base: float | None) -> list[float]:
    if base is None:
        return []
    return [value - base for shots, value in curve.items() if shots > 0]


def _efficiency(gains: Sequence[float]) -> float | None:
    if not gains or max(gains) <= MIN_GAIN:
        return None
    return sum(gains) / len(gains) / max(gains)


def _effectiveness(curve: Curve, base: float | None) -> float | None:
    gains = _gains(curve, base)
    if base is None or not gains or 1 - base <= MIN_GAIN:
        return None
    return sum(gains) / len(gains) / (1 - base)


def phi(changed: Curve, original: Curve, shots: Iterable[int]) -> float | None:
    """Effect of a change on accuracy (equation 4): the sum of differences over that of the original; 0 is no change.

    The paper sums from 0 shots, its released function from 1; `shots` are those to sum over. None if either curve lacks
    one of them, or the original is 0 at all of them.
    """
    over = sorted(set(shots))
    if not over or any(k not in changed or k not in original for k in over):
        return None
    base = sum(original[k] for k in over)
    return None if base <= MIN_GAIN else (sum(changed[k] for k in over) - base) / base


def gain_at(curve: Curve, shots: int) -> float | None:
    """The gain over zero shots as a share of zero shots: printed in the paper as phi_vdpi, at one shot.

    Its definition (Table 3) sums over shots by equation 4, which gives none of the printed values. None without zero
    shots, without the others, or if zero shots get nothing right.
    """
    if 0 not in curve or shots not in curve or curve[0] <= MIN_GAIN:
        return None
    return (curve[shots] - curve[0]) / curve[0]


def average(curve: Curve) -> float | None:
    """The mean accuracy over all shots the curve has, zero included (`ava` of Table 4)."""
    return sum(curve.values()) / len(curve) if curve else None


def rounded(number: float, places: int = 2) -> float:
    """The number rounded to `places` decimals, halves away from zero, as the paper prints (.345 is .35, 1.625 is 1.63).

    Floats that differ from a half only in their last bits count as a half.
    """
    return float(Decimal(f"{number:.10f}").quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def printed(curve: Curve) -> dict[int, float]:
    """The curve with accuracies of two decimals, from which the paper computed its derived numbers."""
    return {shots: rounded(value) for shots, value in curve.items()}


# Intervals


class DerivedInterval(NamedTuple):
    """A derived number with its interval; NaN if undefined or not estimable.

    `items` and `clusters` are those that every arm has; `undefined` is the share of draws without a value.
    """

    value: float
    low: float
    high: float
    items: int
    clusters: int
    undefined: float


def common(tables: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """The arms reduced to the items that every arm has at each of its own numbers of shots.

    An arm has columns `item_id`, `cluster_id`, `shots`, `value`; rows without a value are ignored. Raises ValueError
    for an arm without values, and for an item that does not have the same cluster everywhere.
    """
    responded = [arm.dropna(subset="value") for arm in tables]
    if any(arm.empty for arm in responded):
        raise ValueError("an arm has no values; leave it out of the comparison")
    both = pd.concat(responded)[["item_id", "cluster_id"]].drop_duplicates()
    if both["item_id"].duplicated().any():
        odd = both.loc[both["item_id"].duplicated(), "item_id"].iloc[0]
        raise ValueError(f"item {odd!r} belongs to several clusters; the arms are from different item sets")
    common_items: set[str] | None = None
    for arm in responded:
        counts = arm.groupby("item_id")["shots"].nunique()
        complete = set(counts.index[counts == arm["shots"].nunique()])
        common_items = complete if common_items is None else common_items & complete
    return [arm[arm["item_id"].isin(common_items or ())] for arm in responded]


def curve_of(scores: pd.DataFrame) -> dict[int, float]:
    """The mean value by shots; repeats of an item are averaged first."""
    each = scores.groupby(["shots", "item_id"])["value"].mean()
    means = each.groupby(level="shots").mean()
    return dict(zip(map(int, means.index), map(float, means), strict=True))


def interval(
    statistic: Callable[..., float | None],
    score_tables: Sequence[pd.DataFrame],
    rng: np.random.Generator,
    draws: int = 2000,
    level: float = 0.95,
) -> DerivedInterval:
    """A derived number of one or several arms, with its interval over redrawn clusters, the same ones for all arms.

    `statistic` takes one curve per arm, in order (`eta`; `lambda changed, original: phi(changed, original, range(6))`).
    Arms are as in `common`, which is applied first. Percentiles are widened for few clusters (`tails`).
    """
    cut = common(score_tables)
    if cut[0].empty:
        return DerivedInterval(math.nan, math.nan, math.nan, 0, 0, 0.0)
    sums, sizes, shots = _by_cluster(cut)
    value = statistic(*_curves(sums.sum(axis=0) / sizes.sum(), shots))
    count, items = len(sizes), int(sizes.sum())
    estimate = math.nan if value is None else float(value)
    if count < 2 or value is None:
        return DerivedInterval(estimate, math.nan, math.nan, items, count, 0.0)
    samples = rng.integers(count, size=(draws, count))
    means = sums[samples].sum(axis=1) / sizes[samples].sum(axis=1)[:, None]
    statistics = [statistic(*_curves(row, shots)) for row in means]
    defined = [statistic_value for statistic_value in statistics if statistic_value is not None]
    undefined = 1 - len(defined) / draws
    if undefined > MAX_UNDEFINED:
        return DerivedInterval(estimate, math.nan, math.nan, items, count, undefined)
    low, high = np.quantile(np.array(defined), tails(count, level))
    return DerivedInterval(estimate, float(low), float(high), items, count, undefined)


Places: TypeAlias = tuple[tuple[int, ...], ...]
"""The numbers of shots of each arm, in order: the columns of the sums by cluster."""


def _by_cluster(score_tables: Sequence[pd.DataFrame]) -> tuple[Floats, Floats, Places]:
    """(sums of values: clusters x columns, items of each cluster, the arms' shots in the order of columns)."""
    columns, places = [], []
    for arm in score_tables:
        each = arm.groupby(["cluster_id", "item_id", "shots"])["value"].mean()
        wide = each.groupby(level=["cluster_id", "shots"]).sum().unstack("shots").sort_index(axis=0).sort_index(axis=1)
        columns.append(wide.to_numpy(np.float64))
        places.append(tuple(int(shots) for shots in wide.columns))
    sizes = score_tables[0].groupby("cluster_id")["item_id"].nunique().sort_index().to_numpy().astype(np.float64)
    return np.hstack(columns).astype(np.float64), sizes, tuple(places)


def _curves(column_means: Floats, places: Places) -> list[dict[int, float]]:
    """The row of column means as one curve per arm."""
    numbers = iter(column_means.tolist())
    return [{shots: next(numbers) for shots in positions} for positions in places]
