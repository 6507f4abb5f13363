"""What a format of another tool is, and the files that several have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.storage import files
from snellen.interop.questions import ModelQuestion, Selection

CHOICES = frozenset({"choice", "true_false"})
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def any_question(question: ModelQuestion) -> str | None:
    """For formats that hold every question: no fault."""
    return None


def not_a_choice(question: ModelQuestion) -> str | None:
    """For formats of lettered options: why a question is none, or None."""
    if question.item.answer_kind not in CHOICES:
        return f"answered by a {question.item.answer_kind}, not by one of several options"
    return None if 2 <= len(question.option_names) <= len(LETTERS) else "not from 2 to 26 options"


@dataclass(frozen=True)
class ExportFormat:
    """A format of another tool: `fault` says what it cannot hold, `write` fills a folder, `usage` tells how to load it.

    `header` is what its README begins with; `{name}` in it and in `usage` is the name of the export. `has_parser` says
    that the export takes our parser along, so that its scores are ours.
    """

    name: str
    summary: str
    write: Callable[[Selection, Path], object]
    usage: str
    fault: Callable[[ModelQuestion], str | None] = any_question
    header: str = ""
    has_parser: bool = False


def export_name(selection: Selection) -> str:
    """`snellen_SUITE_HASH`, letters, digits and `_` alone: the name of the export in the other tool."""
    return plain_name(f"snellen_{selection.suite.name}_{selection.items.card.content_hash[:8]}")


def plain_name(text: str) -> str:
    """The text in letters and digits of ASCII and `_` alone."""
    return re.sub(r"[^A-Za-z0-9]", "_", text)


def task_names(selection: Selection) -> dict[str, str]:
    """By task its plain name. Raises SnellenError where two tasks have one: files would replace each other."""
    names = {task: plain_name(task) for task in selection.counts()}
    if twice := [name for name, count in Counter(names.values()).items() if count > 1]:
        raise SnellenError(f"two tasks of {selection.suite.name} are both {twice[0]!r} in the export; rename one")
    return names


def image_name(image: Media) -> str:
    """`images/SHA256.FORMAT`: where an export keeps an image, relative to its folder."""
    return f"images/{image.sha256}.{image.format}"


def write_images(selection: Selection, out: Path) -> None:
    """Every image of the questions once, byte for byte as it would be sent."""
    images = {image.sha256: image for question in selection.questions for image in question.images}
    for image in images.values():
        files.write_bytes(out / image_name(image), selection.media.read(image), durable=False)


def fields(question: ModelQuestion) -> dict[str, Any]:
    """What every format says of a question, as plain data: ids, kind, options, key, metric, subgroups."""
    item = question.item
    return {
        "item_id": item.item_id,
        "suite": item.suite,
        "task": item.task,
        "group_id": item.group_id,
        "cluster_id": item.cluster_id,
        "answer_kind": item.answer_kind,
        "option_names": list(question.option_names),
        "options": list(question.option_texts) if question.option_names else [],
        "key": question.key,
        "metric": question.metric,
        "factors": dict(item.factors),
    }
