"""The report's sections for VLM2-Bench: the paper's tables and findings, made from our runs.

Printed numbers (`published.py`) are shown by `--compare published`; here only in a separate section, and as the printed
chance levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, chance_range, listing, points, result_cell
from snellen.analysis.run_view import (
    divides,
    result_rows,
    row_by_arm,
    rows_by_arm,
    scored,
    simulated_last,
    units_by_task,
)
from snellen.analysis.section import ReportSection, Run, has_paper_images
from snellen.suites.vlm2_bench.items import CUE_BY_EDIT
from snellen.suites.vlm2_bench.published import (
    CAMERA_READY,
    CAMERA_READY_AVERAGES,
    CHANCE,
    COLUMNS,
    FINDING_III_MODELS,
    HUMAN,
    PEOPLE_ABOVE_OBJECTS,
    TABLE_1,
    TASK_ORDER,
    Row,
    mean_of,
)
from snellen.suites.vlm2_bench.report import (
    figures,
    judge_report,
    methods_compared,
    refusals_and_names,
    response_bias,
)
from snellen.suites.vlm2_bench.report.methods_compared import Units
from snellen.suites.vlm2_bench.report.set_statistics import set_statistics
from snellen.suites.vlm2_bench.report.task_means import below_people, mean_of_tasks

IMAGE_TASKS = 8
"""Number of `COLUMNS` before the column of open questions (VID)."""
MIN_PAIRS = 5
"""Minimum pairs of every cue for one to be called the hardest."""
CUES = tuple(dict.fromkeys(CUE_BY_EDIT.values()))


def sections(run: Run) -> Iterator[ReportSection]:
    """The sections for which the run has numbers: Table 1, Figure 5, findings, then our own."""
    units = units_by_task(run, TASK_ORDER)
    yield from table_1(run, units)
    yield from below_people(units)
    yield from methods_compared.sections(run, units)
    yield from cues(run)
    yield from families(run)
    yield from response_bias.sections(run)
    yield from refusals_and_names.sections(run)
    yield from judge_report.sections(run)
    yield from set_statistics(run)
    yield as_printed(has_paper_images(run))


# Table 1


def table_1(run: Run, units: Units) -> Iterator[ReportSection]:
    """Subjects by tasks with both averages (Table 1), percent with interval."""
    rows = {task: result_rows(run, task) for task in TASK_ORDER}
    tasks = [task for task in TASK_ORDER if not scored(rows[task]).empty]
    if not tasks:
        return
    by_arm = {task: row_by_arm(rows[task]) for task in tasks}
    lines = []
    # Each task puts simulated subjects last, but a subject that answered only later tasks would follow them.
    for arm in simulated_last(dict.fromkeys(arm for task in tasks for arm, row in by_arm[task].items() if row.n > 0)):
        means = [mean_of_tasks(units, arm, COLUMNS[:count]) for count in (IMAGE_TASKS, len(COLUMNS))]
        lines.append([*arm, *means, *(result_cell(by_arm[task].get(arm)) for task in tasks)])
    lines += [_computed_chance(rows, tasks), *_blind_lines(rows, tasks), _printed_chance(tasks)]
    names = ["subject", "condition", "mean of the eight", "mean of all nine", *tasks]
    frame = pd.DataFrame(lines, columns=names)
    yield ReportSection("Tasks and their averages (Table 1)", _table_note(rows, tasks), frame, None, "table-1")


def _computed_chance(rows: Mapping[str, pd.DataFrame], tasks: Sequence[str]) -> list[str]:
    chances = {task: scored(rows[task])["chance"] for task in tasks}
    image = [chances[task].mean() for task in COLUMNS[:IMAGE_TASKS] if task in chances]
    mean = f"{100 * float(np.mean(image)):.1f}" if len(image) == IMAGE_TASKS else DASH
    return ["(chance of guesses)", "", mean, DASH, *(chance_range(chances[task]) for task in tasks)]


def _blind_lines(rows: Mapping[str, pd.DataFrame], tasks: Sequence[str]) -> list[list[str]]:
    """The blind baseline of each task; no line if it was not measured."""
    scores = {task: scored(rows[task])["blind"] for task in tasks}
    if all(column.isna().all() for column in scores.values()):
        return []
    return [["(blind)", "", DASH, DASH, *(chance_range(scores[task]) for task in tasks)]]


def _printed_chance(tasks: Sequence[str]) -> list[str]:
    printed = dict(zip(COLUMNS, CHANCE.scores, strict=True))
    cells = [_two_decimals(printed.get(task)) for task in tasks]
    return ["(chance as printed)", "", _two_decimals(CHANCE.average), DASH, *cells]


def _two_decimals(number: float | None) -> str:
    return DASH if number is None else f"{number:.2f}"


def _table_note(rows: Mapping[str, pd.DataFrame], tasks: Sequence[str]) -> str:
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
    judges = {task: sorted(set(rows[task]["judge"]) - {""}) for task in tasks if task.endswith("vid")}
    for task, names in judges.items():
        if names:
            sentences.append(
                f"{task} was judged by {names[0] if len(names) == 1 else 'several; the first judge counts'}."
            )
    sentences.append(
        "Chance: the paper lets one guess decide both statements of cpr (50); two independent guesses get 25. That of "
        "cnt follows from the numbers of images of the questions asked."
    )
    return " ".join(sentences)


def as_printed(paper_images: bool = False) -> ReportSection:
    """Table 1 as printed, with the means of eight and of nine columns. `paper_images`: the items are the paper's."""
    camera = {f"{name} (camera-ready)": row for name, row in CAMERA_READY.items()}
    lines = []
    for name, row in {"Chance": CHANCE, "Human": HUMAN, **TABLE_1, **camera}.items():
        means = [_printed_mean(row, count) for count in (IMAGE_TASKS, len(COLUMNS))]
        later = CAMERA_READY_AVERAGES.get(name)
        lines.append([name, *map(_two_decimals, row.scores), _two_decimals(row.average), *means, _two_decimals(later)])
    note = (
        "Percent as printed. The footnote of Table 1 excludes VID from its averages, but in the preprint those of "
        "models and people are means of nine columns; only that of chance, which has no ninth, is a mean of eight. The "
        "camera-ready prints means of eight. For people it has 91.00 in oc-grp and so 94.44. These numbers are from "
        f"{'other' if paper_images else 'other images and'} subjects than those examined here."
    )
    means = ["mean of eight", "mean of nine"]
    names = ["", *COLUMNS, "printed average", *means, "average in the camera-ready"]
    frame = pd.DataFrame(lines, columns=names)
    return ReportSection(
        "Table 1 as printed, its averages recomputed", note, frame, None, "table-1-printed", detail=True
    )


def _printed_mean(row: Row, columns: int) -> str:
    if None in row.scores[:columns]:
        return DASH
    # Means of numbers with two decimals may end in 5, which a float may round down: 48.575 is printed as 48.58.
    return f"{mean_of(row.scores, columns) + 1e-9:.2f}"


# Finding II: errors by cue


def cues(run: Run) -> Iterator[ReportSection]:
    """Pair accuracy of Mat and Trk by the kind of edit (Finding II)."""
    lines, series = [], []
    for task in ("gc-mat", "gc-trk"):
        if not divides(run, task, "cue"):
            continue
        for arm, levels in rows_by_arm(scored(result_rows(run, task, "cue"))).items():
            cells = [_cell_with_size(levels.get(cue)) for cue in CUES]
            lines.append([task, *arm, *cells, hardest(levels)])
            series.append((task, arm, [levels.get(cue) for cue in CUES]))
    if not lines:
        return
    note = (
        "Percent of pairs right by kind of edit, with 95 % interval and the number of pairs; chance is 25. A cue is "
        "called the hardest only if it is below every other one by a difference whose 95 % interval excludes 0, and "
        f"every cue has at least {MIN_PAIRS} pairs. The paper finds swap hardest in Mat and add/remove in Trk. "
        "Questions with an unknown kind of edit (most of the released ones) are left out."
    )
    frame = pd.DataFrame(lines, columns=["task", "subject", "condition", *CUES, "hardest"])
    figure = partial(figures.by_cue, series, CUES)
    yield ReportSection("Accuracy by cue (Finding II)", note, frame, figure, "cues")


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
    gap = first.value - second.value
    low = gap - np.hypot(first.value - first.low, second.high - second.value)
    high = gap + np.hypot(first.high - first.value, second.value - second.low)
    return float(gap), float(low), float(high)


# Finding III: people and objects


def families(run: Run) -> Iterator[ReportSection]:
    """PC minus OC in the three tasks that both families have (Finding III)."""
    lines = []
    for task in ("cpr", "cnt", "grp"):
        objects, people = (row_by_arm(result_rows(run, f"{family}-{task}")) for family in ("oc", "pc"))
        for arm, first in people.items():
            second = objects.get(arm)
            if second is None or not first.n or not second.n or math.isnan(first.low) or math.isnan(second.low):
                continue
            lines.append(
                [task, *arm, result_cell(first), result_cell(second), points(*difference_of_shares(first, second))]
            )
    if not lines:
        return
    printed = listing([f"{gap} ({task})" for task, gap in PEOPLE_ABOVE_OBJECTS.items()])
    note = (
        "Percent with 95 % interval, and people minus objects in points. The two samples are independent, so the "
        "interval of the difference is computed from theirs (Zou and Donner 2008). Questions about people and objects "
        "differ in more than their content: cnt has another mix of lengths, and so another chance level. "
        f"The paper prints {printed} as the mean of {listing(FINDING_III_MODELS)}."
    )
    frame = pd.DataFrame(lines, columns=["task", "subject", "condition", "people (pc)", "objects (oc)", "difference"])
    yield ReportSection("People and objects (Finding III)", note, frame, None, "people-objects")
