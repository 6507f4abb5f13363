"""Figures: dots with intervals, chance and people, one panel per task or arm. No display, no global state."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from snellen.analysis.grading.rows import rows_of
from snellen.analysis.tables.plots import FAINT, INK, MUTED, two_lines
from snellen.analysis.tables.run_view import examined_rows, lines_of
from snellen.analysis.tables.section import Run
from snellen.core.storage import files
from snellen.reports.rows import arm_order, level_order, metric_in, subgroups_of, whole_tasks_of
from snellen.reports.words import amount, colour, foreign

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ABOVE, SAME, BELOW, PEOPLE = "#0067a5", "#7d8894", "#c4510c", "#1b8a5a"
PART = "#3b8f94"
COLOURS = {"above": ABOVE, "same": SAME, "below": BELOW, "part": PART, "none": INK}
GRADE_COLOURS = (
    ("most or better", ABOVE, ABOVE), ("some", PART, PART), ("no grade", "white", SAME), ("none", BELOW, BELOW),
)  # fmt: skip
"""Names of grades in legends, with the colours of face and edge."""
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": FAINT,
    "axes.labelcolor": MUTED,
    "text.color": INK,
    "text.parse_math": False,  # names come from outside
    "xtick.color": MUTED,
    "xtick.labelsize": 8.5,
    "ytick.color": INK,
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "svg.hashsalt": "snellen",
    "figure.facecolor": "white",
    "legend.frameon": False,
}
SVG_ID = re.compile(rb'(?<=["#])\w*[0-9a-f]{10}(?=["\)])')
"""Made by matplotlib of positions, whose last bits differ between processes."""
SOLID: tuple[float, Sequence[float]] = (0, ())
DOTTED: tuple[float, Sequence[float]] = (0, (1, 1.6))
DASHED: tuple[float, Sequence[float]] = (0, (2, 1.5))
METADATA: dict[str, Any] = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None, "Creator": None}}
"""What files would otherwise say of when they were made."""
WIDTH = 11.9
"""Inches, about the width of the page."""
MAX_PANELS, MAX_LEVELS = 12, 40


@contextmanager
def style() -> Iterator[None]:
    """Context with the style of all figures. Characters that the font lacks become boxes, without a warning."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield


def as_png(figure: Figure) -> bytes:
    """The figure as PNG, for notebooks."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=110)
    return buffer.getvalue()


def fitted(name: str, width: int) -> str:
    """A name in at most two lines, made safe to show."""
    return two_lines(foreign(name, 400), width)


def overview(run: Run) -> Figure:
    """Figure with one panel per task and one row per arm."""
    rows = whole_tasks_of(run)
    arms = arm_order(rows)
    tasks = [task for task in run.suite.tasks if task in set(rows["task"])]
    panels = [(task, rows[rows["task"] == task].set_index("arm")) for task in tasks]
    return _panels(panels, arms, run, columns=4)


def strip(run: Run) -> Figure:
    """Figure with one square per arm and task: its colour is that of the grade, its text the score."""
    from matplotlib.figure import Figure

    rows = whole_tasks_of(run)
    arms = arm_order(rows)
    tasks = [task for task in run.suite.tasks if task in set(rows["task"])]
    labels = [fitted(name, 28) for name in arms]
    margin = 0.4 + 0.07 * max((len(line) for label in labels for line in label.split("\n")), default=0)
    figure = Figure(figsize=(max(6.4, margin + 0.72 * len(tasks)), 1.7 + 0.5 * len(arms)), layout="constrained")
    axes = figure.subplots()
    for row in rows_of(rows):
        position, state = (tasks.index(row.task), arms.index(row.arm)), colour(row.grade)
        face = "white" if state == "same" else COLOURS[state]
        axes.add_patch(_square(position, face, SAME if state == "same" else face))
        metric = metric_in(run.suite, row)
        text = amount(row.value, metric, unit=metric.share)
        ink = INK if face == "white" else "white"
        axes.annotate(text, position, ha="center", va="center", color=ink, fontsize=8.5)
    axes.set_xlim(-0.5, len(tasks) - 0.5)
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.set_xticks(range(len(tasks)), tasks, rotation=45, ha="right")
    axes.set_yticks(range(len(arms)), labels)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set_aspect("equal", anchor="W")
    squares = [_square((0, 0), face, edge, label=name) for name, face, edge in GRADE_COLOURS]
    figure.legend(handles=squares, loc="outside lower center", ncols=len(squares), fontsize=8.5)
    return figure


def _square(position: tuple[int, int], face: str, edge: str, **style: Any) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((position[0] - 0.45, position[1] - 0.45), 0.9, 0.9, facecolor=face, edgecolor=edge, **style)


def by_factor(run: Run, task: str, factor: str) -> Figure:
    """Figure with one panel per arm and one row per level. Simulated observers are left out if there are real subjects.

    Of too many arms the first ones under vanilla are shown.
    """
    rows = subgroups_of(run)
    rows = examined_rows(run, rows[(rows["task"] == task) & (rows["factor"] == factor) & (rows["n"] > 0)])
    arms = arm_order(rows)
    if len(arms) > MAX_PANELS:
        plain = set(rows.loc[rows["condition"] == "vanilla", "arm"])
        arms = sorted(arms, key=lambda arm: arm not in plain)[:MAX_PANELS]
    levels = level_order(run.items, task, factor, rows["level"])[:MAX_LEVELS]
    panels = [(arm, rows[rows["arm"] == arm].set_index("level")) for arm in arms]
    return _panels(panels, levels, run, columns=4)


def _panels(panels: Sequence[tuple[str, pd.DataFrame]], names: Sequence[str], run: Run, columns: int) -> Figure:
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    across = max(1, min(columns, len(panels)))
    down = max(1, ceil(len(panels) / across))
    labels = [fitted(name, 28) for name in names]
    margin = 0.07 * max((len(line) for label in labels for line in label.split("\n")), default=0)
    width = max(6.4, min(WIDTH, margin + 3.2 * across))
    row = 0.27 if all("\n" not in label for label in labels) else 0.36
    figure = Figure(
        figsize=(width, down * (0.85 + row * max(2, len(names))) + 0.35),
        layout=ConstrainedLayoutEngine(h_pad=0.09, hspace=0.05, wspace=0.03),
    )
    axes = np.atleast_1d(figure.subplots(down, across, sharey=True, squeeze=False)).ravel()
    for axis, (title, rows) in zip(axes, panels, strict=False):
        _dots(axis, title, rows.reindex(list(names)).reset_index(), run)
    for axis in axes[len(panels) :]:
        axis.set_visible(False)
    axes[0].set_yticks(range(len(names)), labels)
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    with_blind, with_people = (any(rows[name].notna().any() for _, rows in panels) for name in ("blind", "ceiling"))
    _legend(figure, with_blind, with_people)
    return figure


def _dots(axes: Axes, title: str, rows: pd.DataFrame, run: Run) -> None:
    """Draw one panel: lines for chance and interval, a dot for the value, filled if it has a grade."""
    responded = rows[rows["value"].notna()]
    axes.set_title(fitted(title, 26), pad=7)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0)
    axes.grid(axis="x", color=FAINT, linewidth=0.7)
    axes.set_axisbelow(True)
    scored = rows[rows["metric"].notna()]
    if scored.empty:
        return
    metric = metric_in(run.suite, next(rows_of(scored)))
    states = [colour(row.grade) for row in rows_of(responded)]
    colours = [COLOURS[state] for state in states]
    positions = responded.index.to_numpy(float)
    for column, line_colour, dashes in (
        ("chance", MUTED, SOLID),
        ("blind", MUTED, DOTTED),
        ("ceiling", PEOPLE, DASHED),
    ):
        with_chance = responded[responded[column].notna()]
        if with_chance[column].nunique() == 1:
            axes.axvline(with_chance[column].iloc[0], color=line_colour, linestyle=dashes, linewidth=1.1, zorder=1)
            continue
        y = with_chance.index.to_numpy(float)
        axes.vlines(
            with_chance[column].to_numpy(float), y - 0.5, y + 0.5, colors=line_colour, linestyles=dashes, linewidth=1.1
        )
    axes.hlines(
        positions, responded["low"].to_numpy(float), responded["high"].to_numpy(float), colors=colours, linewidth=1.6
    )
    faces = ["white" if state == "same" else colour for state, colour in zip(states, colours, strict=True)]
    axes.scatter(
        responded["value"].to_numpy(float), positions, s=26, c=faces, edgecolors=colours, linewidths=1.3, zorder=3
    )
    _unheard(axes, rows[rows["value"].isna()])
    if metric.share:
        axes.set_xlim(-0.03, 1.03)
        axes.set_xticks((0, 0.25, 0.5, 0.75, 1), ("0", "25", "50", "75", "100 %"))
    else:
        axes.set_xlabel(metric.words + ("" if metric.higher_is_better else " (lower is better)"))


def _unheard(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw words in place of missing dots."""
    for row in lines_of(rows):
        label = "declined" if row.not_applicable > 0 else "–"
        axes.annotate(
            label,
            (0.02, row.Index),
            xycoords=("axes fraction", "data"),
            va="center",
            color=SAME,
            fontsize=8.5,
            style="italic",
        )


def _legend(figure: Figure, with_blind: bool, with_people: bool) -> None:
    from matplotlib.lines import Line2D

    def dot(face: str, edge: str, name: str) -> Line2D:
        style: dict[str, Any] = {"markerfacecolor": face, "markeredgecolor": edge, "markersize": 5.5}
        return Line2D([], [], color=edge, marker="o", linewidth=1.6, label=name, **style)

    handles = [dot(face, edge, name) for name, face, edge in GRADE_COLOURS]
    handles.append(Line2D([], [], color=MUTED, linewidth=1.1, label="chance"))
    if with_blind:
        handles.append(Line2D([], [], color=MUTED, linewidth=1.1, linestyle=DOTTED, label="blind baseline"))
    if with_people:
        handles.append(Line2D([], [], color=PEOPLE, linewidth=1.1, linestyle=DASHED, label="people"))
    figure.legend(
        handles=handles, loc="outside lower left", ncols=len(handles), fontsize=8.5, handlelength=1.6, columnspacing=1.6
    )


def save(figure: Figure, folder: Path, name: str, *, formats: Sequence[str]) -> None:
    """Write a file in each of the formats (svg, png, pdf), with the same bytes every time."""
    names = dict[bytes, int]()
    figure.draw_without_rendering()  # lays out
    figure.set_layout_engine(None)  # otherwise every file would be laid out again
    for kind in formats:
        content = io.BytesIO()
        options: dict[str, Any] = {"dpi": 150, "pil_kwargs": {"compress_level": 3}} if kind == "png" else {}
        figure.savefig(content, format=kind, metadata=METADATA.get(kind), **options)
        data = content.getvalue()
        if kind == "svg":
            data = SVG_ID.sub(lambda match: b"i%d" % names.setdefault(match[0], len(names)), data)
        files.write_bytes(folder / f"{name}.{kind}", data)
