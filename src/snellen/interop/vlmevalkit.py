"""Questions as TSV files for VLMEvalKit, images as base64 in the cell `image`.

Columns: https://github.com/open-compass/VLMEvalKit/blob/main/docs/en/Development.md. A file with columns A and B is
multiple choice, any other has open questions (`build_dataset` in vlmeval/dataset/__init__.py). For several images,
`image` and `image_path` are Python list literals (`toliststr` in vlmeval/smp).
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

import pandas as pd

from snellen.core.storage import files
from snellen.interop.formats import LETTERS, ExportFormat, export_name, image_name, not_a_choice
from snellen.interop.questions import ModelQuestion, Selection

_MISSING = re.compile(r"|#N/A|#N/A N/A|#NA|-?1\.#(IND|QNAN)|-?(NaN|nan)|<NA>|N/A|n/a|NA|NULL|null|None")
"""Texts that `pandas.read_csv`, used by the kit, reads as empty cells: an option `None` would be dropped."""


def no_image(question: ModelQuestion) -> str | None:
    """The reason why the kit would drop a question (it skips rows without an image), or None."""
    return None if question.images else "shows no image"


def write_tsv(selection: Selection, out: Path) -> None:
    """Write `NAME.tsv` with questions that have options, `NAME_openended.tsv` with the rest, as the kit expects."""
    name = export_name(selection)
    choices = [question for question in selection.questions if not_a_choice(question) is None]
    others = [question for question in selection.questions if not_a_choice(question) is not None]
    for questions, file in ((choices, f"{name}.tsv"), (others, f"{name}_openended.tsv")):
        if questions:
            rows = [_row(number, question, selection) for number, question in enumerate(questions)]
            files.write_text(out / file, pd.DataFrame(rows).to_csv(sep="\t", index=False, lineterminator="\n"))


def _row(number: int, question: ModelQuestion, selection: Selection) -> dict[str, Any]:
    images = [str(base64.b64encode(selection.media.read(image)), "ascii") for image in question.images]
    names = [image_name(image).removeprefix("images/") for image in question.images]
    is_choice = not_a_choice(question) is None
    options = zip(LETTERS, question.option_texts, strict=False) if is_choice else ()
    return {
        "index": number,
        "image": images[0] if len(images) == 1 else str(images),
        "image_path": names[0] if len(names) == 1 else str(names),
        "question": question.text_after_images(),
        **{letter: _legible(text) for letter, text in options},
        "answer": LETTERS[question.answer_index] if is_choice else _legible(question.key),
        "category": question.item.task,
        "l2-category": question.item.suite,
        "split": "test",
        "item_id": question.item.item_id,
        "metric": question.metric,
    }


def _legible(text: str) -> str:
    return f"{text} " if _MISSING.fullmatch(text) else text


VLMEVALKIT = ExportFormat(
    "vlmevalkit",
    "TSV of VLMEvalKit, images as base64",
    write_tsv,
    "Copy the files into `$LMUData` (`~/LMUData`) and give their names without `.tsv`: "
    "`python run.py --data {name} --model MODEL`. The kit sends all images first, appends its own list of options to "
    "the prompt, and sends images to services as JPEG. It has no scores for `{name}_openended` and stops after the "
    "answers. An option or key that pandas would read as an empty cell (`None`) has a space after it. "
    "`snellen run SET --subject 'recorded:MODEL_{name}.xlsx' --out RUN` scores the answers by our parser.",
    fault=no_image,
)
