"""Item sets, report sections, figures and other values as texts, to be compared with goldens.

Numbers have seven digits, since later ones depend on the processor. Images are named by their size and pixels, and
other hashes by their order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np

from snellen.analysis.tables.section import ReportSection
from snellen.core.hashing import sha256
from snellen.core.item import Media
from snellen.core.score import Metric
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import Task

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plain(value: Any) -> Any:
    """The value as JSON has it: fields of a dataclass that differ from their default, numbers of seven digits."""
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float | np.floating):
        return float(f"{round(float(value), 7) + 0.0:.7g}")
    if isinstance(value, np.ndarray):
        return [*value.shape, sha256(np.ascontiguousarray(value).tobytes())[:8]] if value.size > 40 else plain([*value])
    if isinstance(value, Mapping):
        return {str(key): plain(content) for key, content in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if is_dataclass(value):
        changed = [field for field in fields(value) if _is_changed(field.default, getattr(value, field.name))]
        return {field.name: plain(getattr(value, field.name)) for field in changed}
    return value.name if isinstance(value, PurePath) else plain(value.item()) if hasattr(value, "item") else repr(value)


def _is_changed(default: Any, value: Any) -> bool:
    return default is MISSING or bool(value != default)


def line(value: Any) -> str:
    """The value in one line."""
    return json.dumps(plain(value), ensure_ascii=False)


def image_name(media: Media, folder: MediaFolder) -> str:
    """Size and pixels of an image, or size and duration of a video."""
    if media.kind != "image":
        return f"<{media.width}x{media.height} {media.seconds:.2f} s>"
    with folder.open(media) as image:
        return f"<{media.width}x{media.height} {sha256(image.convert('RGB').tobytes())[:6]}>"


def set_text(items: ItemSet) -> str:
    """The card and the items of a set."""
    names = {media.sha256: image_name(media, items.media) for item in items.items for media in item.media()}
    card = {name: getattr(items.card, name) for name in ("suite", "source", "recipe", "counts", "notes")}
    rows = [line(card), *map(line, items.items)]
    text = re.sub(r'"(kind|format|width|height)": ("image"|"png"|\d+)(, )?', "", "\n".join(rows))
    for sha, name in names.items():
        text = text.replace(sha, name).replace(sha[:16], name)
    order: dict[str, str] = {}
    return re.sub(r"\b[0-9a-f]{10,64}\b", lambda match: order.setdefault(match[0], f"#{len(order)}"), text) + "\n"


# Tasks

FUNCTIONS = ("boxes_only", "colour_only", "question_for_people", "schedule", "read_verdict", "agrees", "judge")
"""Functions that a task or a protocol may lack."""


def present(declared: Any) -> list[str]:
    return [name for name in FUNCTIONS if getattr(declared, name, None) is not None]


def task_lines(task: Task) -> list[str]:
    """A task with its protocols and metrics."""
    names = ("id", "kind", "axes", "train_split", "split_by", "boxes", "without_boxes", "cheap_sight")
    lines = [line([*(getattr(task, name) for name in names), present(task)])]
    for name, protocol in task.protocols.items():
        settings = protocol.name, protocol.unreadable, protocol.threshold, protocol.tolerance, present(protocol)
        lines.append(f"  {name}: {line(settings)} {line([metric_fields(metric) for metric in protocol.metrics])}")
    return lines


def metric_fields(metric: Metric) -> list[Any]:
    names = ("name", "worst", "higher_is_better", "summary", "share", "decimals", "binary", "bounds", "title", "remark")
    return [*(getattr(metric, name) for name in names), metric.unit, metric.estimate is not None]


# Sections


def sections_text(sections: Iterable[ReportSection]) -> str:
    """Titles, notes, tables and figures of sections."""
    blocks = []
    for section in sections:
        blocks += [f"== {section.name}: {section.title}{' (detail)' * section.detail}", section.note]
        if section.table is not None:
            blocks.append(section.table.to_csv(index=False, sep="|", float_format="%.7g").strip())
        if section.figure is not None:
            blocks.append(figure_text(section.figure() if callable(section.figure) else section.figure))
    return "\n".join(blocks) + "\n"


def figure_text(figure: Figure) -> str:
    """What a figure shows: its size, legends, and of every panel titles, axes, lines, marks, bars, words and images."""
    legends = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    lines = [f"figure {line(list(figure.get_size_inches()))} {line(legends)}"]
    for axes in figure.axes:
        lines += _axes_lines(axes)
    return "\n".join(lines)


def some(points: Any) -> Any:
    """The points of a line: all, or some twelve of many."""
    return np.asarray(points)[:: max(1, len(points) // 12)].tolist()


def _axes_lines(axes: Axes) -> Iterable[str]:
    from matplotlib.collections import PathCollection

    yield f"panel {axes.get_title()!r} {axes.get_title('left')!r}"
    if axes.axison:
        for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            ends = getattr(axes, f"get_{name}lim")()
            labels = axis.get_major_formatter().format_ticks(axis.get_majorticklocs().tolist())
            yield f" {name} {axis.get_label_text()!r} {axis.get_scale()} {line(list(ends))} {line(labels)}"
    for curve in axes.get_lines():
        style = [getattr(curve, f"get_{name}")() for name in ("color", "linestyle", "marker", "linewidth")]
        yield f" line {line(style)} {line(some(curve.get_xydata()))}"
    for shapes in axes.collections:
        parts: list[Any] = [path.vertices for path in shapes.get_paths()]
        if isinstance(shapes, PathCollection):  # dots
            parts = [np.ma.filled(shapes.get_offsets(), np.nan), shapes.get_sizes()]
        yield f" {type(shapes).__name__} {line(shapes.get_facecolor())} {line([some(part) for part in parts])}"
    for patch in axes.patches:
        corners = some(patch.get_patch_transform().transform(patch.get_path().vertices))
        yield f" {type(patch).__name__} {line(patch.get_facecolor())} {line(corners)}"
    for words in axes.texts:
        yield f" words {words.get_text()!r} {line(words.get_position())}"
    for image in axes.get_images():
        pixels = np.asarray(image.get_array(), float)
        yield f" image {line(image.get_extent())} {line([*pixels.shape, round(pixels.mean(), 1)])}"
    if legend := axes.get_legend():
        yield f" legend {line([text.get_text() for text in legend.get_texts()])}"
