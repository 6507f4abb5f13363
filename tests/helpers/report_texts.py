"""Reports and figures as text, to be compared with goldens."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Annotation
from rich.console import Console

from snellen import __version__
from snellen.reports import Report, print_table
from tests.goldens.house import page_text
from tests.reports.exam import suite_of


def report_text(report: Report) -> str:
    """The words of all pages, every table, what to cite, and what a terminal shows."""
    console = Console(file=io.StringIO(), width=160)
    console.print(print_table(report.results, suite_of=suite_of, can_grow=True))
    texts = ["".join(map(page_text, report.pages)), console.file.getvalue()]  # type: ignore[attr-defined]
    for pattern in (
        "tables/*.csv",
        "tables/*.tex",
        "tables/more/*.csv",
        "tables/more/*main.md",
        "tables/more/*main.tex",
    ):
        texts += [f"== {path.name}\n{path.read_text('utf-8')}" for path in sorted(report.root.glob(pattern))]
    texts.append(re.sub(r"version = \{.*\}", "version = {VERSION}", (report.root / "citation.bib").read_text("utf-8")))
    lines = (line.rstrip() for text in texts for line in text.split("\n"))
    return rounded("\n".join(lines))


def rounded(text: str) -> str:
    """The text without the version, and with few digits after a point: further ones depend on the processor."""
    text = text.replace(f"Snellen {__version__}", "Snellen VERSION")
    return re.sub(r"-?\d+\.\d{10,}(?:e-\d+)?", lambda match: f"{round(float(match[0]), 9):g}", text)


def figure_text(figure: Figure) -> str:
    """What a figure shows: its size, and the words, places and colours of everything in each of its axes."""
    width, height = figure.get_size_inches()
    lines = [f"{width:.2f} x {height:.2f}, title {figure.get_suptitle()!r}"]
    lines += [line for legend in figure.legends for line in _legend_lines(legend)]
    for axes in figure.axes:
        lines += _axes_lines(axes) if axes.get_visible() else ["no axes"]
    return "\n".join(lines) + "\n"


def _plain(numbers: Any) -> str:
    return str(np.asarray(numbers, np.float64).round(6).tolist())


def _style(line: Line2D) -> str:
    colour: Any = line.get_color()
    dashes = line._unscaled_dash_pattern  # type: ignore[attr-defined]
    face: Any = line.get_markerfacecolor()
    return f"{to_hex(colour)} {dashes} {line.get_linewidth():g} {line.get_marker()} {to_hex(face)}"


def _legend_lines(legend: Legend) -> Iterator[str]:
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        face = to_hex(handle.get_facecolor()) if isinstance(handle, Patch) else ""
        yield f"  legend {text.get_text()!r} {_style(handle) if isinstance(handle, Line2D) else face}"


def _axes_lines(axes: Axes) -> Iterator[str]:
    words = (axes.get_title("left") or axes.get_title(), axes.get_xlabel(), axes.get_ylabel())
    spines = [name for name, spine in axes.spines.items() if spine.get_visible()]
    yield f"{words}, {axes.get_xscale()} {_plain([*axes.get_xlim(), *axes.get_ylim()])}, spines {spines}"
    for axis in (axes.xaxis, axes.yaxis):
        labels = [label.get_text() for label in axis.get_ticklabels()]
        yield f"  {axis.axis_name}: {_plain(axis.get_ticklocs())} {labels}"
    if legend := axes.get_legend():
        yield from _legend_lines(legend)
    for line in axes.lines:
        yield f"  line {_style(line)} {_plain(line.get_xydata())}"
    places: Any
    for shapes in axes.collections:
        rgba: list[Any] = [*shapes.get_facecolor(), *shapes.get_edgecolor()]
        colours = [to_hex(colour) for colour in rgba]
        places = shapes.get_offsets() if isinstance(shapes, PathCollection) else []
        rows = shapes.get_segments() if isinstance(shapes, LineCollection) else []
        yield f"  shapes {colours} {_plain(places)} {[_plain(row) for row in rows]}"
    for patch in axes.patches:
        position = patch.get_bbox().bounds if isinstance(patch, Rectangle) else patch.get_path().vertices
        yield f"  patch {to_hex(patch.get_facecolor())} {to_hex(patch.get_edgecolor())} {_plain(position)}"
    for image in axes.images:
        yield f"  image {image.get_clim()} {_plain(image.get_array())}"
    for text in axes.texts:
        position = text.xy if isinstance(text, Annotation) else text.get_position()
        yield f"  text {text.get_text()!r} {to_hex(text.get_color())} {_plain(position)}"
