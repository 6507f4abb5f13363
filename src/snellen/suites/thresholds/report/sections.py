"""The report's sections of thresholds: the acuity chart, thresholds in words, functions, contrast, errors by place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH
from snellen.analysis.plots import MAX_SERIES
from snellen.analysis.run_view import (
    ReportArm,
    arm_name,
    examined,
    main_arms,
    of_first_judge,
    result_rows,
    row_by_arm,
    score_rows,
)
from snellen.analysis.section import ReportSection, Run, once_a_run, protocol_of
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD
from snellen.core.seeds import stream
from snellen.scoring.psychometric import credible_ends, deviance_p, posterior
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.contrast import CONTRAST, FREQUENCIES
from snellen.suites.thresholds.measures.measure import PLACES
from snellen.suites.thresholds.report import figures
from snellen.suites.thresholds.scoring import Fitted, amount, fitted, with_ends


class Measured(NamedTuple):
    """The threshold of one arm in one task: its state, its bounds in the task's unit, and the fit behind them."""

    task: str
    name: str
    state: str
    value: float
    low: float
    high: float
    result: Fitted


@once_a_run
def thresholds(run: Run) -> dict[str, list[Measured]]:
    """The thresholds of examined subjects under the main condition by task, in the order of tasks and arms."""
    arms, by_task = [ReportArm(arm.subject, arm.condition) for arm in examined(main_arms(run))], {}
    if protocol_of(run) != "strict":
        return {}
    for task in MEASURES:
        rows, scores = row_by_arm(result_rows(run, task)), score_rows(run, task)
        entries = []
        for arm in arms:
            part = scores[(scores["subject"] == arm.subject) & (scores["condition"] == arm.condition)]
            part = of_first_judge(part).dropna(subset="value")
            if len(part) and arm in rows:
                items = [run.items.by_id[name] for name in part["item_id"]]
                row, result = rows[arm], fitted(items, part["value"].tolist())
                entries.append(Measured(task, arm_name(*arm), row.state, row.value, row.low, row.high, result))
        if entries:
            by_task[task] = entries
    return by_task


def sections(run: Run) -> Iterator[ReportSection]:
    """The sections for which the run has answers."""
    by_task = thresholds(run)
    if not by_task:
        return
    if "acuity" in by_task:
        yield _chart(by_task["acuity"])
    yield _in_words(by_task)
    yield _functions(by_task)
    yield from _sensitivity(by_task.get("contrast", []))
    yield from _places(run)


def _chart(entries: list[Measured]) -> ReportSection:
    note = (
        "The smallest gap of a Landolt ring whose direction a subject reads half of the time, beyond guessing. Rings "
        "are drawn to scale with each other; the canvas has the number of pixels given in the table. Bars are 95 % "
        "credible intervals. Subjects that did not understand the question have none."
    )
    side = entries[0].result.side
    shown = [entry for entry in entries if entry.state != NOT_UNDERSTOOD]
    figure = partial(figures.chart, shown, MEASURES["acuity"].levels_on(side)) if shown else None
    rows = [[entry.name, f"{side} px", _cell(entry), _share(entry, side)] for entry in entries]
    table = pd.DataFrame(rows, columns=["subject", "canvas", "gap", "gap as a share of the canvas"])
    return ReportSection("Acuity chart", note, table, figure, "acuity-chart")


def _share(entry: Measured, side: int) -> str:
    return f"1/{side / entry.value:.0f}" if entry.state == MEASURED else DASH


def _cell(entry: Measured) -> str:
    """The threshold as a text, or the state in its place."""
    measure = MEASURES[entry.task]
    if entry.state == MEASURED:
        return with_ends(entry.value, entry.low, entry.high, measure)
    sign = {BELOW: "less than ", ABOVE: "more than "}.get(entry.state)
    return f"{sign}{amount(entry.value, measure)}" if sign else entry.state


def in_words(entry: Measured) -> str:
    """What a threshold says, as a sentence without its subject."""
    if entry.state in (MEASURED, BELOW, ABOVE):
        return MEASURES[entry.task].sentence.format(value=_cell(entry))
    right, controls = int(entry.result.answers.right[-1]), int(entry.result.answers.counts[-1])
    return f"did not understand the question: {right} of {controls} easy questions right"


def _in_words(by_task: dict[str, list[Measured]]) -> ReportSection:
    note = (
        "A threshold is the level at which half of the answers that are neither guesses nor lapses are right. Slope is "
        "that of the psychometric function per log10 unit; lapses are wrong answers to easy questions. Fit is the "
        "share of simulated observers with this function whose answers fit it no better; below 0.01 it is wrong."
    )
    rows = []
    for task, entries in by_task.items():
        for entry in entries:
            answers, fit = entry.result.answers, entry.result.fit
            is_fitted = entry.state == MEASURED
            p = deviance_p(entry.result.grid, answers, stream("goodness of fit", task)) if is_fitted else float("nan")
            rows.append(
                [
                    task,
                    entry.name,
                    in_words(entry),
                    f"{int(answers.counts[:-1].sum())}",
                    f"{int(answers.right[-1])} of {int(answers.counts[-1])}",
                    f"{fit.slope:.1f}" if is_fitted else DASH,
                    f"{100 * fit.lapse:.0f} %" if is_fitted else DASH,
                    f"{p:.2f}" if is_fitted else DASH,
                ]
            )
    names = ["task", "subject", "in words", "answers", "easy questions right", "slope", "lapses", "fit"]
    return ReportSection("Thresholds in words", note, pd.DataFrame(rows, columns=names), None, "in-words")


def _functions(by_task: dict[str, list[Measured]]) -> ReportSection:
    note = (
        "Share of right answers by level, easy levels on the right. The area of a dot is the number of answers; the "
        "dashed line is the guess rate. The bar at the foot is the threshold with its 95 % credible interval. Levels "
        "were chosen by the answers before, so most answers are near the threshold. Of contrast the function is that "
        "of the spatial frequency that is seen best, and dots are answers at it."
    )
    panels = [
        figures.Panel(task, MEASURES[task], [(e.name, e.state, e.value, e.low, e.high, *curve(e)) for e in shown])
        for task, entries in by_task.items()
        if (shown := [entry for entry in entries if entry.state != NOT_UNDERSTOOD][:MAX_SERIES])
    ]
    figure = partial(figures.functions, panels) if panels else None
    cells = {(task, entry.name): _cell(entry) for task, entries in by_task.items() for entry in entries}
    names = list(dict.fromkeys(name for _, name in cells))
    rows = [[task, *(cells.get((task, name), DASH) for name in names)] for task in by_task]
    table = pd.DataFrame(rows, columns=["task", *names])
    return ReportSection("Psychometric functions", note, table, figure, "functions")


def curve(entry: Measured) -> tuple[figures.Numbers, figures.Numbers, figures.Numbers, figures.Numbers]:
    """Levels in log10 units, and at each the answers, the share right and the fitted probability.

    Of contrast they are those at the frequency that is seen best.
    """
    grid, answers = entry.result.grid, entry.result.answers
    weights = posterior(grid, answers)
    count = len(CONTRAST.levels)
    variant = 0 if grid.by_frequency is None else int(np.argmin(grid.by_frequency @ weights))
    part = slice(variant * count, (variant + 1) * count)
    counts, right = answers.counts[part], answers.right[part]
    return (
        np.log10(MEASURES[entry.task].levels_on(entry.result.side)),
        counts,
        right / np.maximum(counts, 1),
        grid.right[part] @ weights,
    )


def _sensitivity(entries: list[Measured]) -> Iterator[ReportSection]:
    note = (
        "The smallest Michelson contrast of stripes that is noticed, by their spatial frequency in cycles per pixel, "
        "with 95 % credible intervals. One function of three parameters is fitted to all answers, so thresholds at "
        "neighbouring frequencies support each other."
    )
    rows = []
    for entry in entries:
        if entry.state == NOT_UNDERSTOOD or entry.result.grid.by_frequency is None:
            continue
        weights = posterior(entry.result.grid, entry.result.answers)
        cells = []
        for values in entry.result.grid.by_frequency:
            ends = (float(values @ weights), *credible_ends(np.round(values, 6), weights))
            value, low, high = (float(10**end) for end in ends)
            least, most = CONTRAST.levels[0], CONTRAST.levels[-1]
            state = BELOW if value < least else ABOVE if value > most else MEASURED
            bound = {BELOW: least, ABOVE: most}.get(state, value)
            cells.append(_cell(Measured(CONTRAST.task, entry.name, state, bound, low, high, entry.result)))
        rows.append([entry.name, *cells])
    table = pd.DataFrame(rows, columns=["subject", *(f"{name} cycles/px" for name in FREQUENCIES)])
    if rows:
        yield ReportSection("Contrast by spatial frequency", note, table, None, "contrast")


def _places(run: Run) -> Iterator[ReportSection]:
    """Wrong answers by place, over all tasks that ask which patch is odd."""
    tasks = [task for task, measure in MEASURES.items() if measure.answers == PLACES]
    rows = []
    for arm in examined(main_arms(run)):
        named = dict.fromkeys(PLACES, 0)
        for task in tasks:
            scores = score_rows(run, task)
            part = scores[(scores["subject"] == arm.subject) & (scores["condition"] == arm.condition)]
            for prediction in part.loc[part["value"] == 1.0, "prediction"]:
                answer = json.loads(prediction)
                if answer in named:
                    named[answer] += 1
        if total := sum(named.values()):
            cells = [f"{100 * count / total:.0f} %" for count in named.values()]
            rows.append([arm_name(arm.subject, arm.condition), f"{total}", *cells])
    if rows:
        note = "Which patch wrong answers named. A subject without a preferred place names each in 11 % of them."
        table = pd.DataFrame(rows, columns=["subject", "wrong answers", *PLACES])
        yield ReportSection("Wrong answers by place", note, table, None, "places")
