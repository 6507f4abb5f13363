"""The figures of the suite's sections, drawn from names and numbers, independently of runs.

The report sets fonts and styles while it draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.analysis.plots import (
    FAINT,
    INK,
    MAX_SERIES,
    MUTED,
    SERIES,
    draw_chances,
    draw_levels,
    legend_below,
    level_axis,
    plain_axes,
    series_appearance,
    side_by_side,
    two_lines,
)
from snellen.core.score import Metric

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FactorPanel:
    """Scores by level of a factor: one row of results (or None) per subject and level, and chance by level."""

    factor: str
    levels: Sequence[str]
    rows: Mapping[str, Sequence[Any]]
    chances: Sequence[float]


def fingerprints(
    panels: Sequence[tuple[Sequence[str], str]], tasks: Sequence[str], shares: Mapping[str, Sequence[float]]
) -> Figure:
    """A ring of abilities with one outline per subject (Figure 5): chance in the middle (0), perfect at the rim (1).

    A panel has subjects and a reference (or an empty name), which is dashed and grey; `shares` are numbers by subject,
    one per task. Values below chance are drawn at 0, and unknown values leave a gap.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * len(panels), 5.6), layout="constrained")
    turns = np.linspace(0, 2 * np.pi, len(tasks), endpoint=False)
    rings = figure.subplots(1, len(panels), squeeze=False, subplot_kw={"projection": "polar"})[0]
    for axes, (subjects, reference) in zip(rings, panels, strict=True):
        lines = [(name, {"color": SERIES[n], "linewidth": 1.6}) for n, name in enumerate(subjects[:MAX_SERIES])]
        if reference:
            lines.append((reference, {"color": MUTED, "linewidth": 1.4, "linestyle": "--"}))
        for name, appearance in lines:
            outline = np.clip(np.array([*shares[name], shares[name][0]], float), 0, 1)
            label = f"{name} (reference)" if name == reference else name
            axes.plot([*turns, 0], outline, label=two_lines(label), **appearance)
        axes.set_xticks(turns, tasks, fontsize=8)
        axes.tick_params(axis="x", pad=10)  # otherwise names left and right overlap the rim
        axes.set_ylim(0, 1)
        axes.set_yticks((0.25, 0.5, 0.75, 1), ("", "50 %", "", "100 %"), fontsize=7, color=MUTED)
        axes.grid(color=FAINT)
        axes.spines["polar"].set_color(FAINT)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, fontsize=8, frameon=False)
    return figure


def rank_map(subjects: Sequence[str], tasks: Sequence[str], ranks: Sequence[Sequence[float]]) -> Figure:
    """Ranks as colours, subjects down and abilities across, dark for the first (Figure 6)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.6 + 0.55 * len(tasks), 1.6 + 0.34 * len(subjects)), layout="constrained")
    axes = figure.subplots()
    matrix = np.array(ranks, float)
    axes.imshow(matrix, cmap="Blues_r", vmin=1, vmax=len(subjects) * 1.15, aspect="auto")
    for (row, column), rank in np.ndenumerate(matrix):
        ink = "white" if rank <= (1 + len(subjects)) / 2.5 else INK
        axes.text(column, row, f"{rank:g}", ha="center", va="center", color=ink, fontsize=8)
    axes.set_xticks(range(len(tasks)), tasks, rotation=40, ha="right")
    axes.set_yticks(range(len(subjects)), [two_lines(name) for name in subjects])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure


def subgroups(panels: Sequence[FactorPanel], subjects: Sequence[str], metric: Metric) -> Figure:
    """Scores with interval by level, one panel per factor, chance as a dash (Figures 8b, 21 to 28)."""
    from matplotlib.figure import Figure

    widths = [max(2, len(panel.levels)) for panel in panels]
    subjects, scale = subjects[:MAX_SERIES], 100.0 if metric.share else 1.0
    figure = Figure(figsize=(max(7.2, 2 + 1.1 * sum(widths)), 3.4 + 0.15 * len(subjects)), layout="constrained")
    columns = figure.subplots(1, len(panels), sharey=True, squeeze=False, gridspec_kw={"width_ratios": widths})[0]
    for axes, panel in zip(columns, panels, strict=True):
        for index, subject in enumerate(subjects):
            shift = side_by_side(index, len(subjects), 0.6 / len(subjects))
            appearance = {**series_appearance(index), "linestyle": "none", "elinewidth": 1.3}
            positions = [n + shift for n in range(len(panel.levels))]
            draw_levels(axes, panel.rows[subject], positions, scale=scale, label=two_lines(subject), **appearance)
        draw_chances(axes, [scale * chance for chance in panel.chances])
        level_axis(axes, [two_lines(level, 14) for level in panel.levels])
        axes.tick_params(axis="x", labelsize=8)
        axes.set_title(panel.factor.replace("_", " "))
        plain_axes(axes)
    columns[0].set_ylabel("percent" if metric.share else metric.words)
    legend_below(figure, columns[0])
    return figure


def with_and_without(accuracies: Sequence[tuple[str, float, float]], chance: float) -> Figure:
    """Percent right with boxes (ring) and without (dot), one line per subject in the given order (Figure 8a)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 1.4 + 0.36 * len(accuracies)), layout="constrained")
    axes = figure.subplots()
    for y, (_, with_boxes, without) in enumerate(accuracies):
        axes.plot([100 * with_boxes, 100 * without], [y, y], color=FAINT, linewidth=3, zorder=1)
        ring, dot = ("boxes drawn", "without boxes") if y == 0 else (None, None)
        axes.scatter([100 * with_boxes], [y], facecolor="white", edgecolor=SERIES[0], s=45, label=ring)
        axes.scatter([100 * without], [y], color=SERIES[1], s=45, label=dot)
    if not math.isnan(chance):
        axes.axvline(100 * chance, color=MUTED, linestyle="--", linewidth=1.1, label="chance")
    axes.set_yticks(range(len(accuracies)), [two_lines(name) for name, *_ in accuracies])
    axes.set_ylim(len(accuracies) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.set_xlabel("spatial, percent right")
    plain_axes(axes, "x")
    figure.legend(loc="outside lower left", ncols=3, fontsize=8.5)
    return figure
