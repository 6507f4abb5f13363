"""Questions as a Hugging Face dataset: `test.parquet` with its images, and a dataset card."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from snellen.core.storage import files
from snellen.interop.formats import ExportFormat, export_name, fields
from snellen.interop.hub_benchmark import configurations, write_benchmark
from snellen.interop.questions import ModelQuestion, Selection

_GROUP_ROWS, _DICTIONARY_BYTES = 100, 256 << 20
_TEXTS = ("item_id", "suite", "task", "group_id", "cluster_id", "answer_kind", "key", "metric", "factors", "prompt")
_LISTS = ("option_names", "options")


def write_parquet(selection: Selection, out: Path) -> None:
    """Write `test.parquet`, and the files of `hub_benchmark` for the tasks that fit.

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
    with (
        files.all_or_nothing(path) as half,
        pq.ParquetWriter(half, schema, compression="zstd", dictionary_pagesize_limit=_DICTIONARY_BYTES) as writer,
    ):
        for group in _groups(questions):
            writer.write_table(pa.Table.from_pylist([row_of(question) for question in group], schema))


def _groups(questions: Sequence[ModelQuestion]) -> Iterator[list[ModelQuestion]]:
    rest = iter(questions)
    while group := list(islice(rest, _GROUP_ROWS)):
        yield group


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
