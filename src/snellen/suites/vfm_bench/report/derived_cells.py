"""Derived numbers of the suite (efficiency, effectiveness, changes) with their intervals, and their cells in tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from snellen.analysis.cells import DASH, percent, result_cell, with_interval
from snellen.analysis.shot_curves import Curve, DerivedInterval, interval
from snellen.core.seeds import stream


def derived_interval(
    statistic: Callable[..., float | None], arms: Sequence[pd.DataFrame], *key: str
) -> DerivedInterval:
    """A derived number of one or more arms (see `shot_curves.interval`), with draws seeded by `key`.

    NaN over 0 items if an arm has no score.
    """
    if any(arm.empty for arm in arms):
        return DerivedInterval(math.nan, math.nan, math.nan, 0, 0, 0.0)
    return interval(statistic, arms, stream("vfm-bench", "pieces", *key))


def no_gain_reason(curve: Curve) -> str:
    """The reason, in words, that a curve has no efficiency."""
    return _no_base_reason(curve) or "undefined: no gain"


def no_room_reason(curve: Curve) -> str:
    """The reason, in words, that a curve has no effectiveness."""
    return _no_base_reason(curve) or "undefined: perfect at 0 shots"


def _no_base_reason(curve: Curve) -> str:
    if 0 not in curve:
        return "undefined: no 0 shots"
    return "" if len(curve) > 1 else "undefined: no demos"


def percent_interval(share: float, low: float, high: float, n: int, sign: str = "") -> str:
    """A share in percent with its interval, which is left out if it is unknown or has no width."""
    text = percent(share, n, sign)
    if math.isnan(low) or high - low < 1e-12:
        return text
    return with_interval(text, percent(low, n, sign), percent(high, n, sign))


def derived_cell(derived: DerivedInterval, reason: str, sign: str = "") -> str:
    """A derived number in percent with its interval, or the reason that there is none."""
    if math.isnan(derived.value):
        return reason if derived.items else "undefined: no common items"
    return percent_interval(derived.value, derived.low, derived.high, derived.items, sign)


def accuracy_cell(row: Any) -> str:
    """`analysis.cells.result_cell`, with the interval as in `percent_interval`."""
    return result_cell(row, percent_interval)


def guess_accuracy(rows: pd.DataFrame) -> float:
    """Exact chance of a uniform guess: the mean of one over the number of classes, every item once."""
    return float(rows.groupby("item_id")["chance"].first().mean()) if len(rows) else math.nan


def write_shots(shots: Sequence[int]) -> str:
    """Numbers of shots in words: `0–5`, `1, 3, 5`."""
    ordered = sorted(shots)
    if len(ordered) > 2 and ordered == list(range(ordered[0], ordered[-1] + 1)):
        return f"{ordered[0]}{DASH}{ordered[-1]}"
    return ", ".join(map(str, ordered))
