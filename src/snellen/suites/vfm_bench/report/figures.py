"""The figures among the suite's pieces. Nothing here knows of runs: names and numbers come in, a figure goes out.

Fonts and the like are the report's, which sets them while it draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from snellen.analysis.plots import INK, MARKS, MUTED, SERIES, percent_up, plain_axes, two_lines
from snellen.analysis.shot_curves import Interval
from snellen.core.item import Media
from snellen.core.media import MediaFolder

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from snellen.suites.vfm_bench.report.ablations import Change
    from snellen.suites.vfm_bench.report.shots_compared import Learnt

MOST = 8
"""Subjects in one figure."""
THUMB_PX = 180
Bar: TypeAlias = tuple[str, str, float, float, Interval]
"""Subject, change, accuracy before and after, and the change as a share of the former."""
Group: TypeAlias = tuple[str, Sequence[Any]]
"""Subject, and a row of results (or None) a level."""


@dataclass(frozen=True)
class Confused:
    """One picture of a contact sheet: what it is, what it was taken for, how often, and an example of that class."""

    subject: str
    task: str
    truth: str
    said: str
    times: str
    query: Media
    demo: Media | None


def _look(number: int) -> dict[str, Any]:
    return {"color": SERIES[number % len(SERIES)], "marker": MARKS[number % len(MARKS)], "markersize": 5}


def _legend(figure: Figure, axes: Axes, columns: int = 3) -> None:
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=columns, fontsize=8.5)


# Figure 3


def by_shots(found: Sequence[Learnt], chances: Mapping[int, float]) -> Figure:
    """Accuracy against shots with interval bands and chance; efficiency and effectiveness beside (Figure 3).

    Of these two, what is defined for nobody is left out.
    """
    from matplotlib.figure import Figure

    real = [one for one in found if not one.line.fake]
    shown = (real or list(found))[:MOST]
    told = {"efficiency η": [one.eta for one in shown], "effectiveness δ": [one.delta for one in shown]}
    told = {name: values for name, values in told.items() if not all(math.isnan(one.value) for one in values)}
    figure = Figure(figsize=(7 + 2.2 * len(told), 3.5 + 0.16 * len(shown)), layout="constrained")
    curves, *beside = figure.subplots(1, 1 + len(told), width_ratios=[2.2] + [1] * len(told), squeeze=False)[0]
    for number, one in enumerate(shown):
        rows = {shots: row for shots, row in one.rows.items() if row.n}
        at, value = list(rows), [row.value for row in rows.values()]
        curves.plot(at, value, linewidth=1.6, label=two_lines(one.line.name), **_look(number))
        low, high = ([getattr(row, end) for row in rows.values()] for end in ("low", "high"))
        curves.fill_between(at, low, high, color=SERIES[number % len(SERIES)], alpha=0.13, linewidth=0)
    known = {shots: value for shots, value in chances.items() if not math.isnan(value)}
    curves.plot(list(known), list(known.values()), color=MUTED, linewidth=1.2, linestyle="--", label="random policy")
    curves.set_xticks(sorted(chances))
    curves.set_xlabel("solved examples of every class")
    curves.set_title("accuracy")
    percent_up(curves)
    for axes, (name, values) in zip(beside, told.items(), strict=True):
        _dots(axes, name, values)
    _legend(figure, curves)
    return figure


def _dots(axes: Axes, title: str, values: Sequence[Interval]) -> None:
    """A dot with interval a subject, in the colour of its line; what is undefined is written so."""
    for number, one in enumerate(values):
        if math.isnan(one.value):
            axes.annotate("undefined", (0.02, number), xycoords=("axes fraction", "data"), va="center", color=MUTED)
            continue
        ends = [[0.0], [0.0]] if math.isnan(one.low) else [[one.value - one.low], [one.high - one.value]]
        axes.errorbar([one.value], [number], xerr=np.maximum(0, ends), elinewidth=1.3, **_look(number))
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.set_yticks([])
    defined = [one for one in values if not math.isnan(one.value)]
    lowest = min([0.0, *(np.nanmin([one.value, one.low]) for one in defined)])
    axes.set_xlim(max(-1.0, lowest) - 0.04, 1.04)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
    axes.set_title(f"{title}, %")
    plain_axes(axes, "x")


# Figures 6 and 8


def strategies(found: Sequence[tuple[str, Change]], order: Sequence[str]) -> Figure:
    """Accuracy over shots solid as it is, dashed with the change: a panel a change, a colour a subject (Figure 6)."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(one.original.name for _, one in found))[:MOST]
    panels = [name for name in order if any(held == name for held, _ in found)]
    figure = Figure(figsize=(1.6 + 3.3 * len(panels), 3.6), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True):
        for held, one in found:
            if held == panel and one.original.name in names:
                look = _look(names.index(one.original.name))
                axes.plot(list(one.before), list(one.before.values()), linewidth=1.5, **look)
                axes.plot(list(one.after), list(one.after.values()), linewidth=1.5, linestyle=(0, (3, 2)), **look)
                axes.fill_between(
                    list(one.before),
                    list(one.before.values()),
                    list(one.after.values()),
                    color=look["color"],
                    alpha=0.1,
                )
        axes.set_title(panel)
        axes.set_xticks(sorted({shots for held, one in found if held == panel for shots in one.before}))
        axes.set_xlabel("solved examples of every class")
        percent_up(axes)
    handles = [Line2D([], [], label=two_lines(name), **_look(number)) for number, name in enumerate(names)]
    kinds = [Line2D([], [], color=INK, label="as it is"), Line2D([], [], color=INK, linestyle="--", label="changed")]
    figure.legend(handles=[*handles, *kinds], loc="outside lower left", ncols=4, fontsize=8.5)
    return figure


def causes(bars: Sequence[Bar], order: Sequence[str]) -> Figure:
    """Left: accuracy at 0 shots with each help, a tick where it is without. Right: the gain of each (Figure 8)."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    names = list(order)[:MOST]
    helps = list(dict.fromkeys(what for _, what, *_ in bars))
    figure = Figure(figsize=(10.4, 1.3 + (0.2 + 0.2 * len(helps)) * len(names)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    for name, what, before, after, gain in bars:
        if name not in names:
            continue
        height, number = 0.8 / len(helps), helps.index(what)
        at = names.index(name) + (number - (len(helps) - 1) / 2) * height
        colour = SERIES[number % len(SERIES)]
        left.barh([at], [after], 0.86 * height, color=colour, alpha=0.8)
        left.vlines([before], at - height / 2, at + height / 2, colors=INK, linewidth=2)
        if math.isnan(gain.value):
            right.annotate(" undefined", (0, at), va="center", color=MUTED, fontsize=8)
            continue
        right.barh([at], [gain.value], 0.86 * height, color=colour, alpha=0.8)
        if not math.isnan(gain.low):
            right.hlines([at], [gain.low], [gain.high], colors=INK, linewidth=1.1)
    left.set_yticks(range(len(names)), [two_lines(name) for name in names])
    left.set_ylim(len(names) - 0.45, -0.55)
    left.set_xlim(0, 1.02)
    left.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f}")
    left.set_title("percent right with the help (tick: without)")
    right.axvline(0, color=MUTED, linewidth=1.1)
    right.xaxis.set_major_formatter(lambda value, _: f"{100 * value:+.0f}" if value else "0")
    right.set_title("change in percent of accuracy without")
    for axes in (left, right):
        plain_axes(axes, "x")
    handles = [Patch(color=SERIES[n % len(SERIES)], alpha=0.8, label=what) for n, what in enumerate(helps)]
    figure.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=8.5)
    return figure


# Figure 7 and its like


def by_level(groups: Sequence[Group], levels: Sequence[str], chances: Mapping[str, float]) -> Figure:
    """Accuracy with interval by level, one mark a subject, chance as a dash at each level (Figure 7)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(6.4, 2.0 + 1.5 * len(levels)), 3.6), layout="constrained")
    axes = figure.subplots()
    step = 0.5 / max(1, min(MOST, len(groups)))
    _series(axes, groups, [float(n) for n in range(len(levels))], step, joined=False)
    at, value = np.arange(len(levels)), [chances[level] for level in levels]
    axes.hlines(value, at - 0.35, at + 0.35, colors=MUTED, linestyles="--", linewidth=1.2, label="random policy")
    axes.set_xticks(range(len(levels)), levels)
    axes.set_xlim(-0.5, len(levels) - 0.5)
    percent_up(axes)
    _legend(figure, axes, 2)
    return figure


def by_ways(groups: Sequence[Group], ways: Sequence[int]) -> Figure:
    """Accuracy with interval by number of classes, with one over it as a line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    _series(axes, groups, [float(n) for n in ways], 0.02 * (max(ways) - min(ways)))
    at = np.linspace(min(ways), max(ways), 60)
    axes.plot(at, 1 / at, color=MUTED, linestyle="--", linewidth=1.2, label="random policy")
    axes.set_xticks(ways)
    axes.set_xlabel("classes to choose from")
    percent_up(axes)
    _legend(figure, axes, 2)
    return figure


def _series(axes: Axes, groups: Sequence[Group], places: Sequence[float], step: float, joined: bool = True) -> None:
    shown = groups[:MOST]
    for number, (name, rows) in enumerate(shown):
        held = [(at, row) for at, row in zip(places, rows, strict=True) if row is not None]
        at = [place + (number - (len(shown) - 1) / 2) * step for place, _ in held]
        value = np.array([row.value for _, row in held])
        ends = np.abs(np.array([[row.low for _, row in held], [row.high for _, row in held]]) - value)
        axes.errorbar(
            at,
            value,
            yerr=np.nan_to_num(ends),
            linewidth=0.8 if joined else 0,
            elinewidth=1.3,
            label=two_lines(name),
            **_look(number),
        )


# Confusions


def confused(sheet: Sequence[Confused], media: MediaFolder) -> Figure:
    """Pictures beside an example of the class they were taken for, two pairs a row."""
    from matplotlib.figure import Figure

    down = math.ceil(len(sheet) / 2)
    figure = Figure(figsize=(10.4, 2.9 * down), layout="constrained")
    places = figure.subplots(down, 4, squeeze=False).ravel()
    for place in places:
        place.set_axis_off()
    for number, one in enumerate(sheet):
        query, demo = places[2 * number], places[2 * number + 1]
        query.set_title(two_lines(f"is “{one.truth}”", 32), fontsize=8.5)
        demo.set_title(two_lines(f"taken for “{one.said}”", 32), fontsize=8.5)
        small: dict[str, Any] = {"fontsize": 8, "color": MUTED, "va": "top"}
        query.text(0, -0.03, two_lines(one.task, 40), transform=query.transAxes, **small)
        demo.text(0, -0.03, two_lines(f"{one.times} by {one.subject}", 40), transform=demo.transAxes, **small)
        query.imshow(_thumb(one.query, media))
        if one.demo is None:
            demo.text(0.5, 0.5, "no picture", ha="center", va="center", color=MUTED)
        else:
            demo.imshow(_thumb(one.demo, media))
    return figure


def _thumb(picture: Media, media: MediaFolder) -> Any:
    """The picture as an array of at most `THUMB_PX` a side, for pages stay small."""
    drawn = media.open(picture).convert("RGB")
    drawn.thumbnail((THUMB_PX, THUMB_PX))
    return np.asarray(drawn)
