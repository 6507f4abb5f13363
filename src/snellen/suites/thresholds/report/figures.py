"""Figures of thresholds: the acuity chart and psychometric functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.analysis.plots import FAINT, INK, MAX_SERIES, MUTED, plain_axes, series_appearance, side_by_side, two_lines
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


class FunctionPanel(NamedTuple):
    """A task with its curves: (subject, state, threshold, low, high, levels, answers, share right, fit)."""

    task: str
    measure: Measure
    curves: Sequence[tuple[Any, ...]]


def chart(thresholds: Sequence[Any], levels: Sequence[float]) -> Figure:
    """Rows of rings from large to small, and the smallest gap that each subject reads."""
    from matplotlib.figure import Figure

    sizes = [level for level in levels[::-2] if level >= 1.0]
    heights = np.array(sizes) / sizes[0] + 0.25
    tops = np.concatenate([[0.0], np.cumsum(heights)])
    middles = (tops[:-1] + tops[1:]) / 2
    names = [two_lines(threshold.name, 26) for threshold in thresholds]
    figure = Figure(figsize=(5.2 + 0.9 * len(thresholds), 5.2), layout="constrained")
    axes = figure.subplots()
    for row, (size, middle) in enumerate(zip(sizes, middles, strict=True)):
        half = size / sizes[0] / 2
        for column in range(RINGS):
            x = column * 1.12
            axes.imshow(
                _ring(3 * row + 5 * column), cmap="gray", vmin=0, vmax=1, zorder=1, interpolation="antialiased",
                extent=(x - half, x + half, middle + half, middle - half),
            )  # fmt: skip
        axes.annotate(f"{size:.3g} px", (-0.72, middle), ha="right", va="center", color=MUTED, fontsize=8.5)
    for index, (threshold, name) in enumerate(zip(thresholds, names, strict=True)):
        x = RINGS * 1.12 + 0.3 + 0.95 * index
        y, low, high = (_height(end, sizes, middles) for end in (threshold.value, threshold.low, threshold.high))
        if not np.isnan(low):
            axes.plot((x, x), (low, high), color=INK, linewidth=1.4)
        axes.plot([x], [y], **{**series_appearance(index), "linestyle": "none"})
        axes.axhline(y, xmax=1.0, color=FAINT, linewidth=0.8, zorder=0)
        axes.annotate(name, (x, -0.1), ha="left", va="bottom", rotation=55, fontsize=8)
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
    """One panel per task: dots of answers, fitted functions, and thresholds with their intervals."""
    from matplotlib.figure import Figure

    columns = min(4, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(11.9, 2.9 * rows + 0.4), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    names: dict[str, int] = {}
    for axes, panel in zip(grid.ravel(), panels, strict=False):
        for number, (name, state, value, low, high, levels, counts, share, fit) in enumerate(panel.curves):
            appearance = series_appearance(names.setdefault(name, len(names)) % MAX_SERIES)
            _curve(axes, name, appearance, (levels, counts, share, fit))
            if state == MEASURED:
                _foot(axes, np.log10([value, low, high]), -0.05 - 0.035 * number, appearance["color"])
        axes.axhline(1 / len(panel.measure.answers), color=MUTED, linestyle="--", linewidth=0.9)
        ticks = panel.curves[0][5][[0, 5, 10, 15]]
        axes.set_xticks(ticks, [f"{float(f'{10**tick:.2g}'):g}" for tick in ticks])
        axes.set_title(f"{panel.task}, {panel.measure.unit}")
        plain_axes(axes)
        axes.set_yticks((0, 0.5, 1), ("0", "50", "100 %"))
    for axes in grid.ravel()[len(panels) :]:
        axes.set_axis_off()
    _legend(figure, grid.ravel())
    return figure


def _curve(axes: Any, name: str, appearance: Mapping[str, Any], points: Sequence[Numbers]) -> None:
    """Dots of answers, whose area is their number, and the fitted function. `points`: levels, counts, shares, fit."""
    levels, counts, share, fit = points
    has_answers = counts > 0
    axes.scatter(
        levels[has_answers], share[has_answers], s=6 + 5 * counts[has_answers], alpha=0.75, linewidths=0,
        color=appearance["color"], marker=appearance["marker"], label=name,
    )  # fmt: skip
    axes.plot(levels, fit, color=appearance["color"], linewidth=1.3)


def _foot(axes: Any, ends: Sequence[float] | Numbers, y: float, colour: str) -> None:
    """A value with its interval at the foot of a panel; `ends` are value, low and high."""
    value, low, high = ends
    axes.plot((low, high), (y, y), color=colour, linewidth=2)
    axes.plot([value], [y], color=colour, marker="|", markersize=7)


def _legend(figure: Figure, panels: Iterable[Any]) -> None:
    """One legend for all panels, each name once."""
    handles = dict[str, Any]()
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    figure.legend(list(handles.values()), list(handles), loc="outside lower left", ncols=3, fontsize=8.5)


def judgements(panels: Sequence[FunctionPanel]) -> Figure:
    """One panel per judgement: shares of yes, fitted functions, and PSEs with their intervals."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(panels) + 0.6, 3.6), layout="constrained")
    grid = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    names: dict[str, int] = {}
    for axes, panel in zip(grid, panels, strict=True):
        for number, (name, _, point, low, high, levels, counts, share, fit) in enumerate(panel.curves):
            appearance = series_appearance(names.setdefault(name, len(names)) % MAX_SERIES)
            _curve(axes, name, appearance, (levels, counts, share, fit))
            _foot(axes, (point, low, high), -0.06 - 0.04 * number, appearance["color"])
        axes.axvline(panel.measure.most_yes, color=MUTED, linestyle="--", linewidth=0.9)
        axes.set_title(f"{panel.task}, {panel.measure.unit}")
        plain_axes(axes)
        axes.set_yticks((0, 0.5, 1), ("0", "50", "100 % yes"))
    _legend(figure, grid)
    return figure


def canvases(series: Sequence[tuple[str, Any]], sides: Sequence[int]) -> Figure:
    """Thresholds with intervals by the side of the canvas, and lines of constant pixels and of constant shares."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
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


def profile(series: Sequence[tuple[str, Any]], tasks: Sequence[str], unit: str) -> Figure:
    """One row per task: multiples of a unit with their intervals; bounds are hollow."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 0.55 * len(tasks) + 1.6), layout="constrained")
    axes = figure.subplots()
    for index, (name, multiples) in enumerate(series):
        appearance, offset = series_appearance(index), side_by_side(index, len(series), 0.6 / len(series))
        axes.plot([], [], linestyle="none", label=two_lines(name, 40), **appearance)
        for multiple in multiples:
            y = tasks.index(multiple.task) + offset
            fill = "white" if np.isnan(multiple.low) else appearance["color"]
            axes.plot((multiple.low, multiple.high), (y, y), color=appearance["color"], linewidth=1.4)
            axes.plot([multiple.value], [y], linestyle="none", **appearance, markerfacecolor=fill)
    axes.axvline(1.0, color=MUTED, linestyle="--", linewidth=0.9)
    axes.set_xscale("log")
    least, most = axes.get_xlim()
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200) if least <= tick <= most]
    axes.set_xticks(ticks, [f"x{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(tasks)), list(tasks))
    axes.invert_yaxis()
    axes.set_xlabel(f"threshold, in units of {unit}")
    plain_axes(axes)
    figure.legend(loc="outside lower left", ncols=2, fontsize=8.5)
    return figure
