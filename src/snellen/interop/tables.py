"""Questions as a CSV and as JSON lines, with their pictures as files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from snellen.core import files
from snellen.interop.formats import ExportFormat, fields, picture_name, write_pictures
from snellen.interop.questions import Question, Selection


def write_csv(selection: Selection, out: Path) -> None:
    """`questions.csv` and `images/`; lists and objects in cells are JSON, `<image 2>` stands for the second picture."""
    rows = [
        {
            name: json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else cell
            for name, cell in {
                **fields(question),
                "prompt": question.text(),
                "images": [picture_name(picture) for picture in question.pictures],
            }.items()
        }
        for question in selection.questions
    ]
    files.write_csv(out / "questions.csv", pd.DataFrame(rows))
    write_pictures(selection, out)


def write_jsonl(selection: Selection, out: Path) -> None:
    """`questions.jsonl` and `images/`; `prompt` is a list of texts and pictures in the order sent."""
    lines = [
        json.dumps({**fields(question), "prompt": prompt_parts(question)}, ensure_ascii=False)
        for question in selection.questions
    ]
    files.write_text(out / "questions.jsonl", "".join(f"{line}\n" for line in lines))
    write_pictures(selection, out)


def prompt_parts(question: Question) -> list[dict[str, Any]]:
    """Texts and pictures in the order sent, pictures by file and SHA-256."""
    return [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image", "path": picture_name(part), "sha256": part.sha256}
        for part in question.parts
    ]


CSV = ExportFormat(
    "csv",
    "one table and a folder of pictures",
    write_csv,
    "`questions.csv` has a row a question; `images` and `options` are JSON lists, pictures lie under `images/`.",
)
JSONL = ExportFormat(
    "jsonl",
    "one JSON object a line and a folder of pictures",
    write_jsonl,
    "`questions.jsonl` has a line a question; `prompt` lists its texts and pictures in the order sent.",
)
