"""Questions as a task folder of lmms-eval: one YAML file and one table per task, their group, and `utils.py`.

Fields: https://github.com/EvolvingLMMs-Lab/lmms-eval/blob/main/docs/guides/task_guide.md. With the builder `parquet`,
`data_files` are relative to the YAML file (`_maybe_resolve_yaml_local_data_files` in lmms_eval/utils.py, 0.7.3).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snellen.core.storage import files
from snellen.interop.formats import ExportFormat, export_name, fields, task_names
from snellen.interop.hub_questions import images, write_rows
from snellen.interop.questions import ModelQuestion, Selection
from snellen.interop.scoring_fields import not_scored_alone, scoring_fields, units

MAX_TOKENS = 1024
"""Limit of a reply, which lmms-eval requires. Truncated replies are parsed as far as they go."""
HOOKS = '''"""What lmms-eval calls for the questions in this folder: `pip install snellen`."""

from snellen.interop.scorers.lmms_eval_hooks import (
    doc_to_messages,
    doc_to_text,
    doc_to_visual,
    mean_over_units,
    process_results,
    rate,
)
'''
"""The module `utils.py`, in which lmms-eval looks for the functions that the YAML files name."""
_TEXTS = (
    *("item_id", "task", "group_id", "cluster_id", "key", "metric", "prompt", "parts", "scoring", "unit", "unit_size"),
)


def write_task_folder(selection: Selection, out: Path) -> None:
    """Write `NAME_TASK.yaml` and `TASK.parquet` per task, `NAME.yaml` for all, and `utils.py`."""
    name = export_name(selection)
    unit_of = units(selection.questions)
    tasks = task_names(selection)
    for task, plain_task in tasks.items():
        questions = [question for question in selection.questions if question.item.task == task]
        write_rows(
            questions, lambda question: _row(question, selection, unit_of), _TEXTS, out / f"{plain_task}.parquet"
        )
        files.write_text(out / f"{name}_{plain_task}.yaml", _task_yaml(name, plain_task, questions[0]))
    group = [f"group: {name}", "task:", *(f"  - {name}_{plain_task}" for plain_task in tasks.values())]
    files.write_text(out / f"{name}.yaml", "\n".join(group) + "\n")
    files.write_text(out / "utils.py", HOOKS)


def _row(question: ModelQuestion, selection: Selection, unit_of: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    unit, size = unit_of[question.item.item_id]
    parts = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "sha256": part.sha256}
        for part in question.parts
    ]
    return {
        **fields(question),
        "prompt": question.text_after_images(),
        "parts": json.dumps(parts),
        "scoring": json.dumps(scoring_fields(question)),
        "unit": unit,
        "unit_size": str(size),
        "images": images(question, selection),
    }


def _task_yaml(name: str, task: str, question: ModelQuestion) -> str:
    """The configuration of a task; `!function` names are in `utils.py` next to it."""
    metric = question.protocol.metrics[0]
    metrics = (
        (metric.name, "mean_over_units", metric.higher_is_better),
        ("no_answer", "rate", False),
        ("failed", "rate", False),
    )
    metric_list = "".join(
        f"  - metric: {metric_name}\n    aggregation: !function utils.{aggregation}\n"
        f"    higher_is_better: {str(higher_is_better).lower()}\n"
        for metric_name, aggregation, higher_is_better in metrics
    )
    return (
        f"task: {name}_{task}\n"
        "dataset_path: parquet\n"
        f"dataset_kwargs:\n  data_files:\n    test: {task}.parquet\n"
        "test_split: test\n"
        "output_type: generate_until\n"
        "doc_to_messages: !function utils.doc_to_messages\n"
        "doc_to_visual: !function utils.doc_to_visual\n"
        "doc_to_text: !function utils.doc_to_text\n"
        "doc_to_target: key\n"
        "process_results: !function utils.process_results\n"
        f"generation_kwargs:\n  max_new_tokens: {MAX_TOKENS}\n  temperature: 0\n  do_sample: false\n  until: []\n"
        f"metric_list:\n{metric_list}"
        "cluster_key: cluster_id\n"
        f"metadata:\n  version: {json.dumps(question.item.version)}\n"
    )


LMMS_EVAL = ExportFormat(
    "lmms-eval",
    "a task folder of lmms-eval, scored by our parser",
    write_task_folder,
    "```sh\nlmms-eval eval --model MODEL --tasks {name} --include_path PATH_OF_THIS_FOLDER --output_path OUT "
    "--log_samples\n```\n\n"
    "Each task can also be run alone (`{name}_TASK`). Chat models get texts and images in order; simple models get all "
    "images first. `utils.py` imports the parser of Snellen: `pip install snellen` beside lmms-eval. "
    "`no_answer` and `failed` are shares of questions; a failed call has no score.",
    fault=not_scored_alone,
    has_parser=True,
)
