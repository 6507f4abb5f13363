"""Values, item sets and tasks as texts, to be compared with goldens.

Numbers have seven digits, since later ones depend on the processor. Hashes of files are numbered by their order, since
encoders of images differ between versions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import PurePath
from typing import Any

import numpy as np

from snellen.core.hashing import digest, sha256
from snellen.core.item import Item, Media
from snellen.core.score import Metric
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import Task
from tests.goldens.golden import assert_golden

# Values


def plain(value: Any, digits: int = 7) -> Any:
    """The value as JSON has it: fields of a dataclass that differ from their default, numbers of so many digits.

    Of arrays with more than 64 values it is their shape, and the digest of six digits.
    """
    if isinstance(value, bool | int | str | None):
        return value
    if isinstance(value, float | np.floating):
        return float(f"{round(float(value), max(digits, 9)) + 0.0:.{digits}g}")
    if isinstance(value, np.ndarray) and value.size > 64:
        return f"{value.shape} {digest([f'{number:.6g}' for number in (value + 0.0).ravel().tolist()], 12)}"
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), digits)
    if isinstance(value, Mapping):
        return {str(key): plain(content, digits) for key, content in value.items()}
    if isinstance(value, list | tuple | range):
        return [plain(part, digits) for part in value]
    if isinstance(value, set | frozenset):
        return sorted(map(str, value))
    if is_dataclass(value) and not isinstance(value, type):
        contents = {field: getattr(value, field.name) for field in fields(value) if field.repr}
        return {field.name: plain(part, digits) for field, part in contents.items() if _is_changed(field.default, part)}
    return value.as_posix() if isinstance(value, PurePath) else repr(value)


def _is_changed(default: Any, value: Any) -> bool:
    is_empty = isinstance(value, str | tuple | dict) and not value
    return not is_empty and (default is MISSING or isinstance(value, np.ndarray) or bool(value != default))


def line(*values: Any, digits: int = 7) -> str:
    """Values in one line: texts as they are, others as JSON."""
    texts = (part if isinstance(part, str) else json.dumps(plain(part, digits), ensure_ascii=False) for part in values)
    return " ".join(texts)


def short(*values: Any) -> str:
    """The digest of their line."""
    return sha256(line(*values).encode())[:12]


def assert_lines(name: str, rows: Iterable[Any]) -> None:
    """The line of each row, of a tuple that of its values, equals the golden of this name."""
    assert_golden(name, "".join(f"{line(*row) if isinstance(row, tuple) else line(row)}\n" for row in rows))


# Item sets


def image_name(media: Media, folder: MediaFolder) -> str:
    """Size and pixels of an image, or size and duration of a video."""
    if media.kind != "image":
        return f"<{media.width}x{media.height} {media.seconds:.2f} s>"
    with folder.open(media) as image:
        return f"<{media.width}x{media.height} {sha256(image.convert('RGB').tobytes())[:6]}>"


def set_text(items: ItemSet, *folders: PurePath) -> str:
    """The card and the items of a set, with names of images in place of hashes, and without the folders."""
    names = {media.sha256: image_name(media, items.media) for item in items.items for media in item.media()}
    card = {name: getattr(items.card, name) for name in ("suite", "source", "recipe", "counts", "notes")}
    rows = [line(card), *map(line, items.items)]
    text = re.sub(r'"(kind|format|width|height)": ("image"|"png"|\d+)(, )?', "", "\n".join(rows))
    for sha, name in names.items():
        text = text.replace(sha, name).replace(sha[:16], name)
    return masked(text, *folders) + "\n"


def grouped_set_text(items: ItemSet, *folders: PurePath, without: Iterable[str] = ()) -> str:
    """The card of a set; by task and dataset the number of items, the digest of all, and the first.

    `without`: tasks whose numbers depend on the processor.
    """
    card, facts = items.card, dict[str, object]()
    for name, fact in card.provenance.items():
        is_by_task = isinstance(fact, Mapping)
        facts[name] = {task: entry for task, entry in fact.items() if task not in without} if is_by_task else fact
    recipe = {name: value for name, value in card.recipe.items() if name != "media"}
    rows = [(f"{item.task} {item.factors.get('source', '')}", item) for item in items.items if item.task not in without]
    notes = (note for note in card.notes if "look like another one" not in note)  # a matter of the last digits
    return grouped_text([f"# {card.suite} {card.source}", recipe, facts, *notes], rows, items.root, *folders)


def grouped_text(head: Iterable[object], records: Iterable[tuple[str, object]], *folders: PurePath) -> str:
    """The head line by line; then by key the number of records, the digest of all, and the first."""
    rows, groups = list(records), dict[str, list[str]]()
    text = masked("\n".join([*map(line, head), *(line(record) for _, record in rows)]), *folders).split("\n")
    first = len(text) - len(rows)
    for (key, _), written in zip(rows, text[first:], strict=True):
        groups.setdefault(key, []).append(written)
    lines = [f"== {key}: {len(group)} {digest(group, 16)}\n{group[0]}" for key, group in groups.items()]
    return "\n".join([*text[:first], *lines]) + "\n"


def masked(text: str, *folders: PurePath) -> str:
    """The text without folders and versions, and with numbers in place of hashes."""
    for folder in folders:
        text = text.replace(str(folder), "")
    text = re.sub(r'"version": "[^"]*"(, )?', "", text)
    order: dict[str, str] = {}
    return re.sub(r"\b[0-9a-f]{10,64}\b", lambda match: order.setdefault(match[0], f"#{len(order)}"), text)


# Tasks

FUNCTIONS = ("boxes_only", "colour_only", "question_for_people", "schedule", "read_verdict", "agrees", "judge")
"""Functions that a task or a protocol may lack."""
TASK_FACTS = ("id", "kind", "axes", "train_split", "split_by", "boxes", "without_boxes", "cheap_sight")
METRIC_FACTS = (
    "name", "worst", "best", "higher_is_better", "summary", "share", "decimals", "binary", "bounds", "title", "remark",
    "unit",
)  # fmt: skip


def _functions(declared: Any) -> list[str]:
    return [name for name in FUNCTIONS if getattr(declared, name, None) is not None]


def _metric_facts(metric: Metric, item: Item | None) -> list[Any]:
    facts = [*(getattr(metric, name) for name in METRIC_FACTS), metric.estimate is not None]
    return facts if item is None else [*facts, metric.chance(item)]


def task_lines(task: Task, item: Item | None = None) -> list[str]:
    """A task with its protocols and metrics; what it says of an item, if one is given."""
    lines = [line([*(getattr(task, name) for name in TASK_FACTS), _functions(task)])]
    if item is not None:
        question = task.question_for_people and task.question_for_people(item.view())
        lines.append(f"  {line(question, task.boxes_only(item) if task.boxes_only else None)}")
    for name, protocol in task.protocols.items():
        settings = protocol.name, protocol.unreadable, protocol.threshold, protocol.tolerance, _functions(protocol)
        metrics = [_metric_facts(metric, item) for metric in protocol.metrics]
        lines.append(f"  {name}: {line(settings)} {line(metrics)}")
    return lines
