"""The figures of the suite's sections, drawn from names and numbers, without access to runs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from snellen.analysis.plots import (
    INK,
    MAX_SERIES,
    MUTED,
    SERIES,
    draw_levels,
    percent_axis,
    plain_axes,
    series_appearance,
    side_by_side,
    without_middle,
)
from snellen.analysis.run_view import ReportArm, arm_name, examined

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_MATRICES = 6
SMALL_TYPE: dict[Any, Any] = {"font.size": 9, "axes.titlesize": 9.5, "text.parse_math": False}
"""Small type for small panels. Math parsing is off, since names are not formulas."""


def arm_label(arm: ReportArm) -> str:
    """The name of an arm in a figure, shortened."""
    return without_middle(arm_name(*arm), 60)


@contextmanager
def _small_type() -> Iterator[None]:
    import matplotlib as mpl

    with mpl.rc_context(SMALL_TYPE):
        yield


@_small_type()
def by_difficulty(arm_rows: Sequence[tuple[ReportArm, Sequence[Any]]], levels: Sequence[str]) -> Figure:
    """Accuracy with interval by level, one line per arm, with a line for chance.

    `arm_rows` are arms, each with a row of results (or None) per level; simulated subjects are drawn only if there are
    no others.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 3.6), layout="constrained")
    axes, series_drawn = figure.subplots(), examined([arm for arm, _ in arm_rows])[:MAX_SERIES]
    rows_by_arm = dict(arm_rows)
    for index, arm in enumerate(series_drawn):
        positions = [n + side_by_side(index, len(series_drawn), 0.05) for n in range(len(levels))]
        appearance = {**series_appearance(index), "linewidth": 1.4, "elinewidth": 1, "label": arm_label(arm)}
        draw_levels(axes, rows_by_arm[arm], positions, **appearance)
    axes.axhline(0.5, color=MUTED, linewidth=1.1, label="chance")
    axes.set_xticks(range(len(levels)), levels)
    percent_axis(axes)
    axes.spines["bottom"].set_visible(True)
    figure.legend(loc="outside right upper")
    return figure


@_small_type()
def before_after(scores_by_arm: Sequence[tuple[ReportArm, str, float, float]]) -> Figure:
    """Accuracy without (hollow) and with solved examples (filled), one panel per question, one row per subject.

    `scores_by_arm` are arm, question, and accuracy without and with examples.
    """
    from matplotlib.figure import Figure

    questions = list(dict.fromkeys(question for _, question, _, _ in scores_by_arm))
    arms = list(dict.fromkeys(arm for arm, *_ in scores_by_arm))[: 2 * MAX_SERIES]
    figure = Figure(figsize=(2.6 + 2.3 * len(questions), 1.1 + 0.34 * len(arms)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(questions), sharey=True, squeeze=False)).ravel()
    for axes, question in zip(panels, questions, strict=True):
        axes.set_title(question)
        for arm, gain_question, before, after in scores_by_arm:
            if gain_question == question and arm in arms:
                y = arms.index(arm)
                axes.annotate("", (after, y), (before, y), arrowprops={"arrowstyle": "-", "color": SERIES[0]})
                axes.scatter([before], [y], s=28, facecolor="white", edgecolor=SERIES[0], zorder=3)
                axes.scatter([after], [y], s=28, color=SERIES[0], zorder=3)
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks((0, 0.5, 1), ("0", "50", "100 %"))
        plain_axes(axes, "x")
        axes.spines["bottom"].set_visible(True)
    labels = ["\n".join(textwrap.wrap(arm_label(arm), 30)) for arm in arms]
    panels[0].set_yticks(range(len(arms)), labels)
    panels[0].set_ylim(len(arms) - 0.5, -0.5)
    return figure


@_small_type()
def confusions(matrices: Sequence[tuple[str, NDArray[np.int64]]], answers: Sequence[str]) -> Figure:
    """One panel per arm: rows are true values, columns are answers, cells are percent of the row."""
    from matplotlib.figure import Figure

    matrices_drawn = matrices[:MAX_MATRICES]
    across = min(3, len(matrices_drawn))
    down = ceil(len(matrices_drawn) / across)
    side = 0.42 * len(answers)
    figure = Figure(figsize=(1.1 + across * (side + 0.75), down * (side + 1.15)), layout="constrained")
    panels = np.atleast_1d(figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)).ravel()
    for axes, (arm, counts) in zip(panels, matrices_drawn, strict=False):
        _heat(axes, "\n".join(textwrap.wrap(arm, max(18, 6 * len(answers)))), counts, answers)
    for axes in panels[len(matrices_drawn) :]:
        axes.set_visible(False)
    return figure


def _heat(axes: Axes, title: str, counts: NDArray[np.int64], answers: Sequence[str]) -> None:
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        if counts[row, column]:
            ink = "white" if share > 0.55 else INK
            axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=ink, fontsize=7.5)
    axes.set_title(title)
    axes.set_xticks(range(len(answers) + 1), [*answers, "–"], rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(answers)), answers)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
