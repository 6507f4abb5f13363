"""What the figures of reports and those among suites' pieces have in common: colours, and how axes and names look."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK, MUTED, FAINT = "#1c2733", "#66717d", "#dfe4e8"
SERIES = ("#0067a5", "#c4510c", "#1b8a5a", "#8a4f9e", "#a3871b", "#3d8fb5", "#b0415f", "#5b6770")
MARKS = "osD^vPX*"
"""One colour and one mark a subject: no more than eight can be told apart."""


def without_middle(name: str, room: int) -> str:
    """A name in at most `room` characters; the middle of a long one is left out, for names differ at their ends."""
    return name if len(name) <= room else f"{name[: room // 2]}…{name[-(room - 1 - room // 2) :]}"


def two_lines(name: str, width: int = 30) -> str:
    """A name in at most two lines, without its middle if it is long, broken where words end if that will do."""
    told = without_middle(name, 2 * width - 4)
    lines = textwrap.wrap(told, width)
    return "\n".join(lines if len(lines) <= 2 else (told[:width], told[width:]))


def plain_axes(axes: Axes, grid: Literal["x", "y"] = "y") -> None:
    """No frame, no ticks, and a faint grid behind that belongs to one axis."""
    axes.grid(axis=grid, color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.tick_params(length=0)


def percent_up(axes: Axes) -> None:
    """Plain axes with shares, 0 to 1, written in percent upwards."""
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0", "25", "50", "75", "100 %"))
    plain_axes(axes)
