"""Questions as Inspect AI tasks that run without Snellen, and the metadata of all our Inspect samples.

Tasks: https://inspect.aisi.org.uk/tasks.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snellen.core.storage import files
from snellen.interop.formats import ExportFormat, plain_name, task_names, write_images
from snellen.interop.packing import write_standalone
from snellen.interop.questions import ModelQuestion, Selection
from snellen.interop.scoring_fields import not_scored_alone, scoring_fields, units
from snellen.interop.tables import prompt_parts

SNELLEN = "snellen"
"""Metadata field of a sample by which `recorded:LOG` identifies the question."""


def sample_metadata(
    question: ModelQuestion, selection: Selection, unit_of: Mapping[str, tuple[str, int]]
) -> dict[str, Any]:
    """The subgroups of a question, its metric and group, and under `snellen` its identity."""
    item, (unit, size) = question.item, unit_of[question.item.item_id]
    identity = {
        "content_hash": selection.items.card.content_hash,
        "condition": str(selection.condition),
        "task": item.task,
        "media": [image.sha256 for image in question.images],
        "unit": unit,
        "unit_size": size,
    }
    return {**item.factors, "metric": question.metric, "group_id": item.group_id, SNELLEN: identity}


def write_inspect_folder(selection: Selection, out: Path) -> None:
    """Write `tasks.py` with one Inspect task per task, `questions/TASK.jsonl`, `images/` and the scoring modules."""
    unit_of, tasks = units(selection.questions), task_names(selection)
    for task, name in tasks.items():
        rows = [
            {
                "item_id": question.item.item_id,
                "key": question.key,
                "options": list(question.option_texts) if question.option_names else [],
                "prompt": prompt_parts(question),
                "metadata": sample_metadata(question, selection, unit_of),
                "scoring": scoring_fields(question),
            }
            for question in selection.questions
            if question.item.task == task
        ]
        files.write_text(out / "questions" / f"{name}.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    write_images(selection, out)
    suite = plain_name(selection.suite.name)
    functions = "".join(
        f'\n\n@task\ndef {suite}_{name}() -> Task:\n    """The questions of {name}."""\n'
        f'    return questions_task("{name}")\n'
        for name in tasks.values()
    )
    write_standalone("snellen.interop.standalone.inspect_questions", out, "tasks.py", functions)


INSPECT = ExportFormat(
    "inspect",
    "tasks of Inspect AI that run without Snellen, scored by our parser",
    write_inspect_folder,
    "```sh\ninspect eval tasks.py --model MODEL                    # every task\n"
    "inspect eval tasks.py@SUITE_TASK --model MODEL\n```\n\n"
    "Replies are read by the parser of Snellen, which is in this folder; nothing else is needed. `unit_mean` is our "
    "score, with groups combined. `snellen run SET --subject recorded:LOG --out RUN` makes a run of the logs.",
    fault=not_scored_alone,
    has_parser=True,
)
