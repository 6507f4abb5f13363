"""`eval.yaml`: the tasks of an exported set as a benchmark of the Hugging Face Hub, which Inspect AI can run.

Specification: https://huggingface.co/docs/hub/eval-results. Inspect reads one image per question, as a data URI, and
scores by its own scorers, so that only questions about at most one image are in it, and only those whose reply is one
of several names, or a whole number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from snellen.core.storage import files
from snellen.core.storage.media import data_url
from snellen.interop.formats import CHOICES, export_name
from snellen.interop.questions import ModelQuestion, Selection

_COLUMNS = ("item_id", "prompt", "image", "key")


def benchmark_tasks(selection: Selection) -> dict[str, list[ModelQuestion]]:
    """The questions of the tasks that Inspect can run from `eval.yaml`, by task."""
    by_task: dict[str, list[ModelQuestion]] = {}
    for question in selection.questions:
        by_task.setdefault(question.item.task, []).append(question)
    return {task: questions for task, questions in by_task.items() if all(map(_is_possible, questions))}


def _is_possible(question: ModelQuestion) -> bool:
    kind = question.item.answer_kind
    return len(question.images) <= 1 and (kind == "integer" or (kind in CHOICES and len(question.option_names) > 1))


def table_path(task: str) -> str:
    """The path of a task's table in the export."""
    return f"benchmark/{task}.parquet"


def configurations(selection: Selection) -> str:
    """The lines of the dataset card that declare one configuration per task."""
    return "".join(
        f"- config_name: {task}\n  data_files:\n  - split: test\n    path: {table_path(task)}\n"
        for task in benchmark_tasks(selection)
    )


def write_benchmark(selection: Selection, out: Path) -> None:
    """Write `eval.yaml` and a table per task; nothing if no task can be run from it."""
    import yaml

    tasks = benchmark_tasks(selection)
    if not tasks:
        return
    for task, questions in tasks.items():
        rows = [dict(zip(_COLUMNS, _cells(question, selection), strict=True)) for question in questions]
        files.write_table(out / table_path(task), pa.Table.from_pylist(rows))
    card = selection.suite.card
    benchmark = {
        "name": f"{card.title}, {export_name(selection)}",
        "description": card.measures,
        "evaluation_framework": "inspect-ai",
        "tasks": [_task(task, questions) for task, questions in tasks.items()],
    }
    files.write_text(out / "eval.yaml", yaml.safe_dump(benchmark, sort_keys=False, allow_unicode=True, width=110))


def _cells(question: ModelQuestion, selection: Selection) -> tuple[str, str, str, str]:
    image = ""
    for media in question.images:
        kind = {"jpg": "jpeg"}.get(media.format, media.format)
        image = data_url(f"image/{kind}", selection.media.read(media))
    return question.item.item_id, question.text_after_images(), image, question.key


def _task(task: str, questions: Sequence[ModelQuestion]) -> dict[str, Any]:
    fields = {"input": "prompt", "target": "key"}
    if any(question.images for question in questions):
        fields["input_image"] = "image"
    names = {name for question in questions for name in question.option_names}
    is_letters = bool(names) and all(re.fullmatch("[A-Z]", name) for name in names)
    return {
        "id": task,
        "config": task,
        "split": "test",
        "field_spec": fields,
        "solvers": [{"name": "generate"}],
        "scorers": [{"name": "pattern", "args": {"pattern": _pattern(names), "ignore_case": not is_letters}}],
    }


def _pattern(names: set[str]) -> str:
    """The last name in a reply, or its last whole number."""
    if not names:
        return r"(?s).*(?<![\d.,])(-?\d+)"
    words = "|".join(re.escape(name) for name in sorted(names, key=lambda name: (-len(name), name)))
    return rf"(?s).*(?<!\w)({words})(?!\w)"
