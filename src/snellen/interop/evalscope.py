"""Questions for EvalScope: `general_vmcq` (lettered options, `<image 2>`) and `general_vqa` (OpenAI messages).

Layout: https://github.com/modelscope/evalscope/blob/main/docs/en/advanced_guides/custom_dataset/vlm.md
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from snellen.core.storage import files
from snellen.interop.formats import LETTERS, ExportFormat, image_name, not_a_choice, task_names, write_images
from snellen.interop.questions import ModelQuestion, Selection
from snellen.interop.scoring_fields import NO_POINTS

MAX_IMAGES = 100
"""Number of columns `image_1` to `image_100` that are read."""


def too_many_images(question: ModelQuestion) -> str | None:
    """The reason why a question does not fit, or None."""
    if question.item.answer_kind == "point":
        return NO_POINTS
    return None if len(question.images) <= MAX_IMAGES else f"shows more than {MAX_IMAGES} images"


def write_folders(selection: Selection, out: Path) -> None:
    """Write `mcq/TASK.jsonl` with the questions that have options, `vqa/TASK.jsonl` with all, and `images/`.

    Results number the rows of a file; a file per task lets `recorded:` tell by their number which items they are of.
    """
    for task, name in task_names(selection, "-").items():
        questions = [question for question in selection.questions if question.item.task == task]
        choices = [question for question in questions if not_a_choice(question) is None]
        if choices:
            _write_lines(out / "mcq" / f"{name}.jsonl", [_choice_row(question) for question in choices])
        _write_lines(out / "vqa" / f"{name}.jsonl", [_open_row(question) for question in questions])
    write_images(selection, out)


def _write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    files.write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))


def _choice_row(question: ModelQuestion) -> dict[str, Any]:
    images = {f"image_{n}": image_name(image) for n, image in enumerate(question.images, 1)}
    answer = LETTERS[question.answer_index]
    return {
        "question": question.text(),
        "options": list(question.option_texts),
        **images,
        "answer": answer,
        **_ids(question),
    }


def _open_row(question: ModelQuestion) -> dict[str, Any]:
    content = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": image_name(part)}}
        for part in question.parts
    ]
    return {"messages": [{"role": "user", "content": content}], "answer": question.key, **_ids(question)}


def _ids(question: ModelQuestion) -> dict[str, str]:
    return {"item_id": question.item.item_id, "task": question.item.task, "metric": question.metric}


EVALSCOPE = ExportFormat(
    "evalscope",
    "JSON lines for general_vmcq and general_vqa of EvalScope",
    write_folders,
    "In this folder, since image paths are relative to it:\n\n"
    "```sh\nevalscope eval --model MODEL --api-url URL --eval-type openai_api --datasets general_vqa \\\n"
    '  --dataset-args \'{"general_vqa": {"local_path": "vqa", "subset_list": ["TASK", …]}}\'\n```\n\n'
    'or `general_vmcq` with `"local_path": "mcq"`. `general_vqa` sends our prompt unchanged and scores it by BLEU '
    "and Rouge; `general_vmcq` adds its own words, repeats the options, and reads `ANSWER: B`.",
    fault=too_many_images,
)
