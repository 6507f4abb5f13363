"""Values as text for goldens: sorted keys, ten significant digits, long texts and arrays as digests."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from snellen.core.hashing import sha256
from snellen.core.item import Item
from snellen.core.suite import Task

EMPTY: tuple[Any, ...] = ((), "", None, {})


def plain(value: Any) -> Any:
    """A value as JSON takes it. Items, specs and other dataclasses become mappings without their empty fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return plain({name: part for name, part in named.items() if isinstance(part, np.ndarray) or part not in EMPTY})
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray) and value.size > 64:
        digits = value if value.dtype.kind != "f" else np.array([float(f"{x:.6g}") + 0.0 for x in value.ravel()])
        return f"{value.dtype.kind} {value.shape} {sha256(np.ascontiguousarray(digits).tobytes())[:12]}"
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return 0.0 if abs(value) < 1e-9 else float(f"{value:.10g}")
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    return value if isinstance(value, str | int | bool | None) else repr(value)


def line(*values: Any) -> str:
    """Values in one line."""
    return " ".join(
        part if isinstance(part, str) else json.dumps(plain(part), ensure_ascii=False, default=str) for part in values
    )


METRIC_FACTS = ("name", "title", "unit", "worst", "best", "bounds", "share", "decimals", "binary")


def task_lines(task: Task, item: Item) -> list[str]:
    """What is declared of a task and its metrics, with their chance for an item."""
    asked = task.question_for_people and task.question_for_people(item.view())
    floor = [task.boxes_only(item)] if task.boxes_only else []
    lines = [line(task.id, task.kind, task.axes, task.train_split, task.split_by, task.boxes, task.cheap_sight)]
    lines.append(line(floor, task.without_boxes, asked))
    for protocol in task.protocols.values():
        lines.append(line(protocol.name, protocol.unreadable, protocol.threshold, protocol.tolerance))
        for metric in protocol.metrics:
            lines.append(line(*(getattr(metric, fact) for fact in METRIC_FACTS), metric.chance(item)))
    return lines
