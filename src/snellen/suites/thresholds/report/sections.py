"""The report's sections of thresholds: stimuli, thresholds in words, functions, contrast, errors by place."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.grading.rows import ResultRow
from snellen.analysis.tables.cells import DASH, decimal_interval
from snellen.analysis.tables.pivot import arm_parts, arm_scores, table_section
from snellen.analysis.tables.plots import MAX_SERIES, MUTED, panel_figure, plain_axes, series_appearance, two_lines
from snellen.analysis.tables.run_view import (
    ReportArm,
    arm_name,
    examined,
    main_arms,
    result_rows,
    row_by_arm,
    rows_by_arm,
    score_rows,
)
from snellen.analysis.tables.section import ReportSection, Run, once_a_run, protocol_of
from snellen.core.response import Role
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD, Measurement
from snellen.scoring.power import NORMAL_END
from snellen.suites.thresholds import scoring
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.acuity import ACUITY
from snellen.suites.thresholds.measures.contrast import CONTRAST, FREQUENCIES
from snellen.suites.thresholds.measures.measure import PLACES, Measure
from snellen.suites.thresholds.report import figures
from snellen.suites.thresholds.report.people import NOT_MEASURABLE, angles, medians, profile
from snellen.suites.thresholds.report.pointing import pointing
from snellen.suites.thresholds.report.stimuli import at_threshold, best_variant
from snellen.suites.thresholds.scoring import amount, digits, estimate_text, point_and_spread
from snellen_sight.psychometric import credible_ends, posterior

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ArmThreshold(NamedTuple):
    """The threshold of one arm in one task: what it is, its bounds in the task's unit, and the fit behind them."""

    task: str
    name: str
    reason: str
    value: float
    low: float
    high: float
    result: scoring.Fitted
    role: Role


@once_a_run
def thresholds_of(run: Run) -> dict[str, list[ArmThreshold]]:
    """The thresholds of examined subjects under the main condition by task, in the order of tasks and arms."""
    roles, by_task = {ReportArm(a.subject, a.condition): a.role for a in examined(run, main_arms(run))}, {}
    if protocol_of(run) != "strict":
        return {}
    for task in MEASURES:
        rows, thresholds = row_by_arm(result_rows(run, task)), []
        for arm, role in roles.items():
            part = arm_scores(run, task, arm)
            if len(part) and arm in rows:
                items = [run.items.by_id[name] for name in part["item_id"]]
                row, result = rows[arm], scoring.fitted(items, part["value"].tolist())
                numbers = row.grade.threshold, row.value, row.low, row.high
                thresholds.append(ArmThreshold(task, arm_name(*arm), *numbers, result, role))
        if thresholds:
            by_task[task] = thresholds
    return by_task


def sections(run: Run) -> Iterator[ReportSection]:
    """The sections for which the run has answers."""
    by_task = thresholds_of(run)
    if not by_task:
        return
    yield from at_threshold(by_task)
    if "acuity" in by_task:
        yield from canvases(run)
    yield from angles(run)
    yield from profile(by_task, medians(run))
    yield from _in_words(by_task)
    yield from _functions({task: of_task for task, of_task in by_task.items() if not MEASURES[task].is_judgement})
    yield from _judgements(by_task)
    if "pointing" in by_task:
        yield from pointing(run)
    yield from _sensitivity(by_task.get("contrast", []))
    yield from retest(run)
    yield from _places(run)


# Canvases


class Exponent(NamedTuple):
    """The exponent of a power function of the canvas that the threshold in pixels is, with its 95 % interval."""

    value: float
    low: float
    high: float


def exponent(thresholds: Mapping[int, Sequence[float]]) -> Exponent | None:
    """The exponent from (value, low, high) in pixels by canvas, weighted by the widths of intervals in log units.

    0 if the threshold is constant in pixels, 1 if it is a constant share of the canvas. None for fewer than two.
    """
    if len(thresholds) < 2:
        return None
    x = np.log(list(thresholds))
    y, low, high = np.log(np.array(list(thresholds.values()), np.float64)).T
    weights = (2 * NORMAL_END / (high - low)) ** 2
    x = x - np.average(x, weights=weights)
    precision = float(weights @ x**2)
    value, half = float(weights @ (x * y)) / precision, NORMAL_END / math.sqrt(precision)
    return Exponent(value, value - half, value + half)


def verdict(power: Exponent | None) -> str:
    """What an exponent says about the images."""
    if power is None:
        return "needs two thresholds or more"
    is_native, is_fixed = (power.low <= end <= power.high for end in (0, 1))
    if is_native and is_fixed:
        return "cannot tell: the intervals allow a constant gap in pixels and a constant share of the canvas"
    if is_native:
        return "needs the same gap in pixels on every canvas: pixels arrive as sent"
    if is_fixed:
        return "needs the same share of every canvas: images are made a fixed size"
    if 0 < power.value < 1:
        return "needs a larger gap on a larger canvas, but not in proportion: only large images are made smaller"
    return "is neither constant in pixels nor in shares of the canvas"


def canvases(run: Run) -> Iterator[ReportSection]:
    """The section of a run on several canvases."""
    rows = result_rows(run, ACUITY.task, "canvas")
    sides = sorted(map(int, rows["level"].unique())) if len(rows) else []
    if len(sides) < 2:
        return
    by_arm, lines, series = rows_by_arm(rows), [], list[tuple[str, Mapping[int, Sequence[float]]]]()
    for arm in examined(run, main_arms(run)):
        levels = by_arm.get(ReportArm(arm.subject, arm.condition), {})
        of_sides = {side: row for side in sides if (row := levels.get(str(side))) is not None}
        measured = {side: row for side, row in of_sides.items() if row.grade.threshold == MEASURED}
        thresholds = {side: (row.value, row.low, row.high) for side, row in measured.items()}
        power, name = exponent(thresholds), arm_name(arm.subject, arm.condition)
        cells = [_row_text(of_sides[side]) if side in of_sides else DASH for side in sides]
        lines.append([name, *cells, DASH if power is None else decimal_interval(*power, 2), verdict(power)])
        if thresholds:
            series.append((name, thresholds))
    note = (
        "The smallest gap of a ring on canvases of several sides, with 95 % credible intervals. A gap that is constant "
        "in pixels (the dashed line) means that pixels arrive as sent; one that grows like the canvas (the dotted "
        "line) means that images of every size are made one size. The exponent is the slope of the logarithm of the "
        "gap against that of the side: 0 on the dashed line, 1 on the dotted one."
    )
    names = ["subject", *(f"{side} px" for side in sides), "exponent", "in words"]
    figure = partial(draw_canvases, series[:MAX_SERIES], sides) if series else None
    yield from table_section("Canvas against threshold", note, names, lines, "canvases", figure)


def draw_canvases(series: Sequence[tuple[str, Any]], sides: Sequence[int]) -> Figure:
    """Thresholds with intervals by the side of the canvas, and lines of constant pixels and of constant shares."""
    figure, (axes,) = panel_figure(1, (6.4, 4.2))
    start = float(np.exp(np.mean([np.log(thresholds[min(thresholds)][0]) for _, thresholds in series])))
    ends = np.array([sides[0], sides[-1]], np.float64)
    axes.plot(ends, [start, start], color=MUTED, linestyle="--", linewidth=0.9)
    axes.plot(ends, start * ends / sides[0], color=MUTED, linestyle=":", linewidth=1.1)
    for index, (name, thresholds) in enumerate(series):
        x = np.array(list(thresholds), np.float64) * 1.03 ** (index - (len(series) - 1) / 2)
        value, low, high = np.array(list(thresholds.values()), np.float64).T
        appearance = series_appearance(index)
        axes.errorbar(x, value, (value - low, high - value), linewidth=1.2, label=two_lines(name, 40), **appearance)
    axes.set(xscale="log", yscale="log", xlabel="side of the canvas", ylabel="smallest gap")
    axes.set_xticks(list(sides), [f"{side} px" for side in sides])
    axes.minorticks_off()
    ticks = [2.0**power for power in range(-2, 9) if axes.get_ylim()[0] <= 2.0**power <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [f"{tick:g} px" for tick in ticks])
    plain_axes(axes)
    figure.legend(loc="outside lower left", fontsize=8.5)
    return figure


def _row_text(row: ResultRow) -> str:
    return estimate_text(Measurement(row.value, row.low, row.high, row.interval, row.grade.threshold, ""), ACUITY)


def _cell(threshold: ArmThreshold) -> str:
    """The threshold as a text, or the reason for none."""
    return estimate_text(threshold, MEASURES[threshold.task])


def in_words(threshold: ArmThreshold) -> str:
    """What a threshold says, as a sentence without its subject."""
    if MEASURES[threshold.task].is_judgement and threshold.reason != NOT_UNDERSTOOD:
        return _judged_in_words(threshold)
    if threshold.reason == BELOW and threshold.role == "person" and MEASURES[threshold.task].unit == "px":
        return f"{NOT_MEASURABLE}: reads {amount(threshold.value, MEASURES[threshold.task])}"
    if threshold.reason in (MEASURED, BELOW, ABOVE):
        return MEASURES[threshold.task].sentence.format(value=_cell(threshold))
    right, controls = int(threshold.result.answers.right[-1]), int(threshold.result.answers.counts[-1])
    return f"did not understand the question: {right} of {controls} easy questions right"


def _judged_in_words(threshold: ArmThreshold) -> str:
    measure = MEASURES[threshold.task]
    point, spread = point_and_spread(measure, threshold.result)
    is_negative = point.value < 0
    value, low, high = (-point.value, -point.high, -point.low) if is_negative else (point.value, point.low, point.high)
    if point.reason != MEASURED:
        text = f"more than {amount(value, measure)}"
    else:
        text = scoring.with_ends(value, low, high, measure) + ", which is no clear bias" * (low <= 0 <= high)
    sentence = (measure.negative_sentence if is_negative else measure.sentence).format(value=text)
    return f"{sentence}; spread {estimate_text(spread, measure)}"


def _judgements(by_task: dict[str, list[ArmThreshold]]) -> Iterator[ReportSection]:
    note = (
        "Share of yes by level, and the fitted functions. Yes and no are equally frequent at the point of subjective "
        "equality: it differs from 0 if the criterion of a subject is shifted (bias). The spread is the standard "
        "deviation of what is judged: it is large if a subject is imprecise. Bars at the foot are points with 95 % "
        "credible intervals."
    )
    rows, panels = [], []
    for task, thresholds in by_task.items():
        measure = MEASURES[task]
        if not measure.is_judgement:
            continue
        curves = []
        for threshold in thresholds:
            point = spread = DASH
            if threshold.reason != NOT_UNDERSTOOD:
                both = point_and_spread(measure, threshold.result)
                point, spread = (estimate_text(estimate, measure) for estimate in both)
                curves.append(curve_of(threshold, MEASURED, both[0]))
            rows.append([task, threshold.name, point, spread, in_words(threshold)])
        if curves:
            panels.append(figures.FunctionPanel(task, measure, curves[:MAX_SERIES]))
    names = ["task", "subject", "point of subjective equality", "spread", "in words"]
    figure = partial(figures.functions, panels) if panels else None
    yield from table_section("Bias and precision", note, names, rows, "bias", figure)


def _in_words(by_task: dict[str, list[ArmThreshold]]) -> Iterator[ReportSection]:
    note = (
        "A threshold is the level at which half of the answers that are neither guesses nor lapses are right. Slope is "
        "that of the psychometric function per log10 unit; lapses are wrong answers to easy questions. Fit is the "
        "share of simulated observers with this function whose answers fit it no better; below 0.01 it is wrong. Of "
        "judgements the point of subjective equality and the spread are given, and no slope."
    )
    rows = []
    for task, thresholds in by_task.items():
        for threshold in thresholds:
            answers, fit = threshold.result.answers, threshold.result.fit
            is_fitted = threshold.reason == MEASURED
            easy = f"{int(answers.right[-1])} of {int(answers.counts[-1])}"
            slope = f"{fit.slope:.1f}" if is_fitted and not MEASURES[task].is_judgement else DASH
            lapses = f"{100 * fit.lapse:.0f} %" if is_fitted else DASH
            p = f"{scoring.goodness_of_fit(task, threshold.result):.2f}" if is_fitted else DASH
            count = f"{int(answers.counts[:-1].sum())}"
            rows.append([task, threshold.name, in_words(threshold), count, easy, slope, lapses, p])
    names = ["task", "subject", "in words", "answers", "easy questions right", "slope", "lapses", "fit"]
    yield from table_section("Thresholds in words", note, names, rows, "in-words")


def _functions(by_task: dict[str, list[ArmThreshold]]) -> Iterator[ReportSection]:
    note = (
        "Share of right answers by level, easy levels on the right. The area of a dot is the number of answers; the "
        "dashed line is the guess rate. The bar at the foot is the threshold with its 95 % credible interval. Levels "
        "were chosen by the answers before, so most answers are near the threshold. Of contrast the function is that "
        "of the spatial frequency that is seen best, and dots are answers at it."
    )
    panels = [
        figures.FunctionPanel(task, MEASURES[task], [curve_of(each, each.reason, each) for each in plotted])
        for task, thresholds in by_task.items()
        if (plotted := [threshold for threshold in thresholds if threshold.reason != NOT_UNDERSTOOD][:MAX_SERIES])
    ]
    figure = partial(figures.functions, panels) if panels else None
    cells = {task: {threshold.name: _cell(threshold) for threshold in of_task} for task, of_task in by_task.items()}
    names = list(dict.fromkeys(name for by_name in cells.values() for name in by_name))
    rows = [[task, *(by_name.get(name, DASH) for name in names)] for task, by_name in cells.items()]
    yield from table_section("Psychometric functions", note, ["task", *names], rows, "functions", figure)


def curve_of(threshold: ArmThreshold, reason: str, estimate: Any) -> figures.Curve:
    """The curve of a subject, with a value that was estimated; of contrast at the frequency that is seen best."""
    grid, answers = threshold.result.functions, threshold.result.answers
    weights, count, variant = posterior(grid, answers), len(CONTRAST.levels), best_variant(threshold)
    part = slice(variant * count, (variant + 1) * count)
    levels = np.array(MEASURES[threshold.task].positions_on(threshold.result.side))
    shares = answers.right[part] / np.maximum(answers.counts[part], 1)
    ends = estimate.value, estimate.low, estimate.high
    return figures.Curve(
        threshold.name, reason, *ends, levels, answers.counts[part], shares, grid.right[part] @ weights
    )


def _sensitivity(thresholds: list[ArmThreshold]) -> Iterator[ReportSection]:
    note = (
        "The smallest Michelson contrast of stripes that is noticed, by their spatial frequency in cycles per pixel, "
        "with 95 % credible intervals. One function of three parameters is fitted to all answers, so thresholds at "
        "neighbouring frequencies support each other."
    )
    rows = []
    for threshold in thresholds:
        if threshold.reason == NOT_UNDERSTOOD or threshold.result.functions.by_frequency is None:
            continue
        weights = posterior(threshold.result.functions, threshold.result.answers)
        cells = []
        for values in threshold.result.functions.by_frequency:
            ends = (float(values @ weights), *credible_ends(np.round(values, 6), weights))
            value, low, high = (float(10**end) for end in ends)
            bound = min(max(value, CONTRAST.levels[0]), CONTRAST.levels[-1])
            reason = BELOW if value < bound else ABOVE if value > bound else MEASURED
            cells.append(estimate_text(Measurement(bound, low, high, "", reason, ""), CONTRAST))
        rows.append([threshold.name, *cells])
    names = ["subject", *(f"{name} cycles/px" for name in FREQUENCIES)]
    yield from table_section("Contrast by spatial frequency", note, names, rows, "contrast")


# Repeats and places


def retest(run: Run) -> Iterator[ReportSection]:
    """The section of a run with repeats; people of a study are none."""
    run, rows = run.unpooled or run, []
    for task, measure in MEASURES.items():
        for arm in examined(run, main_arms(run)):
            part = arm_scores(run, task, arm)
            repeats = sorted(part["repeat"].unique())[:2]
            if len(repeats) == 2:
                both = [_measured(run, measure, part[part["repeat"] == repeat]) for repeat in repeats]
                cells = [estimate_text(result, measure) for result in both]
                rows.append([task, arm_name(arm.subject, arm.condition), *cells, *ratio(*both)])
    note = (
        "Thresholds of the first two repeats, each with a 95 % credible interval, and their ratio, whose interval "
        "follows from both. A ratio of 1 outside it means that the subject changed from one to the other. A subject "
        "that learns has other training items in the second. Without noise of its own, any other gives the same "
        "answers again, so that its ratio is 1 and says nothing."
    )
    names = ["task", "subject", "first", "second", "ratio", "in words"]
    yield from table_section("Test and retest", note, names, rows, "retest")


def _measured(run: Run, measure: Measure, part: pd.DataFrame) -> Measurement:
    return scoring.threshold(measure, [run.items.by_id[name] for name in part["item_id"]], part["value"].tolist())


def ratio(test: Measurement, again: Measurement) -> tuple[str, str]:
    """The ratio of two thresholds with its 95 % interval, from the widths of both in log units, and what it says."""
    if not test.reason == again.reason == MEASURED:
        return DASH, "not estimable"
    step = math.log(again.value / test.value)
    half = math.hypot(*(math.log(result.high / result.low) / 2 for result in (test, again)))
    low, high = math.exp(step - half), math.exp(step + half)
    words = "no clear difference" if low <= 1 <= high else "differs from one repeat to the other"
    return f"x{digits(math.exp(step))} [{digits(low)}, {digits(high)}]", words


def _places(run: Run) -> Iterator[ReportSection]:
    """Wrong answers by place, over all tasks that ask which patch is odd."""
    tasks = [task for task, measure in MEASURES.items() if measure.answers == PLACES]
    scores, rows = pd.concat([score_rows(run, task) for task in tasks]), []
    by_arm = dict(arm_parts(scores[scores["value"] == 1.0]))
    for arm in (ReportArm(arm.subject, arm.condition) for arm in examined(run, main_arms(run))):
        errors = Counter(map(json.loads, by_arm[arm]["prediction"] if arm in by_arm else ()))
        if total := sum(errors[place] for place in PLACES):
            cells = [f"{100 * errors[place] / total:.0f} %" for place in PLACES]
            rows.append([arm_name(*arm), f"{total}", *cells])
    note = "Which patch the wrong answers name. A subject without a preferred place names each in 11 % of them."
    yield from table_section("Wrong answers by place", note, ["subject", "wrong answers", *PLACES], rows, "places")
