"""Questions as a folder of Inspect AI tasks, and the metadata of all our Inspect samples.

Tasks: https://inspect.aisi.org.uk/tasks.html
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snellen.core.storage import files
from snellen.interop.formats import ExportFormat, plain_name, task_names, write_images
from snellen.interop.questions import ModelQuestion, Selection
from snellen.interop.scoring_fields import not_scored_alone, scoring_fields, units
from snellen.interop.tables import prompt_parts

HEAD = '''"""Inspect AI tasks for the questions in this folder: `pip install snellen`."""

from pathlib import Path

from inspect_ai import Task, task

from snellen.interop.scorers.inspect_questions import questions_task

FOLDER = Path(__file__).resolve().parent
'''
"""Start of `tasks.py`."""
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
    """Write `tasks.py` with one Inspect task per task, `questions/TASK.jsonl`, and `images/`."""
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
        f'    return questions_task(FOLDER, "{name}")\n'
        for name in tasks.values()
    )
    files.write_text(out / "tasks.py", HEAD + functions)


INSPECT = ExportFormat(
    "inspect",
    "tasks of Inspect AI, scored by our parser",
    write_inspect_folder,
    "```sh\ninspect eval tasks.py --model MODEL                    # every task\n"
    "inspect eval tasks.py@SUITE_TASK --model MODEL\n```\n\n"
    "`tasks.py` imports the parser of Snellen: `pip install snellen` beside Inspect. `unit_mean` is our "
    "score, with groups combined. `snellen run SET --subject recorded:LOG --out RUN` makes a run of the logs.",
    fault=not_scored_alone,
    has_parser=True,
)
