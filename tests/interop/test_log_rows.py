"""Rows of logs: of runs as logs, of logs of Inspect, and what names of files tell of models and tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest

from snellen.analysis.comparison.logs import LogRow
from snellen.exam.run import run
from snellen.interop.log_files import _task_of, read_log_files, run_log
from snellen.interop.recorded_answers import COLUMNS, AnswerReader, _model_of
from tests.goldens.golden import assert_golden
from tests.helpers.inspect_logs import log_header
from tests.helpers.logs import json_lines
from tests.helpers.refusals import assert_refused
from tests.helpers.sets import small_set


def lines_of(rows: Sequence[LogRow]) -> list[str]:
    return [str(astuple(replace(row, score=float(f"{row.score:.10g}")))) for row in rows]


@pytest.mark.parametrize("suite", ["ava-bench", "vlm2-bench"])
def test_a_run_is_read_as_a_log(suite: str, sets_folder: Path, tmp_path: Path) -> None:
    """Of two subjects, asked twice under two conditions: the first condition of the one that is named."""
    subjects, conditions = ["fake:chance", "fake:blind-to=colour"], ["images=none", "vanilla"]
    items = small_set(suite, sets_folder)
    run(items, subjects, tmp_path / "run", conditions=conditions, repeats=2, limit=1, show_progress=False)
    log = run_log(f"{tmp_path / 'run'}:fake:blind-to=colour")
    note = f"{tmp_path / 'run'}:fake:blind-to=colour: only the condition images=none is compared."
    assert (log.name, log.notes) == ("fake:blind-to=colour", (note,))
    assert_golden(f"run-as-log-{suite}.txt", "\n".join(lines_of(log.rows)) + "\n")


SAMPLES: list[dict[str, Any]] = [
    {"id": "a", "epoch": 2, "metadata": {"group_id": "g", "cluster": "k"}, "scores": {"choice": {"value": "C"}},
     "target": ["A", "B"], "choices": ["red", "blue"]},
    {"id": 7, "metadata": {"own": 3}, "scores": {"model": {"value": 0.5}, "choice": {"value": "I"}}, "target": "B"},
    {"id": "c", "metadata": {"cluster_id": "z"}, "scores": {}, "target": "C", "stop_reason": "max_tokens"},
    {"id": "d", "metadata": {}, "target": "D", "error": {"message": "full", "traceback": "", "traceback_ansi": ""}},
]  # fmt: skip


def inspect_log(path: Path, samples: Sequence[Mapping[str, Any]]) -> Path:
    written = []
    for sample in samples:
        message = {"role": "assistant", "content": f"I say {sample['id']}"}
        choice = {"message": message, "stop_reason": sample.get("stop_reason", "stop")}
        output = {"model": "m", "choices": [] if "error" in sample else [choice]}
        usual = {"epoch": 1, "input": f"Which is {sample['id']}?", "events": [], "attachments": {}, "output": output}
        written.append({**usual, **{key: cell for key, cell in sample.items() if key != "stop_reason"}})
    path.write_text(json.dumps({**log_header(task="colours", model="org/m"), "samples": written}))
    return path


def test_a_log_of_inspect_has_groups_epochs_targets_and_the_score_of_its_first_scorer(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="the extra 'providers' is not installed")
    path = inspect_log(tmp_path / "a.json", SAMPLES)
    log, other = read_log_files(str(path)), read_log_files(f"{path}?score=model&group=own")
    lines = [log.name, *log.notes, *lines_of(log.rows), "?score=model&group=own", *other.notes, *lines_of(other.rows)]
    assert_golden("inspect-log-rows.txt", "\n".join(lines) + "\n")
    bad = inspect_log(tmp_path / "b.json", [{**SAMPLES[0], "scores": {"choice": {"value": 7}}}])
    assert_refused(
        lambda: read_log_files(str(bad)), "b.json: sample 1: '7' is no score from 0 to 1; name another column"
    )


@pytest.mark.parametrize(
    ("path", "model", "task", "task_in_folder"),
    [
        ("m/2026_samples_my_task.jsonl", "m", "my_task", "my_task"), ("m/m_Colours.tsv", "m", "Colours", "Colours"),
        ("m/T1/m_Colours.json", "m", "Colours", "Colours"), ("out/a.v1.csv.gz", "a.v1", "", "a.v1"),
        ("predictions/q/vqa.jsonl", "q", "", "vqa"), ("reviews/q/vqa.jsonl", "q", "", "vqa"), ("x/b.csv", "b", "", "b"),
    ],
)  # fmt: skip
def test_names_of_files_tell_the_model_and_the_task(
    path: str, model: str, task: str, task_in_folder: str, tmp_path: Path
) -> None:
    assert _model_of(tmp_path / path) == model
    assert [_task_of(tmp_path / path, is_in_folder) for is_in_folder in (False, True)] == [task, task_in_folder]


def nested(column: str, cell: Any) -> dict[str, Any]:
    """A row in which this name leads to a cell; numbers in it are places of lists."""
    name, _, rest = column.partition(".")
    if not rest:
        return {name: cell}
    inner, _, deeper = rest.partition(".")
    return {name: [nested(deeper, cell)]} if inner == "0" else {name: nested(rest, cell)}


CELLS: Mapping[str, Any] = {
    "id": "q7", "column": "I say so", "model": "m9", "question": "Which one?", "image": "x.png", "seed": 5, "repeat": 3,
    "reasoning_column": "Hm.", "stop_column": "length", "error": "full", "options": ["red", "blue"], "target": "B",
    "score": 0.25,
}  # fmt: skip


def test_every_name_of_a_column_is_read_in_its_role(tmp_path: Path) -> None:
    lines = list[str]()
    for role, name in ((role, name) for role, names in COLUMNS.items() for name in names):
        usual = {"item_id": "i"} if role != "id" else {}
        usual |= {"reply": "yes" if role != "error" else ""} if role != "column" else {}
        reader = AnswerReader({})
        reader.read(json_lines(tmp_path / "a.jsonl", [{**usual, **nested(name, CELLS[role])}]))
        ((row,),) = reader.rows.values()
        lines.append(f"{role} {name}: {astuple(replace(row, path=''))} of {list(reader.rows)}")
    assert_golden("recorded-columns.txt", "\n".join(lines) + "\n")
