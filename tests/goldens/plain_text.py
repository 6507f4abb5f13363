"""Values as text for goldens: ten significant digits, many numbers as their digest."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from snellen.analysis.tables.section import ReportSection
from snellen.core.hashing import sha256
from snellen.core.item import Item
from snellen.core.suite import Task
from tests.goldens.golden import assert_golden

EMPTY: tuple[Any, ...] = ((), "", None, {})
METRIC_FACTS = ("name", "title", "unit", "worst", "best", "bounds", "share", "decimals", "binary")


def plain(value: Any) -> Any:
    """A value as JSON takes it. Items, specs and other dataclasses become mappings without their empty fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return plain({name: part for name, part in named.items() if isinstance(part, np.ndarray) or part not in EMPTY})
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray) and value.size > 64:
        digits = np.array([float(f"{x:.6g}") + 0.0 for x in value.ravel()])
        return f"{value.shape} {sha256(digits.tobytes())[:12]}"
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return 0.0 if abs(value) < 1e-9 else float(f"{value:.10g}")
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value if isinstance(value, str | int | bool | None) else repr(value)


def line(*values: Any) -> str:
    """Values in one line."""
    return " ".join(part if isinstance(part, str) else json.dumps(plain(part), ensure_ascii=False) for part in values)


def short(*values: Any) -> str:
    """The digest of their line."""
    return sha256(line(*values).encode())[:12]


def assert_rows(name: str, rows: Iterable[Any]) -> None:
    """Texts, and tuples of values by their line, equal the golden of this name."""
    assert_golden(name, "".join(f"{line(*row) if isinstance(row, tuple) else line(row)}\n" for row in rows))


def task_rows(task: Task, item: Item) -> list[Any]:
    """What is declared of a task and its metrics, with their chance for an item."""
    question = task.question_for_people and task.question_for_people(item.view())
    floor = [task.boxes_only(item)] if task.boxes_only else []
    rows: list[Any] = [
        (task.id, task.kind, task.axes, task.train_split, task.split_by, task.boxes, task.cheap_sight),
        (floor, task.without_boxes, question),
    ]
    for protocol in task.protocols.values():
        rows.append((protocol.name, protocol.unreadable, protocol.threshold, protocol.tolerance))
        for metric in protocol.metrics:
            rows.append((*(getattr(metric, fact) for fact in METRIC_FACTS), metric.chance(item)))
    return rows


def section_rows(sections: Iterable[ReportSection]) -> list[Any]:
    """Titles, notes and tables of sections."""
    rows = list[Any]()
    for section in sections:
        table = "" if section.table is None else section.table.to_csv(index=False, lineterminator="\n")
        rows += [f"== {section.name}: {section.title} ({section.detail})", section.note, table]
    return rows


def figure_rows(figure: Figure) -> list[Any]:
    """What each panel of a figure draws: words, ends of lines, shades."""
    rows = list[Any]()
    for axes in figure.axes:
        words = axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), [text.get_text() for text in axes.texts]
        ticks = [[label.get_text() for label in labels] for labels in (axes.get_xticklabels(), axes.get_yticklabels())]
        key = axes.get_legend()
        legend = [text.get_text() for text in key.get_texts()] if key is not None else []
        rows.append((axes.get_visible(), words, ticks, legend))
        rows += [
            (curve.get_label(), *curve.get_data(), curve.get_linestyle(), curve.get_color()) for curve in axes.lines
        ]
        rows += [np.asarray(marks.get_offsets()).round(6).tolist() for marks in axes.collections]
        rows += [np.asarray(image.get_array()).round(6).tolist() for image in axes.images]
    return [*rows, [text.get_text() for legend in figure.legends for text in legend.get_texts()]]
