"""The figures among the suite's pieces. Nothing here knows of runs: names and numbers come in, a figure goes out."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from math import ceil
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.analysis.plots import FAINT, INK, MARKS, MUTED, SERIES
from snellen.core.runfolder import ArmCard

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_ARMS, MAX_MATRICES = 8, 6
Line: TypeAlias = tuple[str, str, Sequence[Any]]
"""Subject, condition, and a row of results (or None) a level."""


def arm_label(subject: str, condition: str) -> str:
    """How an arm is called in a figure, cut to a sane length."""
    name = subject if condition == "vanilla" else f"{subject} [{condition}]"
    return name if len(name) <= 60 else f"{name[:57]}…"


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib as mpl

    look: dict[Any, Any] = {
        "font.size": 9,
        "axes.titlesize": 9.5,
        "axes.titlelocation": "left",
        "axes.edgecolor": FAINT,
        "axes.labelcolor": MUTED,
        "text.color": INK,
        "text.parse_math": False,  # names are other people's
        "legend.frameon": False,
    }
    with mpl.rc_context(look):
        yield


def _styled(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    @wraps(draw)
    def drawn(*told: Any) -> Figure:
        with _style():
            return draw(*told)

    return drawn


def _shown(lines: Sequence[Line]) -> list[Line]:
    """Examined subjects rather than simulated ones, and not too many."""
    real = [line for line in lines if not line[0].startswith("fake:")]
    return (real or list(lines))[:MAX_ARMS]


def _percent_axis(axes: Axes) -> None:
    axes.set_ylim(-0.03, 1.03)
    axes.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0", "25", "50", "75", "100 %"))
    axes.grid(axis="y", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)


@_styled
def by_difficulty(lines: Sequence[Line], levels: Sequence[str]) -> Figure:
    """Accuracy with interval by level, one line an arm, chance as a line across."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes, shown = figure.subplots(), _shown(lines)
    for number, (subject, condition, rows) in enumerate(shown):
        at = [n + (number - (len(shown) - 1) / 2) * 0.05 for n, row in enumerate(rows) if row is not None]
        held = [row for row in rows if row is not None]
        value = np.array([row.value for row in held], float)
        ends = np.array([[row.low for row in held], [row.high for row in held]], float)
        colour, mark = SERIES[number % len(SERIES)], MARKS[number % len(MARKS)]
        look: dict[str, Any] = {"color": colour, "marker": mark, "markersize": 5, "linewidth": 1.4, "elinewidth": 1}
        axes.errorbar(at, value, yerr=np.abs(ends - value), label=arm_label(subject, condition), **look)
    axes.axhline(0.5, color=MUTED, linewidth=1.1, label="chance")
    axes.set_xticks(range(len(levels)), levels)
    _percent_axis(axes)
    figure.legend(loc="outside right upper")
    return figure


@_styled
def before_after(found: Sequence[tuple[ArmCard, str, float, float]]) -> Figure:
    """Accuracy without (hollow) and with solved examples (full), one panel a question, one row a subject."""
    from matplotlib.figure import Figure

    questions = list(dict.fromkeys(question for _, question, _, _ in found))
    arms = list(dict.fromkeys((arm.subject, arm.condition) for arm, *_ in found))[: 2 * MAX_ARMS]
    figure = Figure(figsize=(2.6 + 2.3 * len(questions), 1.1 + 0.34 * len(arms)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(questions), sharey=True, squeeze=False)).ravel()
    for axes, question in zip(panels, questions, strict=True):
        axes.set_title(question)
        for arm, asked, before, after in found:
            if asked == question and (place := (arm.subject, arm.condition)) in arms:
                y = arms.index(place)
                axes.annotate("", (after, y), (before, y), arrowprops={"arrowstyle": "-", "color": SERIES[0]})
                axes.scatter([before], [y], s=28, facecolor="white", edgecolor=SERIES[0], zorder=3)
                axes.scatter([after], [y], s=28, color=SERIES[0], zorder=3)
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks((0, 0.5, 1), ("0", "50", "100 %"))
        axes.grid(axis="x", color=FAINT, linewidth=0.7)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(length=0)
    labels = ["\n".join(textwrap.wrap(arm_label(*arm), 30)) for arm in arms]
    panels[0].set_yticks(range(len(arms)), labels)
    panels[0].set_ylim(len(arms) - 0.5, -0.5)
    return figure


@_styled
def confusions(matrices: Sequence[tuple[str, NDArray[np.int64]]], kinds: Sequence[str]) -> Figure:
    """One panel an arm: rows are true, columns were said, cells hold percent of the row."""
    from matplotlib.figure import Figure

    shown = matrices[:MAX_MATRICES]
    across = min(3, len(shown))
    down = ceil(len(shown) / across)
    side = 0.42 * len(kinds)
    figure = Figure(figsize=(1.1 + across * (side + 0.75), down * (side + 1.15)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)).ravel()
    for axes, (arm, counts) in zip(panels, shown, strict=False):
        _heat(axes, "\n".join(textwrap.wrap(arm, max(18, 6 * len(kinds)))), counts, kinds)
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    return figure


def _heat(axes: Axes, title: str, counts: NDArray[np.int64], kinds: Sequence[str]) -> None:
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        if counts[row, column]:
            ink = "white" if share > 0.55 else INK
            axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=ink, fontsize=7.5)
    axes.set_title(title)
    axes.set_xticks(range(len(kinds) + 1), [*kinds, "–"], rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(kinds)), kinds)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
