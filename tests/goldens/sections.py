"""Report sections and figures as texts, to be compared with goldens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Annotation

from snellen.analysis.tables.section import ReportSection
from tests.goldens.descriptions import line


def sections_text(sections: Iterable[ReportSection]) -> str:
    """Titles, notes, tables and figures of sections."""
    blocks = []
    for section in sections:
        blocks += [f"== {section.name}: {section.title}{' (detail)' * section.detail}", section.note]
        if section.table is not None:
            blocks.append(section.table.to_csv(index=False, sep="|", float_format="%.7g").strip())
        if section.figure is not None:
            blocks.append(figure_text(section.figure() if callable(section.figure) else section.figure).rstrip())
    return "\n".join(blocks) + "\n"


def figure_text(figure: Figure) -> str:
    """What a figure shows: its size, and the words, places and colours of everything in each of its axes."""
    lines = [f"figure {line(figure.get_size_inches())} {figure.get_suptitle()!r}"]
    lines += [text for legend in figure.legends for text in _legend_lines(legend)]
    for axes in figure.axes:
        lines += _axes_lines(axes) if axes.get_visible() else ["no axes"]
    return "\n".join(lines) + "\n"


def _some(points: Any) -> list[Any]:
    """The points of a line: all, or about twelve of many."""
    points = np.ma.filled(np.ma.asarray(points, np.float64), np.nan)
    return list(points[:: max(1, len(points) // 12)].tolist())


def _colours(*parts: Any) -> str:
    return " ".join(to_hex(colour, keep_alpha=True) for part in parts for colour in part)


def _style(curve: Line2D) -> str:
    dashes: Any = curve._unscaled_dash_pattern  # type: ignore[attr-defined]
    colours: Any = [curve.get_color(), curve.get_markerfacecolor()]
    return f"{_colours(colours)} {dashes} {curve.get_linewidth():g} {curve.get_marker()}"


def _legend_lines(legend: Legend) -> Iterator[str]:
    for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
        face = _colours([handle.get_facecolor()]) if isinstance(handle, Patch) else ""
        yield f"  legend {text.get_text()!r} {_style(handle) if isinstance(handle, Line2D) else face}"


def _axes_lines(axes: Axes) -> Iterator[str]:
    spines = [name for name, spine in axes.spines.items() if spine.get_visible()]
    yield f"{axes.get_title('left')!r} {axes.get_title()!r}, spines {spines}"
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)) if axes.axison else ():
        labels = [label.get_text() for label in axis.get_ticklabels()]
        limits = getattr(axes, f"get_{name}lim")()
        yield f"  {name} {axis.get_label_text()!r} {axis.get_scale()} {line(limits, axis.get_ticklocs(), labels)}"
    if legend := axes.get_legend():
        yield from _legend_lines(legend)
    for curve in axes.lines:
        yield f"  line {_style(curve)} {line(_some(curve.get_xydata()))}"
    for shapes in axes.collections:
        yield f"  shapes {_colours(shapes.get_facecolor(), shapes.get_edgecolor())} {line(*_places(shapes))}"
    for patch in axes.patches:
        corners = patch.get_patch_transform().transform(patch.get_path().vertices)
        yield f"  patch {_colours([patch.get_facecolor(), patch.get_edgecolor()])} {line(_some(corners))}"
    for image in axes.images:
        pixels = np.asarray(image.get_array(), float)
        values = pixels if pixels.size <= 64 else [*pixels.shape, round(pixels.mean(), 1)]
        yield f"  image {line(image.get_clim(), image.get_extent(), values)}"
    for text in axes.texts:
        position = text.xy if isinstance(text, Annotation) else text.get_position()
        yield f"  text {text.get_text()!r} {to_hex(text.get_color())} {line(position)}"


def _places(shapes: Any) -> list[Any]:
    """Where the shapes of a collection are: dots with their sizes, or points of their outlines."""
    if isinstance(shapes, PathCollection):
        return [_some(shapes.get_offsets()), shapes.get_sizes()]
    outlines = shapes.get_segments() if isinstance(shapes, LineCollection) else [p.vertices for p in shapes.get_paths()]
    return [_some(outline) for outline in outlines]
