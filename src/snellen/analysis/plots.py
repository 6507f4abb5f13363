"""Shared parts of the figures of reports and sections: colours, axes, names, levels with bars."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
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
