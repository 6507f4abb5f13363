"""Canvas against threshold: whether pixels arrive as sent, or images are made a fixed size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from snellen.analysis.cells import DASH, decimal_interval
from snellen.analysis.changes import NORMAL_END
from snellen.analysis.pivot import table_section
from snellen.analysis.plots import MAX_SERIES, MUTED, panel_figure, plain_axes, series_appearance, two_lines
from snellen.analysis.run_view import ReportArm, arm_name, examined, main_arms, result_rows, rows_by_arm
from snellen.analysis.section import ReportSection, Run
from snellen.core.score import MEASURED
from snellen.suites.thresholds.measures.acuity import ACUITY
from snellen.suites.thresholds.scoring import estimate_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    for arm in examined(main_arms(run)):
        levels = by_arm.get(ReportArm(arm.subject, arm.condition), {})
        of_sides = {side: row for side in sides if (row := levels.get(str(side))) is not None}
        thresholds = {side: (row.value, row.low, row.high) for side, row in of_sides.items() if row.state == MEASURED}
        power, name = exponent(thresholds), arm_name(arm.subject, arm.condition)
        cells = [estimate_text(of_sides[side], ACUITY) if side in of_sides else DASH for side in sides]
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
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(list(sides), [f"{side} px" for side in sides])
    axes.minorticks_off()
    ticks = [2.0**power for power in range(-2, 9) if axes.get_ylim()[0] <= 2.0**power <= axes.get_ylim()[1]]
    axes.set_yticks(ticks, [f"{tick:g} px" for tick in ticks])
    axes.set_xlabel("side of the canvas")
    axes.set_ylabel("smallest gap")
    plain_axes(axes)
    figure.legend(loc="outside lower left", fontsize=8.5)
    return figure
