"""Whether a score dropped, decided by a confidence sequence of paired differences: valid whenever asking stops."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from snellen.analysis.grading.deciding import turns
from snellen.analysis.tables.run_view import main_metric, units_by_condition
from snellen.analysis.tables.section import Run
from snellen.core.score import Metric
from snellen.scoring.sequential import paired_sequence

DROPPED, KEPT, UNDECIDED = "dropped", "did not drop", "undecided"


@dataclass(frozen=True)
class Drop:
    """The change of a task from one run to another: means of the units that both have, and the confidence sequence.

    `change` is after minus before, `low` and `high` are its ends, in the unit of the metric; `n` counts the pairs.
    `verdict` is `DROPPED` if it got worse by at least the least drop, `KEPT` if it did not, or `UNDECIDED`.
    """

    task: str
    condition: str
    before: float
    after: float
    change: float
    low: float
    high: float
    n: int
    verdict: str


def drop_of(
    pairs: pd.DataFrame, order: Mapping[str, int], metric: Metric, least: float, task: str = "", condition: str = ""
) -> Drop:
    """The drop of a task with these units: columns before, after and cluster.

    `order` has the place of each cluster in the order of asking, `least` the least drop as a share of the range of the
    metric. One that is no mean within bounds stays undecided.
    """
    pairs = pairs.dropna(subset=["before", "after"])
    before, after = (float(pairs[name].mean()) if len(pairs) else math.nan for name in ("before", "after"))
    if not metric.is_bounded_mean or metric.bounds is None or pairs.empty:
        return Drop(task, condition, before, after, after - before, math.nan, math.nan, len(pairs), UNDECIDED)
    places = [order[str(name)] for name in pairs["cluster"]]
    low, high = paired_sequence(pairs["after"].to_numpy(float), pairs["before"].to_numpy(float), places, metric.bounds)
    drop = least * (metric.bounds[1] - metric.bounds[0])
    worst, best = sorted((metric.sign * low, metric.sign * high))
    verdict = DROPPED if best <= -drop else KEPT if worst > -drop else UNDECIDED
    return Drop(task, condition, before, after, after - before, low, high, len(pairs), verdict)


def drops(former: Run, current: Run, least: float, max_items: int) -> Iterator[Drop]:
    """The drop of every task and condition that both runs of one subject each have scores for."""
    for task in former.suite.tasks.values():
        earlier, later = (units_by_condition(run, task.id) for run in (former, current))
        order = turns(former.items, task, max_items) if earlier.keys() & later.keys() else {}
        for condition in [name for name in earlier if name in later]:
            first, second = earlier[condition], later[condition]
            pairs = first[["value", "cluster"]].rename(columns={"value": "before"})
            pairs = pairs.join(second["value"].rename("after"), how="inner")
            yield drop_of(pairs, order, main_metric(former, task.id), least, task.id, condition)
