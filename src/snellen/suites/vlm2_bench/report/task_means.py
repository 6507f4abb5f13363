"""Means over tasks with equal weights, and differences from people, with intervals that account for shared images."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, percent_interval, points
from snellen.analysis.people import is_study
from snellen.analysis.pivot import table_section
from snellen.analysis.run_view import ReportArm, simulated_last
from snellen.analysis.section import ReportSection
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import mean_interval, wilson
from snellen.suites.vlm2_bench.published import COLUMNS
from snellen.suites.vlm2_bench.report.methods_compared import Units


def task_mean(parts: Sequence[pd.DataFrame], *key: str) -> tuple[float, float, float]:
    """The plain mean of the means of several tasks, whose units are `parts` (columns value and cluster), low and high.

    Tasks of a family share images, so clusters are resampled over all tasks jointly (bootstrap-t), using linearised
    values, average + N / (tasks n_t) (value - mean_t), whose mean over all N units is the average. NaN if there is no
    interval. `key` names the random stream.
    """
    total = sum(map(len, parts))
    average = float(np.mean([part["value"].mean() for part in parts]))
    spreads = [total / (len(parts) * len(part)) * (part["value"] - part["value"].mean()) for part in parts]
    clusters = np.concatenate([part["cluster"].to_numpy(str) for part in parts])
    values = average + np.concatenate([part.to_numpy(float) for part in spreads])
    low, high, _ = mean_interval(values, clusters, None, stream("vlm2-bench", "mean of tasks", *key))
    return average, low, high


def mean_of_tasks(units: Units, arm: ReportArm, tasks: Sequence[str]) -> str:
    """`task_mean` in percent with its interval; a dash if the arm lacks one of the tasks.

    If all units of every task are equal, resampling is impossible, and Wilson's interval over the clusters is used.
    """
    parts = [units[task][arm] for task in tasks if arm in units.get(task, {})]
    if len(parts) < len(tasks):
        return DASH
    average, low, high = task_mean(parts, *arm, *tasks)
    alike = all(np.ptp(part["value"].to_numpy(float)) < 1e-12 for part in parts)
    count = len({cluster for part in parts for cluster in part["cluster"]})
    if alike and count > 1:
        low, high = wilson(average * count, count)
    low, high = np.clip((low, high), 0.0, 1.0)
    return percent_interval(average, low, high, sum(map(len, parts)))


def below_people(units: Units) -> Iterator[ReportSection]:
    """The difference of every subject from every study of people, over the tasks of Table 1 that both answered."""
    arms = list(dict.fromkeys(arm for by_arm in units.values() for arm in by_arm))
    studies = [arm for arm in arms if is_study(arm.subject)]
    others = simulated_last(arm for arm in arms if not is_study(arm.subject))
    lines = [line for study in studies for arm in others for line in _lines(units, study, arm)]
    note = (
        "A subject's mean over tasks minus that of people, in points with 95 % interval: the column that Table 1 calls "
        "delta human. Both means are over the tasks of Table 1 that both answered, with equal weight per task, on the "
        "same pairs and questions, averaged over people. Clusters are resampled over all tasks jointly, people are "
        "not. There is no interval if the difference is the same for every question. The paper has all nine tasks and "
        "other people; rows with different tasks cannot be compared."
    )
    names = ["subject", "condition", "people", "tasks", "percent right", "people's", "difference"]
    yield from table_section("Difference from people (Table 1)", note, names, lines, "below-people")


def _lines(units: Units, study: ReportArm, arm: ReportArm) -> Iterator[list[str]]:
    tasks, gaps, ours, theirs = list[str](), list[pd.DataFrame](), list[float](), list[float]()
    for task in COLUMNS:
        if study not in units.get(task, {}) or arm not in units[task]:
            continue
        both = units[task][arm].join(units[task][study]["value"].rename("people"), how="inner")
        if len(both):
            tasks.append(task)
            gaps.append(both.assign(value=both["value"] - both["people"]))
            ours.append(float(both["value"].mean()))
            theirs.append(float(both["people"].mean()))
    if study.condition == arm.condition and tasks:
        gap = points(*task_mean(gaps, "below people", *study, *arm))
        means = (f"{100 * sum(means) / len(means):.1f}" for means in (ours, theirs))
        yield [*arm, study.subject, ", ".join(tasks), *means, gap]
