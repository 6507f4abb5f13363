"""The report's sections for VLM2-Bench: the paper's tables and findings, made from our runs.

Of the printed numbers (`published.py`) only the chance levels are shown here, the others by `--compare published`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from snellen.analysis.studies.people import studies_of
from snellen.analysis.tables.cells import DASH, listing, percent_interval, points, result_cell
from snellen.analysis.tables.pivot import level_lines, reference_lines, table_section
from snellen.analysis.tables.plots import LevelPanel, level_figure
from snellen.analysis.tables.run_view import (
    ReportArm,
    arm_name,
    divides,
    examined,
    result_rows,
    row_by_arm,
    rows_by_arm,
    scored,
    simulated_last,
    units_by_task,
)
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import mean_interval, unpaired_difference, wilson
from snellen.suites.vlm2_bench.items import CUE_BY_EDIT
from snellen.suites.vlm2_bench.published import CHANCE, COLUMNS, FINDING_III_MODELS, PEOPLE_ABOVE_OBJECTS, TASK_ORDER
from snellen.suites.vlm2_bench.report.answers import counts, letters, people_named, statements
from snellen.suites.vlm2_bench.report.methods_compared import Units, methods

IMAGE_TASKS = 8
"""Number of `COLUMNS` before the column of open questions (VID)."""
MIN_PAIRS = 5
"""Minimum pairs of every cue for one to be called the hardest."""
CUES = tuple(dict.fromkeys(CUE_BY_EDIT.values()))
PAIR_CHANCE = 0.25


def sections(run: Run) -> Iterator[ReportSection]:
    """The sections for which the run has numbers: Table 1, Figure 5, findings, then our own."""
    units = units_by_task(run, TASK_ORDER)
    yield from table_1(run, units)
    yield from below_people(run, units)
    yield from methods(run, units)
    for make in (cues, families, statements, letters, counts, people_named):
        yield from make(run)


# Table 1


def table_1(run: Run, units: Units) -> Iterator[ReportSection]:
    """Subjects by tasks with both averages (Table 1), percent with interval."""
    rows = pd.concat([result_rows(run, task).assign(level=task) for task in TASK_ORDER])
    with_score, by_arm = scored(rows), rows_by_arm(rows)
    tasks = list(dict.fromkeys(with_score["level"]))
    if not tasks:
        return
    # Each task puts simulated subjects last, but a subject that answered only later tasks would follow them.
    lines = level_lines(
        {arm: by_arm[arm] for arm in simulated_last(run, rows_by_arm(with_score))},
        tasks,
        before=lambda arm: [mean_of_tasks(units, arm, COLUMNS[:count]) for count in (IMAGE_TASKS, len(COLUMNS))],
    )
    chances = [with_score.loc[with_score["level"] == task, "chance"].mean() for task in COLUMNS[:IMAGE_TASKS]]
    mean = DASH if np.isnan(chances).any() else f"{100 * float(np.mean(chances)):.1f}"
    for _, *cells in reference_lines("chance", with_score, tasks, ["", mean, DASH]):
        lines.append(["(chance of guesses)", *cells])
    lines += [*reference_lines("blind", with_score, tasks, ["", DASH, DASH]), _printed_chance(tasks)]
    names = ["subject", "condition", "mean of the eight", "mean of all nine", *tasks]
    yield from table_section("Tasks and their averages (Table 1)", _table_note(rows, tasks), names, lines, "table-1")


def _printed_chance(tasks: Sequence[str]) -> list[str]:
    printed = dict(zip(COLUMNS, CHANCE.scores, strict=True))
    cells = [DASH if (number := printed.get(task)) is None else f"{number:.2f}" for task in tasks]
    return ["(chance as printed)", "", f"{CHANCE.average:.2f}", DASH, *cells]


def _table_note(rows: pd.DataFrame, tasks: Sequence[str]) -> str:
    sentences = [
        "Percent with 95 % interval: pairs of statements both right (mat, trk, cpr), closeness of the count (cnt), "
        "right answers (grp), and the judge's score divided by the best one (vid). The paper's footnote excludes VID "
        "from the average, but its preprint includes it, so both means are given: of the eight tasks with images, and "
        "of all nine, each only if all of its tasks were answered under that condition."
    ]
    if missing := [task for task in COLUMNS if task not in tasks]:
        sentences.append(f"No subject answered {listing(missing)} here, so means that include these are missing.")
    if "oc-vid" in tasks:
        sentences.append("oc-vid is our twin of pc-vid with objects, and is in neither mean.")
    for task in (task for task in tasks if task.endswith("vid")):
        if names := sorted(set(rows.loc[rows["level"] == task, "judge"]) - {""}):
            judge = names[0] if len(names) == 1 else "several; the first judge counts"
            sentences.append(f"{task} was judged by {judge}.")
    sentences.append(
        "Chance: the paper lets one guess decide both statements of cpr (50); two independent guesses get 25. That of "
        "cnt follows from the numbers of images of the questions asked."
    )
    return " ".join(sentences)


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


def below_people(run: Run, units: Units) -> Iterator[ReportSection]:
    """The difference of every subject from every study of people, over the tasks of Table 1 that both answered."""
    arms = list(dict.fromkeys(arm for by_arm in units.values() for arm in by_arm))
    people = studies_of(run.card.arms)
    studies = [arm for arm in arms if arm.subject in people]
    others = simulated_last(run, (arm for arm in arms if arm.subject not in people))
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
    both = {
        task: by_arm[arm].join(by_arm[study]["value"].rename("people"), how="inner")
        for task in COLUMNS
        if {study, arm} <= (by_arm := units.get(task, {})).keys()
    }
    both = {task: part for task, part in both.items() if len(part)}
    if study.condition == arm.condition and both:
        gaps = [part.assign(value=part["value"] - part["people"]) for part in both.values()]
        means = (np.mean([part[column].mean() for part in both.values()]) for column in ("value", "people"))
        gap = points(*task_mean(gaps, "below people", *study, *arm))
        yield [*arm, study.subject, ", ".join(both), *(f"{100 * mean:.1f}" for mean in means), gap]


# Finding II: errors by cue


def cues(run: Run) -> Iterator[ReportSection]:
    """Pair accuracy of Mat and Trk by the kind of edit (Finding II)."""
    lines, panels = [], []
    for task in (task for task in ("gc-mat", "gc-trk") if divides(run, task, "cue")):
        by_arm = rows_by_arm(scored(result_rows(run, task, "cue")))
        of_task = zip(level_lines(by_arm, CUES, _cell_with_size), by_arm.values(), strict=True)
        lines += [[task, *line, hardest(levels)] for line, levels in of_task]
        arms = examined(run, list(by_arm))
        arms = [arm for arm in arms if arm.condition == "vanilla"] or arms  # more could not be distinguished
        series = {arm_name(*arm): [by_arm[arm].get(cue) for cue in CUES] for arm in arms}
        panels.append(LevelPanel(task, CUES, series, [PAIR_CHANCE] * len(CUES)))
    note = (
        "Percent of pairs right by kind of edit, with 95 % interval and the number of pairs; chance is 25. A cue is "
        "called the hardest only if it is below every other one by a difference whose 95 % interval excludes 0, and "
        f"every cue has at least {MIN_PAIRS} pairs. The paper finds swap hardest in Mat and add/remove in Trk. "
        "Questions with an unknown kind of edit (most of the released ones) are left out."
    )
    names = ["task", "subject", "condition", *CUES, "hardest"]
    yield from table_section("Accuracy by cue (Finding II)", note, names, lines, "cues", partial(level_figure, panels))


def _cell_with_size(row: Any) -> str:
    return DASH if row is None else f"{result_cell(row)}, n {row.n}"


def hardest(levels: Mapping[str, Any]) -> str:
    """The cue that is clearly below all others, else a dash: also with one cue, or if a cue has too few pairs.

    Otherwise two of two right against none of two would count as clear.
    """
    if len(levels) < 2 or min(row.n for row in levels.values()) < MIN_PAIRS:
        return DASH
    lowest = min(levels, key=lambda name: float(levels[name].value))
    clear = all(difference_of_shares(row, levels[lowest])[1] > 0 for name, row in levels.items() if name != lowest)
    return lowest if clear else DASH


def difference_of_shares(first: Any, second: Any) -> tuple[float, float, float]:
    """(difference, low, high) of two independent shares, first minus second, from their own intervals.

    Zou and Donner 2008, Statistics in Medicine 27; with Wilson's intervals it is Newcombe's (1998). Each interval
    accounts for its clusters, and none has zero width.
    """
    return unpaired_difference((first.value, first.low, first.high), (second.value, second.low, second.high))


# Finding III: people and objects


def families(run: Run) -> Iterator[ReportSection]:
    """PC minus OC in the three tasks that both families have (Finding III)."""
    lines = []
    for task in ("cpr", "cnt", "grp"):
        objects, people = (row_by_arm(result_rows(run, f"{family}-{task}")) for family in ("oc", "pc"))
        for arm, first in people.items():
            second = objects.get(arm)
            if second is not None and first.n and second.n and not math.isnan(first.low + second.low):
                gap = points(*difference_of_shares(first, second))
                lines.append([task, *arm, result_cell(first), result_cell(second), gap])
    printed = listing([f"{gap} ({task})" for task, gap in PEOPLE_ABOVE_OBJECTS.items()])
    note = (
        "Percent with 95 % interval, and people minus objects in points. The two samples are independent, so the "
        "interval of the difference is computed from theirs (Zou and Donner 2008). Questions about people and objects "
        "differ in more than their content: cnt has another mix of lengths, and so another chance level. "
        f"The paper prints {printed} as the mean of {listing(FINDING_III_MODELS)}."
    )
    names = ["task", "subject", "condition", "people (pc)", "objects (oc)", "difference"]
    yield from table_section("People and objects (Finding III)", note, names, lines, "people-objects")
