"""Logs as Inspect writes them (schema version 2), by hand, so that they can contain errors."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from snellen.exam.examination import Examination
from snellen.exam.run import run
from snellen.interop.inspect_import import log_recordings
from snellen.interop.inspect_logs import sample_metadata
from snellen.interop.questions import ModelQuestion, Selection
from snellen.interop.scoring_fields import units
from snellen.runs.planning.plan import recorded_arms
from snellen.runs.planning.recorded_scores import compared_scores
from snellen.runs.sets.gate import open_items

ERROR = "error: "
"""The beginning of a reply that stands for an error of the sample."""


def log_header(**changes: Any) -> dict[str, Any]:
    """The header of a finished log of the task `snellen/vlm2_bench_oc_cpr`."""
    spec = {
        "created": "2026-01-01T00:00:00+00:00", "task": "snellen/vlm2_bench_oc_cpr", "task_id": "task-1",
        "dataset": {}, "config": {}, "model": "stub/model", "model_generate_config": {},
        "packages": {"inspect_ai": "0.3.285"},
    }  # fmt: skip
    plan = {"name": "plan", "steps": [{"solver": "generate", "params": {}}], "config": {"max_retries": 3}}
    return {"version": 2, "status": "success", "eval": {**spec, **changes}, "plan": plan}


def log_samples(
    selection: Selection, task: str, reply: Callable[[ModelQuestion], str], epoch: int = 1
) -> list[dict[str, Any]]:
    """A sample for every question of a task, scored like our task, unless the reply stands for an error."""
    unit_of = units(selection.questions)
    return [
        _sample(question, sample_metadata(question, selection, unit_of), reply(question), epoch)
        for question in selection.questions
        if question.item.task == task
    ]


def _sample(question: ModelQuestion, metadata: Mapping[str, Any], reply: str, epoch: int) -> dict[str, Any]:
    content = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": "<base64-data-removed>"}
        for part in question.parts
    ]
    sample = {
        "id": question.item.item_id, "epoch": epoch, "input": [{"id": "m1", "role": "user", "content": content}],
        "target": question.key, "metadata": metadata, "events": [], "attachments": {},
    }  # fmt: skip
    if reply.startswith(ERROR):
        error = {"message": reply, "traceback": "", "traceback_ansi": ""}
        return {**sample, "output": {"model": "", "choices": []}, "error": error}
    choice = {"message": {"role": "assistant", "content": reply}, "stop_reason": "stop"}
    usage = {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10}
    score = {"value": question.score(reply)[1], "answer": reply}
    output = {"model": "stub", "choices": [choice], "completion": reply, "usage": usage, "time": 0.5}
    return {**sample, "output": output, "scores": {"protocol_scorer": score}}


def write_eval(path: Path, header: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> Path:
    """An `.eval` file. A header with status `started` is that of a log that was cut off: only its start is written."""
    is_cut_off = header["status"] == "started"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json" if is_cut_off else "header.json", json.dumps(header))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return path


class LogRun(NamedTuple):
    """A run of logs. `agreeing` and `differing`: scores in the logs that are, and are not, those of the run."""

    examination: Examination
    agreeing: int
    differing: int


def run_of_logs(paths: Sequence[Path], itemset: Path, out: Path) -> LogRun:
    """The models in logs as subjects, as by `snellen run ITEMSET --subject recorded:LOG`."""
    items, recordings = open_items(itemset), log_recordings(paths)
    examination = run(items, recordings, out, show_progress=False)
    arms = recorded_arms(recordings, items, examination.suite, (), 0)[0]
    compared, differing = compared_scores(arms, out, examination.suite)
    return LogRun(examination, compared.total() - differing.total(), differing.total())
