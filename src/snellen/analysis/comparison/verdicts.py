"""Verdicts on changes: corrected p, the smallest drop that a test would have found, and items that flipped."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.comparison.contrasts import with_holm
from snellen.analysis.tables.run_view import lines_of
from snellen.core.score import Metric
from snellen.scoring.permutation import ALPHA, clusters_needed, holm, noise_flips, sign_test_power
from snellen.scoring.power import POWER

Verdict: TypeAlias = Literal["dropped", "rose", "moved", "no clear change", "too few clusters"]
DROPPED: Verdict = "dropped"
ROSE: Verdict = "rose"
MOVED: Verdict = "moved"
"""Of a number without a better end, such as a point of subjective equality: a clear change."""
TOO_FEW: Verdict = "too few clusters"
COLUMNS = (
    "condition", "kind", "name", "tasks", "metric", "before", "after", "difference", "low", "high", "n", "clusters",
    "p", "p_holm", "clear", "too_few_clusters", "verdict", "detectable_drop", "items_needed",
    "classes", "class_low", "class_high", "class_p", "grade_before", "grade_after",
)  # fmt: skip
FLIP_COLUMNS = ("condition", "task", "item_id", "before", "after", "is_better")
FLIP = 0.5
"""A score flips if it moves by this share of its metric's range; for right or wrong answers, if it changes."""


def with_verdicts(table: pd.DataFrame, metrics: Mapping[str, Metric], margin: float, sides: int = 2) -> pd.DataFrame:
    """The table with corrected p, verdicts and detectable drops, columns `COLUMNS`.

    `metrics` are by task. Of a test with one of two sides, p alone decides.
    """
    corrected = with_holm(table)
    if sides == 1:
        corrected["clear"], corrected["class_p"] = corrected["p_holm"] < ALPHA, holm(corrected["class_p"])
    corrected["tests"] = np.maximum(1, corrected.groupby("family")["p"].transform("count"))
    rows = [(row, metrics[row.tasks[0]]) for row in lines_of(corrected)]
    corrected["verdict"] = [_verdict(row, metric, clusters_needed(row.tests, sides)) for row, metric in rows]
    powers = [_power(row, metric, ALPHA / sides / row.tests, margin) for row, metric in rows]
    corrected[["detectable_drop", "items_needed"]] = np.array(powers, float).reshape(-1, 2)
    return corrected[list(COLUMNS)]


def _power(row: Any, metric: Metric, level: float, margin: float) -> tuple[float, float]:
    """The columns `detectable_drop` and `items_needed`."""
    if metric.bounds is None or metric.estimate is not None:
        return math.nan, math.nan
    width = metric.bounds[1] - metric.bounds[0]
    room = abs(row.before - metric.bounds[1 - metric.higher_is_better]) / width + 1e-9
    count, flips = noise_flips(row.gaps / width, row.units)
    steps = 1000 if row.n >= 200 else 100  # as pages round
    drops = np.arange(1, int(steps * room) + 1) / steps

    def power(number: int, drop: float) -> float:  # with half a flip more, since none may have been observed
        return sign_test_power(number, drop, (flips * number + 0.5) / (number + 1), level)

    place = bisect_left(drops, POWER, key=lambda drop: power(count, drop))
    drop = float(drops[place]) if place < len(drops) else math.inf
    if not drop > margin + 1e-9:
        return width * drop, math.nan
    least = min(margin, room)
    needed = bisect_left(range(10**7), POWER, key=lambda number: power(number, least)) if len(drops) else math.inf
    return width * drop, needed * row.n / count


def _verdict(row: Any, metric: Metric, clusters: int) -> Verdict:
    """The verdict on a row; with fewer than `clusters` no p of so many tests can be clear."""
    if row.clear and row.kind == "estimate":
        return MOVED
    if row.clear:
        return DROPPED if row.difference * metric.sign < 0 else ROSE
    return TOO_FEW if row.clusters < clusters else "no clear change"


def flips(metrics: Mapping[str, Metric], pairs: Mapping[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """The items whose score flipped, columns `FLIP_COLUMNS`, from scores before and after by task and condition."""
    rows = [row for (task, condition), pair in pairs.items() for row in _flips(metrics[task], task, condition, pair)]
    return pd.DataFrame(rows, columns=list(FLIP_COLUMNS))


def _flips(metric: Metric, task: str, condition: str, pair: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    if metric.bounds is None:
        return
    step = FLIP * (metric.bounds[1] - metric.bounds[0])
    moves = pair["after"] - pair["before"]
    for item_id in pair.index[np.abs(moves.to_numpy()) >= step - 1e-9]:
        row = pair.loc[item_id]
        yield condition, task, item_id, row["before"], row["after"], bool(moves[item_id] * metric.sign > 0)
