"""Figures of thresholds: the acuity chart and psychometric functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.analysis.tables.plots import (
    FAINT,
    INK,
    MAX_SERIES,
    MUTED,
    panel_figure,
    plain_axes,
    series_appearance,
    two_lines,
)
from snellen.core.score import MEASURED
from snellen.suites.thresholds.drawing import coverage, landolt
from snellen.suites.thresholds.measures.measure import Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers: TypeAlias = NDArray[Any]
RINGS = 5
"""Rings in a row of the chart."""
RING_PX = 100
"""Side of the image of a ring in pixels."""


class Curve(NamedTuple):
    """The answers of a subject to a task by level, with the fitted function, and the threshold or point with its ends.

    `levels` are places on the axis; at each are the number of answers, the share that is right (or yes), and the fit.
    """

    name: str
    reason: str
    value: float
    low: float
    high: float
    levels: Numbers
    answers: Numbers
    shares: Numbers
    fit: Numbers


class FunctionPanel(NamedTuple):
    """A task with its curves."""

    task: str
    measure: Measure
    curves: Sequence[Curve]


def chart(thresholds: Sequence[Any], levels: Sequence[float]) -> Figure:
    """Rows of rings from large to small, and the smallest gap that each subject reads."""
    sizes = [level for level in levels[::-2] if level >= 1.0]
    heights = np.array(sizes) / sizes[0] + 0.25
    tops = np.concatenate([[0.0], np.cumsum(heights)])
    middles = (tops[:-1] + tops[1:]) / 2
    figure, (axes,) = panel_figure(1, (5.2 + 0.9 * len(thresholds), 5.2))
    for row, (size, middle) in enumerate(zip(sizes, middles, strict=True)):
        half = size / sizes[0] / 2
        for column in range(RINGS):
            x = column * 1.12
            axes.imshow(
                _ring(3 * row + 5 * column), cmap="gray", vmin=0, vmax=1, zorder=1, interpolation="antialiased",
                extent=(x - half, x + half, middle + half, middle - half),
            )  # fmt: skip
        axes.annotate(f"{size:.3g} px", (-0.72, middle), ha="right", va="center", color=MUTED, fontsize=8.5)
    for index, threshold in enumerate(thresholds):
        x = RINGS * 1.12 + 0.3 + 0.95 * index
        y, low, high = (_height(end, sizes, middles) for end in (threshold.value, threshold.low, threshold.high))
        if not np.isnan(low):
            axes.plot((x, x), (low, high), color=INK, linewidth=1.4)
        axes.plot([x], [y], **{**series_appearance(index), "linestyle": "none"})
        axes.axhline(y, xmax=1.0, color=FAINT, linewidth=0.8, zorder=0)
        axes.annotate(two_lines(threshold.name, 26), (x, -0.1), ha="left", va="bottom", rotation=55, fontsize=8)
    axes.set_xlim(-1.6, RINGS * 1.12 + 0.3 + 0.95 * len(thresholds))
    axes.set_ylim(tops[-1] + 0.1, -0.1)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return figure


def _height(gap_px: float, sizes: Sequence[float], middles: Numbers) -> float:
    """The height of a gap on the chart: between those of the rows, and within the chart."""
    return float(np.interp(-np.log10(gap_px), -np.log10(sizes), middles)) if not np.isnan(gap_px) else float("nan")


def _ring(direction: int) -> Numbers:
    part = slice(0, RING_PX), slice(0, RING_PX)
    covered = coverage(landolt(RING_PX / 2, RING_PX / 2, RING_PX / 5, direction % 8), part)
    return np.asarray(1 - 0.88 * covered)


def functions(panels: Sequence[FunctionPanel]) -> Figure:
    """One panel per task: dots of answers, fitted functions, and thresholds (or PSEs) with their intervals.

    The area of a dot is the number of answers. A dashed line is the guess rate, or of judgements the level with most
    answers of yes.
    """
    across = min(4, len(panels))
    down = -(-len(panels) // across)
    figure, grid = panel_figure(across, (min(11.9, 4.6 * across + 0.6), 2.9 * down + 0.4), down, sharey=True)
    names: dict[str, int] = {}
    handles: dict[str, Any] = {}
    for axes, (task, measure, curves) in zip(grid, panels, strict=False):
        for number, curve in enumerate(curves):
            appearance = series_appearance(names.setdefault(curve.name, len(names)) % MAX_SERIES)
            colour, has_answers = appearance["color"], curve.answers > 0
            points = curve.levels[has_answers], curve.shares[has_answers], 6 + 5 * curve.answers[has_answers]
            dots = axes.scatter(*points, alpha=0.75, linewidths=0, color=colour, marker=appearance["marker"])
            handles.setdefault(curve.name, dots)
            axes.plot(curve.levels, curve.fit, color=colour, linewidth=1.3)
            if curve.reason == MEASURED:
                ends = np.array([curve.value, curve.low, curve.high])
                value, *interval = ends if measure.is_judgement else np.log10(ends)
                y = -0.055 - 0.037 * number
                axes.plot(interval, (y, y), color=colour, linewidth=2)
                axes.plot([value], [y], color=colour, marker="|", markersize=7)
        if measure.is_judgement:
            axes.axvline(measure.most_yes, color=MUTED, linestyle="--", linewidth=0.9)
        else:
            axes.axhline(1 / len(measure.answers), color=MUTED, linestyle="--", linewidth=0.9)
            ticks = curves[0].levels[[0, 5, 10, 15]]
            axes.set_xticks(ticks, [f"{float(f'{10**tick:.2g}'):g}" for tick in ticks])
        axes.set_title(f"{task}, {measure.unit}")
        plain_axes(axes)
        axes.set_yticks((0, 0.5, 1), ("0", "50", "100 % yes" if measure.is_judgement else "100 %"))
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    figure.legend(list(handles.values()), list(handles), loc="outside lower left", ncols=3, fontsize=8.5)
    return figure
