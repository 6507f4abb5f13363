"""The figures of the suite's sections, drawn from names and numbers, without access to runs.

The report sets fonts and similar settings when it draws them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from snellen.analysis.plots import (
    INK,
    MAX_SERIES,
    MUTED,
    SERIES,
    draw_levels,
    legend_below,
    level_axis,
    percent_axis,
    plain_axes,
    series_appearance,
    side_by_side,
)
from snellen.analysis.run_view import ReportArm, arm_name, examined
from snellen.scoring.uncertainty import Paired

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FAMILIES = {"gc": "general cues", "oc": "objects", "pc": "people"}
MAX_SUBJECTS = 6
PAIR_CHANCE = 0.25
Bar: TypeAlias = tuple[ReportArm, str, str, Paired]
"""Plain arm, method, task, and the effect of the method."""
CueSeries: TypeAlias = tuple[str, ReportArm, Sequence[Any]]
"""Task, arm, and a row of results (or None) per cue."""


def _label(arm: ReportArm, width: int = 34) -> str:
    """An arm's name in at most two lines."""
    return "\n".join(textwrap.wrap(arm_name(*arm), width, max_lines=2, placeholder="…"))


def by_cue(series: Sequence[CueSeries], cues: Sequence[str]) -> Figure:
    """Pair accuracy with interval by cue, one panel per task, one marker per arm, with a line for chance.

    Only arms under vanilla are drawn, if there are any, since more would not be distinguishable.
    """
    from matplotlib.figure import Figure

    tasks = list(dict.fromkeys(task for task, _, _ in series))
    arms = examined(list(dict.fromkeys(arm for _, arm, _ in series)))
    arms = ([arm for arm in arms if arm.condition == "vanilla"] or arms)[:MAX_SERIES]
    rows = {(task, arm): levels for task, arm, levels in series}
    figure = Figure(figsize=(4.6 * len(tasks), 3.7), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(tasks), sharey=True, squeeze=False)).ravel()
    for axes, task in zip(panels, tasks, strict=True):
        axes.set_title(task)
        axes.axhline(PAIR_CHANCE, color=MUTED, linewidth=1.1, label="chance", zorder=1)
        for index, arm in enumerate(arms):
            shift = side_by_side(index, len(arms), 0.7 / len(arms))
            appearance = {**series_appearance(index), "linestyle": "none", "elinewidth": 1.3, "label": _label(arm)}
            levels = rows.get((task, arm), [None] * len(cues))
            draw_levels(axes, levels, [n + shift for n in range(len(cues))], **appearance)
        level_axis(axes, cues)
        percent_axis(axes)
    legend_below(figure, panels[0])
    return figure


def gains(bars: Sequence[Bar]) -> Figure:
    """Effect of each method in points with 95 % interval: one row per subject, one column per family (Figure 5)."""
    from matplotlib.figure import Figure

    arms = list(dict.fromkeys(arm for arm, *_ in bars))[:MAX_SUBJECTS]
    bars = [bar for bar in bars if bar[0] in arms]
    families = [name for name in FAMILIES if any(task.startswith(name) for _, _, task, _ in bars)]
    methods = list(dict.fromkeys(method for _, method, _, _ in bars))
    tasks = {name: list(dict.fromkeys(t for _, _, t, _ in bars if t.startswith(name))) for name in families}
    figure = Figure(figsize=(1.6 + 3.3 * len(families), 1.0 + 1.9 * len(arms)), layout="constrained")
    widths = [len(tasks[name]) for name in families]
    panels = figure.subplots(len(arms), len(families), sharey=True, squeeze=False, gridspec_kw={"width_ratios": widths})
    for (row, column), axes in np.ndenumerate(panels):
        panel_bars = [bar for bar in bars if bar[0] == arms[row] and bar[2] in tasks[families[column]]]
        _draw_bars(axes, panel_bars, tasks[families[column]], methods)
        axes.set_title(FAMILIES[families[column]] if row == 0 else "")
    for axes, arm in zip(panels[:, 0], arms, strict=True):
        axes.set_ylabel(_label(arm, 24))
        axes.yaxis.set_major_formatter(lambda points, _: f"{100 * points:+.0f}" if points else "0")
    handles = [_swatch(number, method) for number, method in enumerate(methods)]
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=min(5, len(handles)),
        alignment="left",
        title="points, with 95 % interval",
    )
    return figure


def set_statistics(by_task: Sequence[tuple[str, int]], by_format: Sequence[tuple[str, int]]) -> Figure:
    """Questions by task, coloured by family, and the share of each format of answer (Figure 4 has the former as a pie).

    Both are (name, number of questions), and have the same sum.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.6, 0.8 + 0.32 * max(len(by_task), len(by_format) + 2)), layout="constrained")
    tasks, formats = figure.subplots(1, 2)
    colours = dict(zip(FAMILIES, SERIES, strict=False))
    _labelled_bars(tasks, [(task, count, f"{count:,}", colours[task[:2]]) for task, count in by_task])
    total = sum(count for _, count in by_format)
    shares = [(name, 100 * count / total) for name, count in by_format]
    _labelled_bars(formats, [(name, share, f"{share:.1f} %", MUTED) for name, share in shares])
    tasks.set_title("questions by task")
    formats.set_title("format of the answer")
    present = {task[:2] for task, _ in by_task}
    handles = [_swatch(n, words) for n, (name, words) in enumerate(FAMILIES.items()) if name in present]
    figure.legend(handles=handles, loc="outside lower left", ncols=len(handles))
    return figure


def _labelled_bars(axes: Axes, labelled_lengths: Sequence[tuple[str, float, str, str]]) -> None:
    """Horizontal bars from the top down: name, length, text at the end, and colour."""
    names, lengths, texts, colours = zip(*labelled_lengths, strict=True)
    drawn = axes.barh(range(len(names)), lengths, color=colours, height=0.7, alpha=0.75)
    axes.bar_label(drawn, texts, padding=4)
    axes.set_yticks(range(len(names)), names)
    axes.set_xticks(())
    axes.set_xlim(0, 1.18 * max(lengths))
    axes.invert_yaxis()
    plain_axes(axes, "x")


def _draw_bars(axes: Axes, bars: Sequence[Bar], tasks: Sequence[str], methods: Sequence[str]) -> None:
    width = 0.8 / len(methods)
    for _, method, task, gap in bars:
        number = methods.index(method)
        position = tasks.index(task) + side_by_side(number, len(methods), width)
        axes.bar([position], [gap.difference], 0.9 * width, color=SERIES[number % len(SERIES)], alpha=0.75)
        axes.vlines([position], [gap.low], [gap.high], colors=INK, linewidth=1.1)
    axes.axhline(0, color=MUTED, linewidth=1.1)
    level_axis(axes, tasks)
    plain_axes(axes)


def _swatch(number: int, name: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(color=SERIES[number % len(SERIES)], alpha=0.75, label=name)
