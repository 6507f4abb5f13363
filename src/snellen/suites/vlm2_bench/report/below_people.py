"""How far subjects lie from people on the same questions: the column of Table 1 that the paper calls delta human."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from snellen.analysis.cells import points
from snellen.analysis.people import is_study
from snellen.analysis.run_view import ReportArm, simulated_last
from snellen.analysis.section import ReportSection
from snellen.suites.vlm2_bench.published import COLUMNS
from snellen.suites.vlm2_bench.report.methods_compared import Units
from snellen.suites.vlm2_bench.report.task_means import task_mean


def sections(units: Units) -> Iterator[ReportSection]:
    """Every subject against every study of people, over the tasks of Table 1 that both answered."""
    arms = list(dict.fromkeys(arm for by_arm in units.values() for arm in by_arm))
    studies = [arm for arm in arms if is_study(arm.subject)]
    others = simulated_last(arm for arm in arms if not is_study(arm.subject))
    lines = [line for study in studies for arm in others for line in _lines(units, study, arm)]
    if not lines:
        return
    note = (
        "A subject's mean over tasks minus that of people, in points with 95 % interval: the column that Table 1 calls "
        "delta human. Both means are of the tasks of Table 1 that both answered, every task counting alike, on the "
        "same pairs and questions, people averaged for each; whole clusters are drawn again over all tasks at once, "
        "people are not. There is no interval where the difference is the same for every question. The paper has all "
        "nine tasks and other people; rows with other tasks do not compare with one another."
    )
    heads = ["subject", "condition", "people", "tasks", "percent right", "people's", "difference"]
    frame = pd.DataFrame(lines, columns=heads)
    yield ReportSection("Distance from people (Table 1)", note, frame, None, "below-people")


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
        gap = task_mean(gaps, "below people", *study, *arm)
        means = (f"{100 * sum(means) / len(means):.1f}" for means in (ours, theirs))
        yield [*arm, study.subject, ", ".join(tasks), *means, points(gap.value, gap.low, gap.high)]
