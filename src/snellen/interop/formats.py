"""The definition of an export format, and parts shared by several."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.item import Media
from snellen.core.storage import files
from snellen.interop.questions import ModelQuestion, Selection

CHOICES = frozenset({"choice", "true_false"})
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def not_a_choice(question: ModelQuestion) -> str | None:
    """The reason why a question is not a choice with lettered options, or None."""
    if question.item.answer_kind not in CHOICES:
        return f"answered by a {question.item.answer_kind}, not by one of several options"
    return None if 2 <= len(question.option_names) <= len(LETTERS) else "not from 2 to 26 options"


@dataclass(frozen=True)
class ExportFormat:
    """A format of another tool.

    `fault` gives the reason for an unsupported question, `write` fills a folder, `usage` explains how to load it.
    `header` writes the start of its README; `{name}` in `usage` is the name of the export. `has_parser` is True
    if its tasks are scored by our parser, so that their scores equal ours.
    """

    name: str
    summary: str
    write: Callable[[Selection, Path], object]
    usage: str
    fault: Callable[[ModelQuestion], str | None] = lambda question: None
    header: Callable[[Selection], str] = lambda selection: ""
    has_parser: bool = False


def export_name(selection: Selection) -> str:
    """`snellen_SUITE_HASH`, only letters, digits and `_`: the name of the export in the other tool."""
    return plain_name(f"snellen_{selection.suite.name}_{selection.items.card.content_hash[:8]}")


def plain_name(text: str, signs: str = "") -> str:
    """The text with everything except ASCII letters, digits and `signs` replaced by `_`."""
    return re.sub(f"[^A-Za-z0-9{signs}]", "_", text)


def task_names(selection: Selection, signs: str = "") -> dict[str, str]:
    """The plain name of each task, which may be a stranger's: names of files are made of it.

    Raises SnellenError if two are equal, since files would replace each other.
    """
    names = {task: plain_name(task, signs) for task in selection.counts()}
    refuse_equal(names.values(), f"tasks of {selection.suite.name}")
    return names


def refuse_equal(names: Iterable[str], what: str) -> None:
    """Raise SnellenError if two names of files are equal."""
    if duplicates := [name for name, count in Counter(names).items() if count > 1]:
        raise SnellenError(f"two {what} are both named {duplicates[0]!r} in the export; rename one")


def image_name(image: Media) -> str:
    """`images/SHA256.FORMAT`: the path of an image in an export."""
    return f"images/{image.sha256}.{image.format}"


def write_images(selection: Selection, out: Path) -> None:
    """Write each image of the questions once, in the bytes that would be sent."""
    images = {image.sha256: image for question in selection.questions for image in question.images}
    for image in images.values():
        files.write_bytes(out / image_name(image), selection.media.read(image), durable=False)


def fields(question: ModelQuestion) -> dict[str, Any]:
    """The facts about a question in every format, as plain data: ids, kind, options, key, metric, subgroups."""
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
