"""Figures of thresholds: psychometric functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.analysis.tables.plots import MAX_SERIES, MUTED, panel_figure, plain_axes, series_appearance
from snellen.core.score import MEASURED
from snellen.suites.thresholds.measures.measure import Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Numbers: TypeAlias = NDArray[Any]


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
            axes.axhline(1 / measure.alternatives, color=MUTED, linestyle="--", linewidth=0.9)
            ticks = curves[0].levels[[0, 5, 10, 15]]
            axes.set_xticks(ticks, [f"{float(f'{10**tick:.2g}'):g}" for tick in ticks])
        axes.set_title(f"{task}, {measure.unit}")
        plain_axes(axes)
        axes.set_yticks((0, 0.5, 1), ("0", "50", "100 % yes" if measure.is_judgement else "100 %"))
    for axes in grid[len(panels) :]:
        axes.set_axis_off()
    figure.legend(list(handles.values()), list(handles), loc="outside lower left", ncols=3, fontsize=8.5)
    return figure
