"""Formats of numbers and cells in the tables of reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from snellen.analysis.grading.rows import ResultRow
from snellen.core.score import Metric
from snellen.scoring.uncertainty import UNTOLD, cluster_wilson

DASH = "–"
"""Shown in place of a missing number."""


# Numbers


def percent(share: float, n: int, sign: str = "") -> str:
    """A share in percent, with a decimal only if there are enough units to justify it. `sign` may be `+`."""
    return f"{100 * share:{sign}.{int(n >= 200)}f}"


def number(score: float, metric: Metric, n: int) -> str:
    """A score as text: shares in percent, others in their own unit."""
    if math.isnan(score):
        return DASH
    return percent(score, n) if metric.share else f"{score:.{metric.decimals}f}"


def with_interval(text: str, low: str, high: str) -> str:
    """A number with its interval, all three as text."""
    return f"{text} [{low}, {high}]"


def percent_interval(share: float, low: float, high: float, n: int, sign: str = "") -> str:
    """A share in percent with its interval, if there is one."""
    text, *ends = (percent(number, n, sign) for number in (share, low, high))
    return text if math.isnan(low) else with_interval(text, *ends)


def points(difference: float, low: float, high: float) -> str:
    """A signed difference of two shares in points, with its interval if there is one."""
    text, *ends = (f"{100 * share:+.1f}" for share in (difference, low, high))
    return text if math.isnan(low) else with_interval(text, *ends)


def decimal_interval(center: float, low: float, high: float, decimals: int = 1) -> str:
    """A rank or a measure of agreement, with its interval if there is one."""
    if math.isnan(center):
        return DASH
    text, *ends = (f"{number:.{decimals}f}" for number in (center, low, high))
    return text if math.isnan(low) else with_interval(text, *ends)


# Cells


def in_place_of_interval(row: ResultRow) -> str:
    """The text in place of an interval that is not estimable; empty if there is one."""
    return UNTOLD.removesuffix(": ") if str(row.interval).startswith(UNTOLD) else ""


def result_cell(row: ResultRow | None, write: Callable[[float, float, float, int], str] = percent_interval) -> str:
    """The cell of a row of results (or None): its score with interval, and the shares not answered or failed.

    `write` formats value, low, high and n. An interval that is not estimable is replaced by words.
    """
    if row is None:
        return DASH
    if row.n == 0:
        return "declined" if row.not_applicable > 0 else DASH
    if instead := in_place_of_interval(row):
        return f"{write(row.value, math.nan, math.nan, row.n)}, {instead}{missing_shares(row)}"
    return write(row.value, row.low, row.high, row.n) + missing_shares(row)


def metric_cell(row: ResultRow | None, metric: Metric) -> str:
    """Like `result_cell`, in the unit of the metric."""

    def write(score: float, low: float, high: float, n: int) -> str:
        text = number(score, metric, n)
        return text if math.isnan(low) else with_interval(text, number(low, metric, n), number(high, metric, n))

    return result_cell(row, write)


def missing_shares(row: ResultRow) -> str:
    """The suffix of a score: the shares of a row of results that were not answered, cut off or failed, if any."""
    shares = ((row.no_answer_rate, "no answer"), (row.cut_off_rate, "cut off"), (row.failure_rate, "failed"))
    return "".join(f", {name} {100 * share:.0f} %" for share, name in shares if share > 0)


def share_cell(values: Sequence[float], clusters: Sequence[str]) -> str:
    """The mean of values 0..1 in percent with its interval (Wilson, adjusted for clusters)."""
    if not len(values):
        return DASH
    low, high = cluster_wilson(np.asarray(values, float), np.asarray(clusters, str))
    return percent_interval(float(np.mean(values)), low, high, len(set(clusters)))


def chance_range(chances: Iterable[float]) -> str:
    """Chance levels in percent: one number, or the range if arms were asked different items."""
    return value_range({round(100 * chance, 1) for chance in chances if not math.isnan(chance)})


def value_range(numbers: Iterable[float]) -> str:
    """One number, or the least and the greatest."""
    ordered = sorted(set(numbers))
    return DASH.join(dict.fromkeys(f"{number:g}" for number in (ordered[0], ordered[-1]))) if ordered else DASH


def column_head(task: str, metric: Metric) -> str:
    """The heading of a column: the task, its metric in words, and an arrow in the direction of better."""
    return f"{task}{metric.label and ' '}{metric.label} {'↑' if metric.higher_is_better else '↓'}"


# Words


def listing(names: Iterable[str]) -> str:
    """The names as `a`, `a and b`, `a, b and c`."""
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last
