"""The figures of the suite's sections, drawn from names and numbers, without access to runs.

The report sets fonts and similar settings when it draws them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from snellen.analysis.plots import (
    INK,
    MAX_SERIES,
    MUTED,
    SERIES,
    draw_chances,
    draw_levels,
    legend_below,
    level_axis,
    percent_axis,
    plain_axes,
    series_appearance,
    side_by_side,
    two_lines,
)
from snellen.analysis.run_view import examined
from snellen.analysis.shot_curves import DerivedInterval
from snellen.core.item import Media
from snellen.core.storage.media import MediaFolder
from snellen.suites.vfm_bench.report.shot_series import AblationChange, ShotGains

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

THUMB_PX = 180
Bar: TypeAlias = tuple[str, str, float, float, DerivedInterval]
"""Subject, change, accuracy before and after, and the change as a share of the former."""


@dataclass(frozen=True)
class LevelRows:
    """A subject, and a row of results (or None) per level."""

    subject: str
    rows: Sequence[Any]


@dataclass(frozen=True)
class Confusion:
    """One class taken for another, `count` times in `chances` answers for which it was true and the other offered.

    Classes are identified with their task (`concept_task`), since many tasks have a class `good`. `items` are the ids
    of the questions, in the order of the set.
    """

    subject: str
    task: str
    truth: str
    other: str
    count: int
    chances: int
    items: tuple[str, ...]

    @property
    def share(self) -> float:
        """The share of chances with this confusion."""
        return self.count / self.chances


# Figure 3


def by_shots(gains: Sequence[ShotGains], chances: Mapping[int, float]) -> Figure:
    """Accuracy against shots with interval bands and chance, next to efficiency and effectiveness (Figure 3).

    Efficiency or effectiveness is left out if it is undefined for all subjects.
    """
    from matplotlib.figure import Figure

    in_figure = examined([gain.series for gain in gains])[:MAX_SERIES]
    gains = [gain for gain in gains if gain.series in in_figure]
    derived = {"efficiency η": [gain.eta for gain in gains], "effectiveness δ": [gain.delta for gain in gains]}
    derived = {name: numbers for name, numbers in derived.items() if not all(math.isnan(n.value) for n in numbers)}
    figure = Figure(figsize=(7 + 2.2 * len(derived), 3.5 + 0.16 * len(gains)), layout="constrained")
    curves, *beside = figure.subplots(1, 1 + len(derived), width_ratios=[2.2] + [1] * len(derived), squeeze=False)[0]
    for index, gain in enumerate(gains):
        rows = {shots: row for shots, row in gain.rows.items() if row.n}
        shots, accuracy = list(rows), [row.value for row in rows.values()]
        curves.plot(shots, accuracy, linewidth=1.6, label=two_lines(gain.series.name), **series_appearance(index))
        low, high = ([getattr(row, end) for row in rows.values()] for end in ("low", "high"))
        curves.fill_between(shots, low, high, color=SERIES[index % len(SERIES)], alpha=0.13, linewidth=0)
    known_chances = {shots: chance for shots, chance in chances.items() if not math.isnan(chance)}
    appearance = {"color": MUTED, "linewidth": 1.2, "linestyle": "--", "label": "random policy"}
    curves.plot(list(known_chances), list(known_chances.values()), **appearance)
    curves.set_xticks(sorted(chances))
    curves.set_xlabel("solved examples of every class")
    curves.set_title("accuracy")
    percent_axis(curves)
    for axes, (name, numbers) in zip(beside, derived.items(), strict=True):
        _draw_derived(axes, name, numbers)
    legend_below(figure, curves)
    return figure


def _draw_derived(axes: Axes, title: str, numbers: Sequence[DerivedInterval]) -> None:
    """One dot with interval per subject, in the colour of its line; undefined numbers are marked as such."""
    for index, derived in enumerate(numbers):
        if math.isnan(derived.value):
            axes.annotate("undefined", (0.02, index), xycoords=("axes fraction", "data"), va="center", color=MUTED)
            continue
        draw_levels(axes, [derived], [index], horizontal=True, elinewidth=1.3, **series_appearance(index))
    axes.set_ylim(len(numbers) - 0.4, -0.6)
    axes.set_yticks([])
    defined = [derived for derived in numbers if not math.isnan(derived.value)]
    lowest = min([0.0, *(np.nanmin([derived.value, derived.low]) for derived in defined)])
    axes.set_xlim(max(-1.0, lowest) - 0.04, 1.04)
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}")
    axes.set_title(f"{title}, %")
    plain_axes(axes, "x")


# Figures 6 and 8


def strategies(curves: Sequence[tuple[str, AblationChange]], order: Sequence[str]) -> Figure:
    """Figure 6: accuracy over shots, unchanged (solid) and changed (dashed), by change (panel) and subject (colour)."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(change.original.name for _, change in curves))[:MAX_SERIES]
    panels = [name for name in order if any(strategy == name for strategy, _ in curves)]
    figure = Figure(figsize=(1.6 + 3.3 * len(panels), 3.6), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(panels), sharey=True, squeeze=False)[0], panels, strict=True):
        for strategy, change in curves:
            if strategy == panel and change.original.name in names:
                appearance = series_appearance(names.index(change.original.name))
                shots, before, after = list(change.before), list(change.before.values()), list(change.after.values())
                axes.plot(shots, before, linewidth=1.5, **appearance)
                axes.plot(list(change.after), after, linewidth=1.5, linestyle=(0, (3, 2)), **appearance)
                axes.fill_between(shots, before, after, color=appearance["color"], alpha=0.1)
        axes.set_title(panel)
        axes.set_xticks(sorted({k for strategy, change in curves if strategy == panel for k in change.before}))
        axes.set_xlabel("solved examples of every class")
        percent_axis(axes)
    handles = [Line2D([], [], label=two_lines(name), **series_appearance(index)) for index, name in enumerate(names)]
    kinds = [Line2D([], [], color=INK, label="unchanged"), Line2D([], [], color=INK, linestyle="--", label="changed")]
    figure.legend(handles=[*handles, *kinds], loc="outside lower left", ncols=4, fontsize=8.5)
    return figure


def causes(bars: Sequence[Bar], order: Sequence[str]) -> Figure:
    """Left: accuracy at 0 shots with each help, and without (tick). Right: the gain from each (Figure 8)."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    names = list(order)[:MAX_SERIES]
    helps = list(dict.fromkeys(name for _, name, *_ in bars))
    figure = Figure(figsize=(10.4, 1.3 + (0.2 + 0.2 * len(helps)) * len(names)), layout="constrained")
    left_axis, right = figure.subplots(1, 2, sharey=True)
    for name, help_name, before, after, gain in bars:
        if name not in names:
            continue
        height, index = 0.8 / len(helps), helps.index(help_name)
        y = names.index(name) + side_by_side(index, len(helps), height)
        colour = SERIES[index % len(SERIES)]
        left_axis.barh([y], [after], 0.86 * height, color=colour, alpha=0.8)
        left_axis.vlines([before], y - height / 2, y + height / 2, colors=INK, linewidth=2)
        if math.isnan(gain.value):
            right.annotate(" undefined", (0, y), va="center", color=MUTED, fontsize=8)
            continue
        right.barh([y], [gain.value], 0.86 * height, color=colour, alpha=0.8)
        if not math.isnan(gain.low):
            right.hlines([y], [gain.low], [gain.high], colors=INK, linewidth=1.1)
    left_axis.set_yticks(range(len(names)), [two_lines(name) for name in names])
    left_axis.set_ylim(len(names) - 0.45, -0.55)
    left_axis.set_xlim(0, 1.02)
    left_axis.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}")
    left_axis.set_title("percent right with the help (tick: without)")
    right.axvline(0, color=MUTED, linewidth=1.1)
    right.xaxis.set_major_formatter(lambda share, _: f"{100 * share:+.0f}" if share else "0")
    right.set_title("change in percent of accuracy without")
    for axes in (left_axis, right):
        plain_axes(axes, "x")
    handles = [Patch(color=SERIES[n % len(SERIES)], alpha=0.8, label=name) for n, name in enumerate(helps)]
    figure.legend(handles=handles, loc="outside lower left", ncols=3, fontsize=8.5)
    return figure


# Figure 7 and its like


def by_level(series: Sequence[LevelRows], levels: Sequence[str], chances: Mapping[str, float]) -> Figure:
    """Accuracy with interval by level, one marker per subject, chance as a dash at each level (Figure 7)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(6.4, 2.0 + 1.5 * len(levels)), 3.6), layout="constrained")
    axes = figure.subplots()
    _draw_series(axes, series, range(len(levels)), 0.5 / max(1, min(MAX_SERIES, len(series))), linewidth=0)
    draw_chances(axes, [chances[level] for level in levels], "random policy")
    level_axis(axes, levels)
    percent_axis(axes)
    legend_below(figure, axes, 2)
    return figure


def by_ways(series: Sequence[LevelRows], shot_counts: Sequence[int]) -> Figure:
    """Accuracy with interval by number of classes, with a line for chance."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes = figure.subplots()
    _draw_series(axes, series, shot_counts, 0.02 * (max(shot_counts) - min(shot_counts)), linewidth=0.8)
    counts = np.linspace(min(shot_counts), max(shot_counts), 60)
    axes.plot(counts, 1 / counts, color=MUTED, linestyle="--", linewidth=1.2, label="random policy")
    axes.set_xticks(shot_counts)
    axes.set_xlabel("classes to choose from")
    percent_axis(axes)
    legend_below(figure, axes, 2)
    return figure


def _draw_series(
    axes: Axes, series: Sequence[LevelRows], positions: Sequence[int], step: float, linewidth: float
) -> None:
    shown_series = series[:MAX_SERIES]
    for index, line in enumerate(shown_series):
        appearance = {**series_appearance(index), "linewidth": linewidth, "elinewidth": 1.3}
        shifted = [position + side_by_side(index, len(shown_series), step) for position in positions]
        draw_levels(axes, line.rows, shifted, label=two_lines(line.subject), **appearance)


# Confusions


def confused(sheet: Sequence[tuple[Confusion, Media, Media | None]], media: MediaFolder) -> Figure:
    """Images, each next to an example of the class it was taken for, two pairs per row."""
    from matplotlib.figure import Figure

    down = math.ceil(len(sheet) / 2)
    figure = Figure(figsize=(10.4, 2.9 * down), layout="constrained")
    panels = figure.subplots(down, 4, squeeze=False).ravel()
    for axes in panels:
        axes.set_axis_off()
    for index, (pair, image, example) in enumerate(sheet):
        query, demo = panels[2 * index], panels[2 * index + 1]
        query.set_title(two_lines(f"is “{pair.truth}”", 32), fontsize=8.5)
        demo.set_title(two_lines(f"taken for “{pair.other}”", 32), fontsize=8.5)
        small: dict[str, Any] = {"fontsize": 8, "color": MUTED, "va": "top"}
        query.text(0, -0.03, two_lines(pair.task, 40), transform=query.transAxes, **small)
        times = f"{pair.count} of {pair.chances} by {pair.subject}"
        demo.text(0, -0.03, two_lines(times, 40), transform=demo.transAxes, **small)
        query.imshow(_thumbnail(image, media))
        if example is None:
            demo.text(0.5, 0.5, "no image", ha="center", va="center", color=MUTED)
        else:
            demo.imshow(_thumbnail(example, media))
    return figure


def _thumbnail(image: Media, media: MediaFolder) -> Any:
    """The image as an array of at most `THUMB_PX` per side, to keep pages small."""
    small = media.open(image).convert("RGB")
    small.thumbnail((THUMB_PX, THUMB_PX))
    return np.asarray(small)
