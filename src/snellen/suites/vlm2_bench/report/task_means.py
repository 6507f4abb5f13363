"""Means over tasks, each task counting alike, with an interval that knows that tasks share images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, percent_interval
from snellen.analysis.run_view import ReportArm
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import mean_interval, wilson
from snellen.suites.vlm2_bench.report.methods_compared import Units


class TaskMean(NamedTuple):
    """The mean of the tasks' means with its 95 % interval, and the units of all tasks."""

    value: float
    low: float
    high: float
    units: int


def task_mean(parts: Sequence[pd.DataFrame], *key: str) -> TaskMean:
    """The plain mean of the means of several tasks, whose units are `parts` (columns value and cluster).

    Tasks of a family share images, so that whole clusters are drawn again over all tasks at once (bootstrap-t). What
    is drawn are linearised values, average + N / (tasks n_t) (value - mean_t), whose mean over all N units is the
    average. NaN where there is no interval. `key` names the draws.
    """
    total = sum(map(len, parts))
    average = float(np.mean([part["value"].mean() for part in parts]))
    spreads = [total / (len(parts) * len(part)) * (part["value"] - part["value"].mean()) for part in parts]
    clusters = np.concatenate([part["cluster"].to_numpy(str) for part in parts])
    values = average + np.concatenate([part.to_numpy(float) for part in spreads])
    low, high, _ = mean_interval(values, clusters, None, stream("vlm2-bench", "mean of tasks", *key))
    return TaskMean(average, low, high, total)


def mean_of_tasks(units: Units, arm: ReportArm, tasks: Sequence[str]) -> str:
    """`task_mean` in percent with its interval; a dash where the arm lacks one of the tasks.

    Where all units of every task are alike nothing can be drawn: then it is Wilson's interval over the clusters.
    """
    parts = [units[task][arm] for task in tasks if arm in units.get(task, {})]
    if len(parts) < len(tasks):
        return DASH
    average, low, high, total = task_mean(parts, *arm, *tasks)
    alike = all(np.ptp(part["value"].to_numpy(float)) < 1e-12 for part in parts)
    count = len({cluster for part in parts for cluster in part["cluster"]})
    if alike and count > 1:
        low, high = wilson(average * count, count)
    low, high = np.clip((low, high), 0.0, 1.0)
    return percent_interval(average, low, high, total)
