"""Numbers of results and of logs as other tools read them, worked by hand: scores, intervals, tokens, ranges."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.core.item import Option
from snellen.core.prompt import Reply
from snellen.core.response import Exchange, Response
from snellen.core.score import Metric
from snellen.interop.inspect_import import score_of
from snellen.interop.log_files import compare, read_log_files, read_logs
from snellen.interop.result_files import _last_question, _notes, _plain, _result, _sample
from tests.helpers.journey import item
from tests.helpers.logs import json_lines, table
from tests.helpers.refusals import assert_refused

SHARE = Metric("accuracy", lambda own, answer: 0.0, title="accuracy of words")
ERROR = Metric("error_px", lambda own, answer: 0.0, share=False, bounds=None, higher_is_better=False, unit="px")
ROW = ResultRow(
    subject="chat:a/m", task="t", condition="c=1", metric="accuracy", judge="j", value=0.75, low=0.5, high=0.87654,
    interval="wilson", n=40, clusters=7, chance=0.25, blind=0.3125, ceiling=0.98, no_answer_rate=0.1,
    cut_off_rate=0.2, failure_rate=0.0, not_applicable=3, minimum_detectable_effect=0.1234567,
    grade=Grade("good", "", "", 0.3125, "blind", "interval"),
)  # fmt: skip
CARD = SimpleNamespace(
    rows_hash="r0", recipe_hash="r1", content_hash="r2", recipe={"seed": 1}, suite="s", version="2", source="generated"
)
RUN: Any = SimpleNamespace(
    items=SimpleNamespace(card=CARD), card=SimpleNamespace(versions={"snellen": "9.1"}),
    suite=SimpleNamespace(
        tasks={"t": SimpleNamespace(protocols={"strict": SimpleNamespace(metrics=(SHARE, ERROR))})},
        card=SimpleNamespace(paper="a paper"),
    ),
)  # fmt: skip


def test_notes_state_shares_in_percent_and_other_metrics_in_their_unit() -> None:
    assert _notes(RUN, ROW, SHARE) == (
        "accuracy of words, strict, condition c=1, n 40; 95 % CI 50 to 87.65 %; chance 25 %; blind 31.25 %; grade good"
        "; judge j; rows hash r0, snellen 9.1"
    )
    bare = replace(ROW, low=math.nan, chance=3.0, blind=math.nan, grade=Grade("", "not graded", "too few"))
    assert _notes(RUN, bare, ERROR) == (
        "error px, strict, condition c=1, n 40; chance 3; not graded: too few; judge j; rows hash r0, snellen 9.1"
    )
    assert len(_notes(RUN, replace(ROW, condition="x" * 500), SHARE)) == 400


def test_a_result_has_every_number_of_its_row() -> None:
    settings = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 8, "seed": 3}
    arms: Any = [SimpleNamespace(condition="c=1", settings=settings)]
    result = _result(RUN, ROW, arms)
    assert result["evaluation_result_id"] == "t/c=1/strict/accuracy"
    assert result["source_data"]["dataset_name"] == "s version 2, generated"
    assert result["source_data"]["additional_details"] == {
        "rows_hash": "r0", "recipe_hash": "r1", "content_hash": "r2", "recipe": '{"seed": 1}', "paper": "a paper",
    }  # fmt: skip
    scores = result["score_details"]
    assert scores["details"] == {
        "condition": "c=1", "n": "40", "clusters": "7", "chance": "0.25", "blind": "0.3125", "ceiling": "0.98",
        "floor": "0.3125", "floor_name": "blind", "grade": "good", "decided_by": "interval", "no_answer_rate": "0.1",
        "cut_off_rate": "0.2", "failure_rate": "0", "not_applicable": "3", "minimum_detectable_effect": "0.123457",
    }  # fmt: skip
    interval = {"lower": 0.5, "upper": 0.87654, "confidence_level": 0.95, "method": "wilson"}
    assert scores["uncertainty"] == {"num_samples": 40, "confidence_interval": interval}
    given = {name: settings[name] for name in ("temperature", "top_p", "max_tokens")}
    assert result["generation_config"]["generation_args"] == given
    errors = _result(RUN, replace(ROW, metric="error_px", low=math.nan), arms)
    assert errors["score_details"]["uncertainty"] == {"num_samples": 40}
    names = ("metric_unit", "lower_is_better", "min_score", "max_score")
    configs = [[each["metric_config"][name] for name in names] for each in (result, errors)]
    assert configs == [["proportion", False, 0.0, 1.0], ["", True, "-Infinity", "Infinity"]]
    assert result["metric_config"]["additional_details"] == {"protocol": "strict", "summary": "mean", "judge": "j"}
    assert [_plain(value) for value in (2.0, 0.12345678, math.nan, math.inf, "w")] == [2, 0.123457, None, None, "w"]


def test_a_sample_sums_its_calls_and_keeps_the_last_turn_as_the_answer() -> None:
    own = item("i", (), "B", "choice", options=(Option("A", "red"), Option("B", "blue")), cluster_id="k")
    suite = SimpleNamespace(tasks={"task": RUN.suite.tasks["t"]})
    run: Any = SimpleNamespace(items=SimpleNamespace(by_id={"i": own}), suite=suite, card=SimpleNamespace(seed=7))
    response = Response("r", "m", "f", "i", "task", "c=1", 2, "ok", "reply 2", "", own.view().reply, ("1", "2"))
    calls = [
        Exchange(str(n), "d", Reply(f"reply {n}", tokens_in=10 + n, tokens_out=5 * n, seconds=0.25)) for n in (1, 2)
    ]
    row = SimpleNamespace(outcome="answered", metric="accuracy", prediction='"A"', value=0.5)
    prompts: list[list[Any]] = [["What?", {"media": "x.png"}], ["So?", {"montage": ["y.png", "x.png"]}]]
    sample = _sample(run, response, row, calls, prompts)
    assert sample["token_usage"] == {"input_tokens": 23, "output_tokens": 15, "total_tokens": 38}
    assert sample["performance"] == {"latency_ms": 500.0}
    assert sample["evaluation"] == {"score": 0.5, "is_correct": False}
    assert [message["content"] for message in sample["messages"]] == [
        "What?\n<x.png>", "reply 1", "So?\n<y.png, x.png>", "reply 2",
    ]  # fmt: skip
    assert sample["answer_attribution"][0]["turn_idx"] == 3
    assert sample["answer_attribution"][0]["extracted_value"] == "A"
    assert sample["input"] == {"raw": "What?\n<x.png>", "reference": ["B"], "choices": ["red", "blue"]}
    assert sample["metadata"] == {
        "task": "task", "condition": "c=1", "repeat": "2", "seed": "7", "cluster_id": "k", "outcome": "answered",
        "metric": "accuracy", "images": '["x.png", "y.png"]',
    }  # fmt: skip
    row.prediction, row.value = "null", 1.0
    single = _sample(run, response, row, calls[1:], prompts[1:])
    assert (single["output"], single["messages"]) == ({"raw": ["reply 2"]}, None)
    assert single["answer_attribution"][0]["extracted_value"] == ""
    assert single["evaluation"]["is_correct"] is True
    for error, is_correct in ((1.0, False), (0.0, True)):  # of an error the least is best
        row.metric, row.value = "error_px", error
        assert _sample(run, response, row, calls[1:], prompts[1:])["evaluation"]["is_correct"] is is_correct
    assert _last_question(["a", {"reply": "b"}, "c", {"reply": "d"}, "e"]) == ["e"]


@pytest.mark.parametrize(
    ("settings", "written", "scores"),
    [
        ("", ["0", "0.25", "1", "nan", "None", "C", "p", "Incorrect"], [0, 0.25, 1, None, None, 1, 0.5, 0]),
        ("?range=1..5", ["1", "2", "5"], [0, 0.25, 1]),
        ("?range=10..0", ["10", "0", "2.5"], [0, 1, 0.75]),
        ("?range=-1..1", ["-1", "0", "1"], [0, 0.5, 1]),
    ],
)
def test_scores_are_shares_of_their_range(
    settings: str, written: list[str], scores: list[float | None], tmp_path: Path
) -> None:
    path = table(tmp_path / "a.csv", [{"id": f"q{n}", "score": text} for n, text in enumerate(written)])
    read = [None if math.isnan(row.score) else row.score for row in read_log_files(f"{path}{settings}").rows]
    assert read == pytest.approx(scores)
    for beyond in ("-0.01", "1.01", "inf", "good"):
        table(tmp_path / "b.csv", [{"id": "q", "score": beyond}])
        assert_refused(lambda: read_log_files(str(tmp_path / "b.csv")), f"row 1: '{beyond}' is no score from 0 to 1")


def test_scores_in_words_and_beyond_numbers() -> None:
    words = {"TRUE": 1, "right": 1, "partial": 0.5, "wrong": 0, "n": 0, " 0.25 ": 0.25, "-3": -3, 7: 7, True: 1}
    assert [score_of(cell) for cell in words] == list(words.values())
    assert all(math.isnan(score_of(cell)) for cell in ("", None, "none", "good", "1e300", "inf", "nan", [1]))


def test_rows_of_logs_have_their_group_task_epoch_and_failure(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "epoch": 4, "task": "t1", "cluster_id": "k", "reply": "x", "finish_reason": "length", "score": 1,
         "prompt": "one", "target": "A", "options": ["red", "blue"]},
        {"id": "b", "epoch": 6, "task_name": "t2", "group_id": "g", "reply": None, "error": "full", "score": 0,
         "prompt": "two", "question": "Which?", "image": "x.png"},
    ]  # fmt: skip
    path = json_lines(tmp_path / "a.jsonl", rows)
    first, second = read_log_files(f"{path}?condition=prompt:one>vanilla+two>c=1").rows
    assert (first.item, first.task, first.group, first.epoch, first.score) == ("a", "t1", "k", 0, 1.0)
    assert (first.reply, first.stop, first.failure, first.target) == ("x", "length", "", ("A",))
    assert (first.options, first.number) == ((("A", "red"), ("B", "blue")), 1)
    assert (second.item, second.task, second.group, second.epoch, second.score) == ("b", "t2 [c=1]", "g", 1, 0.0)
    assert (second.reply, second.stop, second.failure, second.images) == (None, "", "full", ("x.png",))
    assert (second.question, second.number) == ("Which?", 2)
    own = read_log_files(f"{path}?group=prompt&task=finish_reason").rows
    assert [(row.group, row.task) for row in own] == [("one", "length"), ("two", "")]


def test_several_models_of_a_log_need_a_name(tmp_path: Path) -> None:
    path = table(tmp_path / "a.csv", [{"id": "q", "model": model, "score": 1} for model in ("m1", "m2")])
    assert_refused(lambda: read_log_files(str(path)), "several models (m1, m2); write ?name=MODEL")
    logs = read_logs([f"{path}?name=m2", f"{path}?name=m1", str(table(tmp_path / "m1.csv", [{"id": "q", "score": 0}]))])
    assert [log.name for log in logs] == ["m2", f"{path}?name=m1", str(tmp_path / "m1.csv")]
    assert [len(log.rows) for log in logs] == [1, 1, 1]
    assert_refused(lambda: compare("run-a", "run-b", "run-c"), "run-c: only logs of other tools can be compared three")
    unnamed = json_lines(tmp_path / "b.jsonl", [{"doc_id": 1, "resps": [["x"]], "seconds": 0.5, "anls": 0.75}])
    notes = read_log_files(str(unnamed)).notes
    assert notes == ("b.jsonl: scores are 'seconds'; also there: anls.",)
