"""Questions as CSV and as JSON lines, with images as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from snellen.core.storage import files
from snellen.interop.formats import ExportFormat, fields, image_name, write_images
from snellen.interop.questions import ModelQuestion, Selection


def write_csv(selection: Selection, out: Path) -> None:
    """Write `questions.csv` and `images/`; lists and objects in cells are JSON, `<image 2>` is the second image."""
    rows = [
        {
            name: json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else cell
            for name, cell in {
                **fields(question),
                "prompt": question.text(),
                "images": [image_name(image) for image in question.images],
            }.items()
        }
        for question in selection.questions
    ]
    files.write_csv(out / "questions.csv", pd.DataFrame(rows))
    write_images(selection, out)


def write_jsonl(selection: Selection, out: Path) -> None:
    """Write `questions.jsonl` and `images/`; `prompt` is a list of texts and images in the order sent."""
    lines = [
        json.dumps({**fields(question), "prompt": prompt_parts(question)}, ensure_ascii=False)
        for question in selection.questions
    ]
    files.write_text(out / "questions.jsonl", "".join(f"{line}\n" for line in lines))
    write_images(selection, out)


def prompt_parts(question: ModelQuestion) -> list[dict[str, Any]]:
    """Texts and images in the order sent; images by file and SHA-256."""
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image", "path": image_name(part), "sha256": part.sha256}
        for part in question.parts
    ]


CSV = ExportFormat(
    "csv",
    "one table and a folder of images",
    write_csv,
    "`questions.csv` has one row per question; `images` and `options` are JSON lists, images are in `images/`.",
)
JSONL = ExportFormat(
    "jsonl",
    "one JSON object per line and a folder of images",
    write_jsonl,
    "`questions.jsonl` has one line per question; `prompt` lists its texts and images in the order sent.",
)
