"""VisOnlyQA, from a clone of its repository: its questions as a table, its models' replies as recorded answers.

    python -m examples.visonlyqa.tables CLONE --out study

writes `questions.jsonl`, `replies.jsonl` and `finetuned.jsonl`, and prints the commands that follow.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETS = ("real", "synthetic")
UNASKED = ("geometry__shape",)
"""Files of questions to which the repository has no replies."""
PROMPTS = {"no_reasoning": "vanilla", "reasoning": "method=reasoning"}
"""Conditions of the suite `questions` by prompt."""
FINETUNED = re.compile(
    r"(?P<base>.{1,60}?)(?:_finetuned)?_(?P<text>text_)?(?P<task>(?:syntheticgeometry|3d)__[a-z]{1,20})(?:_[\d_-]+)?"
)
"""File names of models that were each tuned on one task, with or without text in its images."""
COMMANDS = """\
snellen build questions --from table --source table={out}/questions.jsonl --source images={images} --out {out}/items
snellen run {out}/items --subject 'recorded:{out}/replies.jsonl?condition=prompt:{conditions}' --out {out}/run
snellen run {out}/items --subject 'recorded:{out}/finetuned.jsonl?condition=prompt:{first}' --out {out}/run-finetuned
snellen report {out}/run --out {out}/report
python -m examples.visonlyqa.measure {clone} {out}
"""


@dataclass(frozen=True)
class RecordedReply:
    """A reply in the repository. `file` is the model's name there, `reading` the answer that the authors read."""

    item_id: str
    file: str
    prompt: str
    text: str
    reading: str

    @property
    def model(self) -> str:
        """The model; those tuned on one task each are one model, `BASE-finetuned` or `BASE-finetuned-text`."""
        match = FINETUNED.fullmatch(self.file)
        return f"{match['base']}-finetuned{'-text' if match['text'] else ''}" if match else self.file

    @property
    def is_finetuned(self) -> bool:
        """True if the model was tuned by the authors."""
        return self.model != self.file


def item_id(task: str, number: int) -> str:
    """The id of the question with this number, from 0, in the file of its task."""
    return f"{task}-{number:03}"


def questions(clone: Path) -> Iterator[Mapping[str, Any]]:
    """The rows of the table. `image` is a path in `dataset/test`."""
    for name in SETS:
        for path in sorted((clone / "dataset" / "test" / name).glob("*.jsonl")):
            for number, row in enumerate(_rows(path) if path.stem not in UNASKED else ()):
                yield {
                    "id": item_id(path.stem, number),
                    "task": path.stem,
                    "question": row["question"],
                    "response_options": row["response_options"],
                    "answer": row["answer"],
                    "image": row["image_path"],
                }


def replies(clone: Path) -> Iterator[RecordedReply]:
    """All replies to these questions."""
    for name in SETS:
        for path in sorted((clone / "results" / "model_responses" / f"eval_{name}").glob("*/prompt=*/*.jsonl")):
            task, prompt = path.parent.parent.name, path.parent.name.partition("=")[2]
            for number, row in enumerate(_rows(path)):
                text = row["response"]  # a list of one text in some files
                text = text if isinstance(text, str) else "\n".join(text)
                yield RecordedReply(item_id(task, number), path.stem, prompt, text, row["y_pred"])


def printed_accuracies(clone: Path) -> Iterator[tuple[str, str, str, str, float]]:
    """(set, task or `all`, prompt, file, accuracy 0 to 1) of every number of the authors; `all` is over questions."""
    for name in SETS:
        for path in sorted((clone / "results" / "evaluation_metrics" / f"eval_{name}").glob("*/prompt=*/*.json")):
            accuracy = json.loads(path.read_text("utf-8"))["accuracy"]
            if accuracy is not None and not math.isnan(accuracy):
                yield name, path.parent.parent.name, path.parent.name.partition("=")[2], path.stem, accuracy


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_tables(clone: Path, out: Path) -> dict[str, int]:
    """Write the questions and the replies, those of tuned models separately; returns numbers of rows by file."""
    out.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[Mapping[str, Any]]] = {"questions": list(questions(clone)), "replies": [], "finetuned": []}
    for reply in replies(clone):
        rows["finetuned" if reply.is_finetuned else "replies"].append(
            {"item_id": reply.item_id, "model": reply.model, "prompt": reply.prompt, "reply": reply.text}
        )
    for name, table in rows.items():
        lines = "".join(json.dumps(row) + "\n" for row in table)
        (out / f"{name}.jsonl").write_text(lines, "utf-8")
    return {name: len(table) for name, table in rows.items()}


def main() -> None:
    """Write the tables and print the commands."""
    parser = argparse.ArgumentParser(description="Questions and replies of VisOnlyQA as tables for Snellen.")
    parser.add_argument("clone", type=Path, help="a clone of github.com/psunlpgroup/VisOnlyQA")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    for name, count in write_tables(arguments.clone, arguments.out).items():
        print(f"{arguments.out / name}.jsonl: {count} rows")
    conditions = [f"{prompt}>{condition}" for prompt, condition in PROMPTS.items()]
    print(
        COMMANDS.format(
            clone=arguments.clone,
            out=arguments.out,
            images=arguments.clone / "dataset" / "test",
            conditions="+".join(conditions),
            first=conditions[0],
        )
    )


if __name__ == "__main__":
    main()
