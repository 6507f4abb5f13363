"""Shared parts of the figures of reports and sections: colours, axes, names, levels with bars."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, FAINT = "#1c2733", "#66717d", "#dfe4e8"
SERIES = ("#0067a5", "#c4510c", "#1b8a5a", "#8a4f9e", "#a3871b", "#3d8fb5", "#b0415f", "#5b6770")
MARKS = "osD^vPX*"
"""One colour and one mark per subject: no more than eight are distinguishable."""
MAX_SERIES = len(SERIES)
"""Subjects in one panel."""


# Names


def without_middle(name: str, max_length: int) -> str:
    """A name in at most `max_length` characters; long ones lose their middle, since names differ at their ends."""
    if len(name) <= max_length:
        return name
    return f"{name[: max_length // 2]}…{name[-(max_length - 1 - max_length // 2) :]}"


def two_lines(name: str, width: int = 30) -> str:
    """A name in at most two lines, without its middle if it is long, broken between words if possible."""
    text = without_middle(name, 2 * width - 4)
    lines = textwrap.wrap(text, width)
    return "\n".join(lines if len(lines) <= 2 else (text[:width], text[width:]))


# Axes


def panel_figure(across: int, size: tuple[float, float], down: int = 1, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure of this size in inches, and its panels row by row. `options` are passed to `Figure.subplots`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, list(figure.subplots(down, across, squeeze=False, **options).ravel())


def plain_axes(axes: Axes, grid: Literal["x", "y"] = "y") -> None:
    """Remove frame and ticks, and draw a faint grid for one axis behind the data."""
    axes.grid(axis=grid, color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.tick_params(length=0)


def percent_axis(axes: Axes) -> None:
    """Plain axes with a y axis of shares, 0 to 1, in percent."""
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0", "25", "50", "75", "100 %"))
    plain_axes(axes)


def level_axis(axes: Axes, levels: Sequence[str]) -> None:
    """Put names of levels along the x axis, at 0, 1, 2 ..., with half a step of room at both ends."""
    axes.set_xticks(range(len(levels)), levels)
    axes.set_xlim(-0.5, len(levels) - 0.5)


def legend_below(figure: Figure, axes: Axes, columns: int = 3) -> None:
    """Put the legend of these axes below the whole figure."""
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower left", ncols=columns, fontsize=8.5)


# Series


def series_appearance(index: int) -> dict[str, Any]:
    """Colour and mark of the subject with this index."""
    return {"color": SERIES[index % len(SERIES)], "marker": MARKS[index % len(MARKS)], "markersize": 5}


def side_by_side(index: int, count: int, step: float) -> float:
    """The offset of the series with this index, so that `count` series do not cover each other."""
    return (index - (count - 1) / 2) * step


def draw_levels(
    axes: Axes,
    rows: Sequence[Any],
    positions: Sequence[float],
    *,
    scale: float = 1.0,
    horizontal: bool = False,
    **appearance: Any,
) -> None:
    """Draw one series of levels with error bars: a row of results (or None: a gap) at each position.

    Numbers are multiplied by `scale`. `appearance` is passed to `Axes.errorbar`; without `linestyle` or `linewidth` the
    levels are joined. A row without an interval has no bar.
    """
    present = [(position, row) for position, row in zip(positions, rows, strict=True) if row is not None]
    centers = [position for position, _ in present]
    scores = scale * np.array([row.value for _, row in present], float)
    ends = scale * np.array([[row.low for _, row in present], [row.high for _, row in present]], float)
    bars = np.nan_to_num(np.abs(ends - scores))
    if horizontal:
        axes.errorbar(scores, centers, xerr=bars, **appearance)
    else:
        axes.errorbar(centers, scores, yerr=bars, **appearance)


def draw_chances(axes: Axes, chances: Sequence[float], label: str = "chance") -> None:
    """Draw a dash at the chance level of each level."""
    positions = np.arange(len(chances))
    appearance: dict[str, Any] = {"colors": MUTED, "linestyles": "--", "linewidth": 1.2, "label": label}
    axes.hlines(np.array(chances, float), positions - 0.35, positions + 0.35, **appearance)


# Whole figures


@dataclass(frozen=True)
class LevelPanel:
    """Scores by level: one row of results (or None) per level for each subject by its name, and chance by level."""

    title: str
    levels: Sequence[str]
    rows: Mapping[str, Sequence[Any]]
    chances: Sequence[float]


def level_figure(panels: Sequence[LevelPanel], chance: str = "chance", linestyle: str = "none") -> Figure:
    """Shares with intervals by level, one mark per subject, and chance as a dash at each level."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.rows))[:MAX_SERIES]
    width = max(6.4, 2.0 + 1.5 * sum(len(panel.levels) for panel in panels))
    figure, columns = panel_figure(len(panels), (width, 3.7), sharey=True)
    for axes, panel in zip(columns, panels, strict=True):
        for index, name in enumerate(names):
            shift = side_by_side(index, len(names), 0.6 / len(names))
            appearance = {**series_appearance(index), "linestyle": linestyle, "label": two_lines(name)}
            rows = panel.rows.get(name, [None] * len(panel.levels))
            draw_levels(axes, rows, [n + shift for n in range(len(panel.levels))], elinewidth=1.3, **appearance)
        draw_chances(axes, panel.chances, chance)
        axes.set_title(panel.title)
        level_axis(axes, panel.levels)
        percent_axis(axes)
    legend_below(figure, columns[0], 2)
    return figure


def before_after(
    ends_by_title: Mapping[str, Mapping[str, tuple[float, float]]], words: tuple[str, str], chance: float = np.nan
) -> Figure:
    """Two shares of each subject, joined by a line: a ring for the first, a dot for the second; a panel per title."""
    names = list(dict.fromkeys(name for shares in ends_by_title.values() for name in shares))[: 2 * MAX_SERIES]
    size = 2.6 + max(4.6, 2.3 * len(ends_by_title)), 1.4 + 0.36 * len(names)
    figure, columns = panel_figure(len(ends_by_title), size, sharey=True)
    for axes, (title, shares) in zip(columns, ends_by_title.items(), strict=True):
        heights = [y for y, name in enumerate(names) if name in shares]
        first, second = np.array([shares[names[y]] for y in heights]).T
        axes.hlines(heights, first, second, color=FAINT, linewidth=3, zorder=1)
        axes.scatter(first, heights, facecolor="white", edgecolor=SERIES[0], s=45, label=words[0])
        axes.scatter(second, heights, color=SERIES[1], s=45, label=words[1])
        if not np.isnan(chance):
            axes.axvline(chance, color=MUTED, linestyle="--", linewidth=1.1, label="chance")
        axes.set_title(title)
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks((0, 0.5, 1), ("0", "50", "100 %"))
        plain_axes(axes, "x")
    columns[0].set_yticks(range(len(names)), [two_lines(name) for name in names])
    columns[0].set_ylim(len(names) - 0.5, -0.5)
    legend_below(figure, columns[0])
    return figure


def draw_heat(axes: Axes, shades: Any, texts: Sequence[Sequence[str]], names: Sequence[str], heads: Any) -> None:
    """Cells from white (a shade of 0) to dark (1), each with its text; names of rows, heads of columns."""
    axes.imshow(shades, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), shade in np.ndenumerate(shades):
        ink = "white" if shade > 0.55 else INK
        axes.text(column, row, texts[row][column], ha="center", va="center", color=ink, fontsize=7.5)
    axes.set_xticks(range(len(heads)), heads, rotation=40, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
