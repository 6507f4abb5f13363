"""One model's answers to the same questions, as the logs that tools write.

Layouts: lmms-eval, `save_results_samples` in lmms_eval/loggers/evaluation_tracker.py; VLMEvalKit, a table with the
columns of the data set, `prediction` and `hit` (vlmeval/dataset/utils/multiple_choice.py); EvalScope, `ReviewResult` in
evalscope/api/evaluator/cache.py; Inspect, https://inspect.aisi.org.uk/eval-logs.html (schema version 2).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.helpers.inspect_logs import log_header

LETTERS = "ABCD"


class LoggedAnswer(NamedTuple):
    """A question with four options, and one model's reply and score."""

    question: str
    image: str
    target: str
    reply: str
    score: float


def answers(replies: Sequence[str], scores: Sequence[float], per_image: int = 2) -> list[LoggedAnswer]:
    """Questions of which `per_image` are about one image."""
    return [
        LoggedAnswer(f"What is the colour of object {n}?", f"{n // per_image}.png", LETTERS[n % 4], reply, score)
        for n, (reply, score) in enumerate(zip(replies, scores, strict=True))
    ]


def json_lines(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def table(path: Path, rows: Sequence[Mapping[str, object]], delimiter: str = ",") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def _prompt(answer: LoggedAnswer) -> str:
    options = "".join(f"{letter}. colour {letter}\n" for letter in LETTERS)
    return f"{answer.question}\n{options}Answer with the option's letter from the given choices directly."


def lmms_eval(folder: Path, model: str, rows: Sequence[LoggedAnswer]) -> Path:
    return json_lines(
        folder / model / "20260101_000000_samples_colours.jsonl",
        [
            {
                "doc_id": n, "target": row.target, "resps": [[row.reply]], "filtered_resps": [row.reply],
                "doc_hash": "0", "input": _prompt(row), "exact_match": row.score, "image": row.image,
            }
            for n, row in enumerate(rows)
        ],
    )  # fmt: skip


def vlmevalkit(folder: Path, model: str, rows: Sequence[LoggedAnswer]) -> Path:
    columns = [
        {
            "index": n, "question": row.question, **{letter: f"colour {letter}" for letter in LETTERS},
            "answer": row.target, "image_path": row.image, "prediction": row.reply, "hit": row.score, "log": "",
        }
        for n, row in enumerate(rows)
    ]  # fmt: skip
    return table(folder / model / f"{model}_Colours.tsv", columns, "\t")


def evalscope(folder: Path, model: str, rows: Sequence[LoggedAnswer]) -> Path:
    return json_lines(
        folder / "reviews" / model / "colours.jsonl",
        [
            {
                "index": n, "input": _prompt(row), "target": row.target, "image": row.image,
                "sample_score": {
                    "sample_id": n,
                    "score": {
                        "value": {"acc": row.score}, "prediction": row.reply, "extracted_prediction": row.reply,
                        "main_score_name": "acc",
                    },
                },
            }
            for n, row in enumerate(rows)
        ],
    )  # fmt: skip


def inspect(folder: Path, model: str, rows: Sequence[LoggedAnswer]) -> Path:
    samples = [
        {
            "id": n + 1, "epoch": 1, "input": _prompt(row), "choices": [f"colour {letter}" for letter in LETTERS],
            "target": row.target, "metadata": {"group": row.image}, "events": [], "attachments": {},
            "output": {
                "model": model,
                "choices": [{"message": {"role": "assistant", "content": row.reply}, "stop_reason": "stop"}],
            },
            "scores": {"choice": {"value": row.score}},
        }
        for n, row in enumerate(rows)
    ]  # fmt: skip
    path = folder / f"{model}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**log_header(task="colours", model=model), "samples": samples}))
    return path


FORMS: Mapping[str, Callable[[Path, str, Sequence[LoggedAnswer]], Path]] = {
    "lmms-eval": lmms_eval, "VLMEvalKit": vlmevalkit, "EvalScope": evalscope, "Inspect": inspect,
}  # fmt: skip
