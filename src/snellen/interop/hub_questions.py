"""Questions as a Hugging Face dataset: `test.parquet` with its images, and a dataset card."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from snellen.core.grouping import lists_by_key
from snellen.core.storage import files
from snellen.interop.formats import CHOICES, ExportFormat, export_name, fields, task_names
from snellen.interop.huggingface import parquet_writer
from snellen.interop.questions import ModelQuestion, Selection
from snellen_sight.messages import data_url

_GROUP_ROWS = 100
_TEXTS = ("item_id", "suite", "task", "group_id", "cluster_id", "answer_kind", "key", "metric", "factors", "prompt")
_LISTS = ("option_names", "options")


def write_parquet(selection: Selection, out: Path) -> None:
    """Write `test.parquet`, and the files of `write_benchmark` for the tasks that fit.

    `prompt` has `<image 2>` for the second of `images`; `factors` is a JSON object. `datasets.load_dataset(out)` shows
    the images. Needs only pyarrow.
    """
    write_rows(selection.questions, lambda question: _row(question, selection), _TEXTS, out / "test.parquet")
    write_benchmark(selection, out)


def _header(selection: Selection) -> str:
    return (
        f"---\npretty_name: {export_name(selection)}\ntask_categories:\n- visual-question-answering\nlanguage:\n- en\n"
        "tags:\n- snellen\nconfigs:\n- config_name: default\n  default: true\n  data_files:\n  - split: test\n"
        f"    path: test.parquet\n{configurations(selection)}---\n\n"
    )


def write_rows(
    questions: Sequence[ModelQuestion],
    row_of: Callable[[ModelQuestion], dict[str, Any]],
    texts: Sequence[str],
    path: Path,
) -> None:
    """Write a table of texts, the lists of options and `images`, in the form of `datasets`."""
    schema = _schema(texts)
    with parquet_writer(path, schema) as writer:
        for start in range(0, len(questions), _GROUP_ROWS):
            group = questions[start : start + _GROUP_ROWS]
            writer.write_table(pa.Table.from_pylist([row_of(question) for question in group], schema))


def _row(question: ModelQuestion, selection: Selection) -> dict[str, Any]:
    described = fields(question)
    return {
        **described,
        "factors": json.dumps(described["factors"]),
        "prompt": question.text(),
        "images": images(question, selection),
    }


def images(question: ModelQuestion, selection: Selection) -> list[dict[str, Any]]:
    """The images of a question in the form of `datasets`."""
    return [{"bytes": selection.media.read(image), "path": image.path} for image in question.images]


def _schema(texts: Sequence[str]) -> pa.Schema:
    text = {"dtype": "string", "_type": "Value"}
    features = {
        **dict.fromkeys(texts, text),
        **{name: {"feature": text, "_type": "List"} for name in _LISTS},
        "images": {"feature": {"_type": "Image"}, "_type": "List"},
    }
    return pa.schema(
        {
            **dict.fromkeys(texts, pa.string()),
            **dict.fromkeys(_LISTS, pa.list_(pa.string())),
            "images": pa.list_(pa.struct({"bytes": pa.binary(), "path": pa.string()})),
        },
        {"huggingface": json.dumps({"info": {"features": features}})},
    )


# `eval.yaml`: the tasks as a benchmark of the Hub (https://huggingface.co/docs/hub/eval-results), which Inspect AI can
# run. It reads one image per question, as a data URI, and scores by its own scorers


def benchmark_tasks(selection: Selection) -> dict[str, list[ModelQuestion]]:
    """The questions of the tasks that Inspect can run from `eval.yaml`, by task."""
    by_task = lists_by_key((question.item.task, question) for question in selection.questions)
    return {task: questions for task, questions in by_task.items() if all(map(_is_possible, questions))}


def _is_possible(question: ModelQuestion) -> bool:
    kind = question.item.answer_kind
    return len(question.images) <= 1 and (kind == "integer" or (kind in CHOICES and len(question.option_names) > 1))


def table_path(name: str) -> str:
    """The path in the export of a task's table, by the plain name of the task."""
    return f"benchmark/{name}.parquet"


def configurations(selection: Selection) -> str:
    """The lines of the dataset card that declare one configuration per task."""
    names = task_names(selection, "-")
    return "".join(
        f"- config_name: {names[task]}\n  data_files:\n  - split: test\n    path: {table_path(names[task])}\n"
        for task in benchmark_tasks(selection)
    )


def write_benchmark(selection: Selection, out: Path) -> None:
    """Write `eval.yaml` and a table per task; nothing if no task can be run from it."""
    import yaml

    names = task_names(selection, "-")
    tasks = {names[task]: questions for task, questions in benchmark_tasks(selection).items()}
    if not tasks:
        return
    for task, questions in tasks.items():
        rows = [_benchmark_row(question, selection) for question in questions]
        files.write_table(out / table_path(task), pa.Table.from_pylist(rows))
    card = selection.suite.card
    benchmark = {
        "name": f"{card.title}, {export_name(selection)}",
        "description": card.measures,
        "evaluation_framework": "inspect-ai",
        "tasks": [_task(task, questions) for task, questions in tasks.items()],
    }
    files.write_text(out / "eval.yaml", yaml.safe_dump(benchmark, sort_keys=False, allow_unicode=True, width=110))


def _benchmark_row(question: ModelQuestion, selection: Selection) -> dict[str, str]:
    image = ""
    for media in question.images:
        kind = {"jpg": "jpeg"}.get(media.format, media.format)
        image = data_url(f"image/{kind}", selection.media.read(media))
    prompt = question.text_after_images()
    return {"item_id": question.item.item_id, "prompt": prompt, "image": image, "key": question.key}


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
    words = "|".join(_word(name, names) for name in sorted(names, key=lambda name: (-len(name), name)))
    return rf"(?s).*(?<!\w)({words})(?!\w)"


def _word(name: str, names: set[str]) -> str:
    """The name where it is not the end of a longer one, as *red* is of *dark red*."""
    longer = sorted(other for other in names if other != name and other.casefold().endswith(name.casefold()))
    return "".join(f"(?<!{re.escape(other[: -len(name)])})" for other in longer) + re.escape(name)


HF = ExportFormat(
    "hf",
    "Parquet with images and a dataset card, for the Hugging Face library `datasets`",
    write_parquet,
    "```python\nfrom datasets import load_dataset\n\n"
    'questions = load_dataset("PATH OF THIS FOLDER", split="test")\n```\n\n'
    "`images` are the images; `<image 2>` in `prompt` is the position of the second. If there is an `eval.yaml`, it "
    "declares the tasks with at most one image per question as a benchmark of the Hub, for Inspect AI.",
    header=_header,
)
