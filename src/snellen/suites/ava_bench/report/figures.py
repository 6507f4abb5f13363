"""The figures among the suite's pieces. Nothing here knows of runs: names and numbers come in, a figure goes out.

Fonts and the like are the report's, which sets them while it draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.analysis.plots import FAINT, INK, MARKS, MUTED, SERIES, plain_axes, two_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 8
"""Subjects in one panel."""


@dataclass(frozen=True)
class Levels:
    """Scores by level of a factor: one row of results (or None) a level for every subject, and chance by level."""

    factor: str
    levels: Sequence[str]
    rows: Mapping[str, Sequence[Any]]
    chances: Sequence[float]


def fingerprints(
    panels: Sequence[tuple[Sequence[str], str]], tasks: Sequence[str], shares: Mapping[str, Sequence[float]]
) -> Figure:
    """A ring of abilities with one outline a subject (Figure 5): 0 in the middle is chance, 1 at the rim is perfect.

    A panel is its subjects and a reference (or an empty name), which is dashed and grey; `shares` are numbers by
    subject, a task each. Those below chance are drawn at 0, and what is not known leaves a gap.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * len(panels), 5.6), layout="constrained")
    turns = np.linspace(0, 2 * np.pi, len(tasks), endpoint=False)
    places = figure.subplots(1, len(panels), squeeze=False, subplot_kw={"projection": "polar"})[0]
    for axes, (subjects, reference) in zip(places, panels, strict=True):
        lines = [(name, {"color": SERIES[n], "linewidth": 1.6}) for n, name in enumerate(subjects[:MOST])]
        if reference:
            lines.append((reference, {"color": MUTED, "linewidth": 1.4, "linestyle": "--"}))
        for name, look in lines:
            values = np.clip(np.array([*shares[name], shares[name][0]], float), 0, 1)
            told = f"{name} (reference)" if name == reference else name
            axes.plot([*turns, 0], values, label=two_lines(told), **look)
        axes.set_xticks(turns, tasks, fontsize=8)
        axes.tick_params(axis="x", pad=10)  # else names left and right lie on the rim
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
    values = np.array(ranks, float)
    axes.imshow(values, cmap="Blues_r", vmin=1, vmax=len(subjects) * 1.15, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        ink = "white" if value <= (1 + len(subjects)) / 2.5 else INK
        axes.text(column, row, f"{value:g}", ha="center", va="center", color=ink, fontsize=8)
    axes.set_xticks(range(len(tasks)), tasks, rotation=40, ha="right")
    axes.set_yticks(range(len(subjects)), [two_lines(name) for name in subjects])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure


def subgroups(found: Sequence[Levels], scale: float, unit: str) -> Figure:
    """Scores with interval by level, a panel a factor, a mark a subject, chance as a dash (Figures 8b, 21 to 28)."""
    from matplotlib.figure import Figure

    widths = [max(2, len(one.levels)) for one in found]
    names = list(dict.fromkeys(name for one in found for name in one.rows))[:MOST]
    figure = Figure(figsize=(max(7.2, 2 + 1.1 * sum(widths)), 3.4 + 0.15 * len(names)), layout="constrained")
    panels = figure.subplots(1, len(found), sharey=True, squeeze=False, gridspec_kw={"width_ratios": widths})[0]
    for axes, one in zip(panels, found, strict=True):
        for place, name in enumerate(names):
            shift = (place - (len(names) - 1) / 2) * 0.6 / len(names)
            _dots(axes, one.rows.get(name, ()), shift, scale, name, place)
        at = np.arange(len(one.levels))
        look: dict[str, Any] = {"colors": MUTED, "linestyles": "--", "linewidth": 1.2, "label": "chance"}
        axes.hlines(scale * np.array(one.chances), at - 0.35, at + 0.35, **look)
        axes.set_xticks(at, [two_lines(level, 14) for level in one.levels], fontsize=8)
        axes.set_xlim(-0.5, len(one.levels) - 0.5)
        axes.set_title(one.factor.replace("_", " "))
        plain_axes(axes)
    panels[0].set_ylabel(unit)
    handles, told = panels[0].get_legend_handles_labels()
    figure.legend(handles, told, loc="outside lower left", ncols=3, fontsize=8.5)
    return figure


def _dots(axes: Axes, rows: Sequence[Any], shift: float, scale: float, name: str, place: int) -> None:
    held = [(n + shift, row) for n, row in enumerate(rows) if row is not None]
    value = np.array([row.value for _, row in held], float)
    ends = np.array([[row.low for _, row in held], [row.high for _, row in held]], float)
    bars = scale * np.nan_to_num(np.abs(ends - value))
    look: dict[str, Any] = {"color": SERIES[place], "marker": MARKS[place], "markersize": 5, "elinewidth": 1.3}
    axes.errorbar([at for at, _ in held], scale * value, yerr=bars, linestyle="none", label=two_lines(name), **look)


def with_and_without(lines: Sequence[tuple[str, float, float]], chance: float) -> Figure:
    """Percent right with boxes (ring) and without (dot), a line a subject, from top to bottom as given (Figure 8a)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 1.4 + 0.36 * len(lines)), layout="constrained")
    axes = figure.subplots()
    for place, (_, drawn, bare) in enumerate(lines):
        axes.plot([100 * drawn, 100 * bare], [place, place], color=FAINT, linewidth=3, zorder=1)
        told = ("boxes drawn", "without boxes") if place == 0 else ("", "")
        axes.scatter([100 * drawn], [place], facecolor="white", edgecolor=SERIES[0], s=45, label=told[0] or None)
        axes.scatter([100 * bare], [place], color=SERIES[1], s=45, label=told[1] or None)
    if not math.isnan(chance):
        axes.axvline(100 * chance, color=MUTED, linestyle="--", linewidth=1.1, label="chance")
    axes.set_yticks(range(len(lines)), [two_lines(name) for name, *_ in lines])
    axes.set_ylim(len(lines) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.set_xlabel("spatial, percent right")
    plain_axes(axes, "x")
    figure.legend(loc="outside lower left", ncols=3, fontsize=8.5)
    return figure
