"""Logs of Inspect as runs: matched, scored as if asked directly, and refused in one line if they are not ours."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

pytest.importorskip("inspect_ai", reason="the extra 'providers' is not installed")

from snellen.core.condition import parse_conditions
from snellen.core.storage.runfolder import is_run, read_run_card
from snellen.exam.examine import examine
from snellen.exam.run import run
from snellen.interop import inspect_import, inspect_logs
from snellen.interop.inspect_logs import read_log
from snellen.interop.questions import ModelQuestion, Selection, select_questions
from snellen.runs.scores.score import read_scores
from snellen.suites import SUITES
from tests.helpers.inspect_logs import ERROR, log_header, log_samples, run_of_logs, write_eval
from tests.helpers.refusals import assert_refused
from tests.helpers.sets import small_set

TASK = "oc-cpr"
COLUMNS = ["task", "item_id", "metric", "repeat", "outcome", "value"]


@pytest.fixture(scope="module")
def selection(sets_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Selection:
    items, suite = small_set("vlm2-bench", sets_folder), SUITES.get("vlm2-bench")
    (vanilla,) = parse_conditions(suite.axes, "vanilla")
    return select_questions(items, suite, vanilla, tmp_path_factory.mktemp("media"))


def right(question: ModelQuestion) -> str:
    return f"The answer is {question.key}."


def mixed(question: ModelQuestion) -> str:
    """Right, wrong, unreadable, or an error, depending on the item's id only."""
    replies = (right(question), "T", "I cannot see it", f"{ERROR}503")
    return replies[sum(question.item.item_id.encode()) % 4]


def _rows(scores: pd.DataFrame, tasks: list[str]) -> pd.DataFrame:
    rows = scores[scores["task"].isin(tasks)]
    return rows[COLUMNS].sort_values(COLUMNS[:4]).reset_index(drop=True)


def test_scores_are_those_of_asking(selection: Selection, tmp_path: Path) -> None:
    """Two tasks in two logs, one of them twice, against a subject with the same replies in the same order of items."""
    tasks = [TASK, "oc-cnt"]
    logs = [
        write_eval(tmp_path / "a.eval", log_header(), log_samples(selection, TASK, mixed)),
        write_eval(tmp_path / "b.eval", log_header(task_id="task-2"), log_samples(selection, "oc-cnt", mixed)),
    ]
    imported = run_of_logs(logs, selection.items.root, tmp_path / "run")
    (arm,) = read_run_card(tmp_path / "run").arms
    assert arm.subject == "inspect:stub/model"
    assert list(arm.test_items) == tasks
    replies = {q.item.item_id: mixed(q) for q in selection.questions if q.item.task in tasks}
    failing = {item_id for item_id, reply in replies.items() if reply.startswith(ERROR)}
    script = tmp_path / "script.json"
    script.write_text(json.dumps({**replies, "*": ""}))
    examine(f"fake:scripted={script}", selection.items.root, out=tmp_path / "asked", show_progress=False)
    direct = _rows(read_scores(tmp_path / "asked")["strict"], tasks)
    scores = _rows(read_scores(tmp_path / "run")["strict"], tasks)
    alike = ~scores["item_id"].isin(failing)
    pd.testing.assert_frame_equal(scores[alike], direct[alike])
    assert set(scores[alike]["outcome"]) == {"answered", "no_answer"}
    assert set(scores[~alike]["outcome"]) == {"failed"}
    assert scores[~alike]["value"].isna().all()
    assert imported.examination.failed == len(failing) > 0
    assert (imported.agreeing, imported.differing) == (len(replies) - len(failing), 0)
    assert imported.examination.unasked() == {}


def test_our_tasks_ask_with_seed_0(selection: Selection, tmp_path: Path) -> None:
    """Under vanilla nothing depends on it."""
    items, suite = selection.items, SUITES.get("vlm2-bench")
    for text in ("vanilla", "images=shuffled"):
        of_condition = select_questions(items, suite, parse_conditions(suite.axes, text)[0], tmp_path / text)
        log = write_eval(tmp_path / f"{text}.eval", log_header(), log_samples(of_condition, TASK, right))
        for seed in (0, 5):
            call = partial(run, items, [f"recorded:{log}"], tmp_path / f"{text} {seed}", seed=seed, show_progress=False)
            if text == "vanilla" or not seed:
                assert call().responses
            else:
                assert_refused(call, "row 1 was asked under images=shuffled with --seed 0, not 5; give --seed 0")


def test_epochs_are_repeats_and_missing_samples_make_a_run_partial(selection: Selection, tmp_path: Path) -> None:
    first, second = (log_samples(selection, TASK, right, epoch) for epoch in (1, 2))
    cut_off = {**log_header(), "status": "started"}
    log = write_eval(tmp_path / "a.eval", cut_off, [*first, *second[:3]])
    imported = run_of_logs([log], selection.items.root, tmp_path / "run")
    assert [arm.repeat for arm in read_run_card(tmp_path / "run").arms] == [0, 1]
    assert imported.examination.unasked() == {"inspect:stub/model": len(second) - 3}
    rest = write_eval(tmp_path / "b.eval", log_header(), [*first, *second])
    imported = run_of_logs([log, rest], selection.items.root, tmp_path / "run")
    assert imported.examination.unasked() == {}
    assert len(imported.examination.responses) == len(first) + len(second)


def test_a_retried_sample_replaces_its_failure(selection: Selection, tmp_path: Path) -> None:
    failing = log_samples(selection, TASK, lambda question: f"{ERROR}503")
    logs = [
        write_eval(tmp_path / "a.eval", log_header(), failing),
        write_eval(tmp_path / "b.eval", log_header(), log_samples(selection, TASK, right)),
    ]
    assert run_of_logs(logs[:1], selection.items.root, tmp_path / "run").examination.failed == len(failing)
    for order in (logs, logs[::-1]):
        assert run_of_logs(order, selection.items.root, tmp_path / "run").examination.failed == 0


def test_no_output_and_invalidated_samples_are_failures(selection: Selection, tmp_path: Path) -> None:
    samples = log_samples(selection, TASK, right)
    samples[0] |= {"output": {"choices": []}, "limit": {"type": "time", "limit": 3}}
    samples[1] |= {"invalidation": {"author": "someone", "reason": "wrong key"}}
    samples[2]["scores"]["protocol_scorer"]["value"] = 0.25
    samples[3]["scores"]["protocol_scorer"]["value"] = 10**400  # JSON has numbers beyond floats
    log = write_eval(tmp_path / "a.eval", log_header(), samples)
    imported = run_of_logs([log], selection.items.root, tmp_path / "run")
    reasons = {r.item_id: r.reason for r in imported.examination.responses if r.status == "failed"}
    assert reasons[samples[0]["id"]] == "no output in the log (limit: time)"
    assert reasons[samples[1]["id"]] == "invalidated in the log"
    assert (len(reasons), imported.differing) == (2, 1)


def test_settings_and_solvers_are_part_of_the_name(selection: Selection, tmp_path: Path) -> None:
    header = log_header(model_generate_config={"temperature": 0.5, "max_retries": 7})
    header["plan"]["steps"] = [{"solver": "chain_of_thought"}, {"solver": "generate"}]
    log = write_eval(tmp_path / "a.eval", header, log_samples(selection, TASK, right))
    run_of_logs([log], selection.items.root, tmp_path / "run")
    (arm,) = read_run_card(tmp_path / "run").arms
    assert arm.subject == "inspect:stub/model?temperature=0.5&solver=chain_of_thought+generate"
    assert "max_retries" not in arm.settings["generation"]


def test_texts_and_images_may_be_attachments(selection: Selection, tmp_path: Path) -> None:
    samples = log_samples(selection, TASK, right)
    questions = {question.item.item_id: question for question in selection.questions}
    for sample in samples:
        image, text = sample["input"][0]["content"][0], sample["input"][0]["content"][-1]
        raw = selection.media.read(questions[sample["id"]].images[0])
        url = f"data:image/png;base64,{base64.b64encode(raw).decode()}"
        sample["attachments"] = {"a": text["text"], "b": url}
        text["text"], image["image"] = "attachment://a", "attachment://b"
    log = write_eval(tmp_path / "a.eval", log_header(), samples)
    assert run_of_logs([log], selection.items.root, tmp_path / "run").agreeing == len(samples)


def test_values_of_all_samples_are_counted_together(
    selection: Selection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = log_samples(selection, TASK, right)[:2]
    for sample in samples:
        sample["metadata"] = {"extra": [[]] * 1000}
    log = read_log(write_eval(tmp_path / "a.eval", log_header(), samples))
    monkeypatch.setattr(inspect_logs, "MAX_VALUES", 6000)
    assert len(list(log.samples())) == 2
    monkeypatch.setattr(inspect_logs, "MAX_VALUES", 3500)
    assert_refused(lambda: list(log.samples()), "more than 3500 values in samples; give smaller logs")


@pytest.mark.parametrize("key", ["a", 'with " and \\ and \u00e9'])
def test_attachments_count_as_often_as_they_are_shown(
    key: str, selection: Selection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sample, *_) = log_samples(selection, TASK, right)
    sample["attachments"] = {key: "x" * 1000, "unused": "x" * 10_000}
    sample["input"][0]["content"] = [{"type": "text", "text": f"attachment://{key}"}] * 20
    log = read_log(write_eval(tmp_path / "a.eval", log_header(), [sample]))
    monkeypatch.setattr(inspect_logs, "MAX_MEMBER_BYTES", 20_000)
    assert len(list(log.samples())) == 1
    monkeypatch.setattr(inspect_logs, "MAX_MEMBER_BYTES", 19_999)
    assert_refused(lambda: list(log.samples()), "more than 19999 bytes with its attachments; log without images")


LONG = "x" * 9000
LONG_TEXTS = [{"input": [{"role": "user", "content": LONG}]}, {"target": [LONG]}, {"choices": [LONG]}]


@pytest.mark.parametrize("change", [*LONG_TEXTS, {"scores": {LONG: {"value": 1}}}])
def test_texts_that_are_kept_of_logs_are_limited(
    change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_import, "MAX_LIST_BYTES", 20_000)
    sample = {"epoch": 1, "input": "?", "target": "A", "output": {"choices": []}, **change}
    samples = [{"id": n, **sample} for n in range(3)]
    log = read_log(write_eval(tmp_path / "a.eval", log_header(), samples))
    assert_refused(lambda: list(inspect_import.logged_rows(log)), "more than 20000 bytes of texts; give smaller logs")


def test_a_json_log_is_read(selection: Selection, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps({**log_header(), "samples": log_samples(selection, TASK, right)}))
    assert run_of_logs([path], selection.items.root, tmp_path / "run").agreeing == 10


Change = Callable[[dict[str, Any], dict[str, Any]], object]
HOSTILE: dict[str, tuple[Change, str]] = {
    "wrong id": (lambda h, s: s.update(id="oc-cpr-none"), "not a question of this item set"),
    "escape in id": (lambda h, s: s.update(id="\x1b[31m/../x"), r"\x1b[31m"),
    "id of another task": (lambda h, s: s.update(id="oc-cnt-test-0001"), "not a question of this item set"),
    "number as id": (lambda h, s: s.update(id=7), "not written by a Snellen task (id"),
    "other set": (lambda h, s: s["metadata"]["snellen"].update(content_hash="0" * 64), "another item set"),
    "other image": (lambda h, s: s["metadata"]["snellen"].update(media=["0" * 64]), "showed images that differ"),
    "altered image": (
        lambda h, s: s["input"][0]["content"][0].update(image="data:image/png;base64,AAAA"),
        "showed images that differ",
    ),
    "no image": (
        lambda h, s: s["input"][0]["content"][0].update(image="data:image/png;base64,?"),
        "Snellen tasks never write this",
    ),
    "no task": (lambda h, s: s["metadata"]["snellen"].update(task="oc-cprr"), "has no task"),
    "no condition": (lambda h, s: s["metadata"]["snellen"].update(condition="shots=many"), "shots"),
    "conditions": (lambda h, s: s["metadata"]["snellen"].update(condition="prompt=full,prompt=short"), "prompt"),
    "other words": (
        lambda h, s: s["input"][0]["content"][-1].update(text="Say T."),
        "different wording or image positions",
    ),
    "images moved": (lambda h, s: s["input"][0]["content"].reverse(), "different wording or image positions"),
    "two turns": (lambda h, s: s.update(input=[*s["input"], *s["input"]]), "not a single user message"),
    "a video": (
        lambda h, s: s["input"][0]["content"][0].update(type="video", video="v", format="mp4"),
        "holds 'video'",
    ),
    "no kind of content": (lambda h, s: s["input"][0]["content"][0].update(type="film"), "input"),
    "epoch 0": (lambda h, s: s.update(epoch=0), "epoch"),
    "epoch of a million": (lambda h, s: s.update(epoch=10**6), "epoch"),
    "huge id": (lambda h, s: s.update(id="x" * 150), "not a question of this item set"),
    "huge reply": (
        lambda h, s: s["output"]["choices"][0]["message"].update(content="x" * 4_000_001),
        "4000001 characters",
    ),
    "negative tokens": (lambda h, s: s["output"]["usage"].update(input_tokens=-1), "tokens_in is -1"),
    "output is a list": (lambda h, s: s.update(output=[1]), "output"),
    "escape in model": (lambda h, s: h["eval"].update(model="a\x1b[2Jb"), "name of the model"),
    "huge model": (lambda h, s: h["eval"].update(model="m" * 201), "name of the model"),
    "no model": (lambda h, s: h["eval"].update(model=""), "name of the model"),
    "huge id of the task": (lambda h, s: h["eval"].update(task_id="t" * 200_000), "more than 100000 characters"),
    "later version": (lambda h, s: h.update(version=3), "Unable to read version 3"),
    "huge settings": (
        lambda h, s: h["plan"].update(config={"system_message": "x" * 200_000}),
        "more than 100000 characters",
    ),
    "no eval": (lambda h, s: h.pop("eval"), "eval: Field required"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_logs_are_refused_in_one_line(case: str, selection: Selection, tmp_path: Path) -> None:
    change, reason = HOSTILE[case]
    header, samples = log_header(), log_samples(selection, TASK, right)[:2]
    header = json.loads(json.dumps(header))
    sample = json.loads(json.dumps(samples[1]))
    change(header, sample)
    log = tmp_path / "a.eval"
    with zipfile.ZipFile(log, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("samples/0.json", json.dumps(samples[0]))
        archive.writestr("samples/../../1.json", json.dumps(sample))
    assert_refused(lambda: run_of_logs([log], selection.items.root, tmp_path / "run"), reason)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.eval"]


def test_two_answers_to_one_sample_are_refused(selection: Selection, tmp_path: Path) -> None:
    always: dict[str, Callable[[ModelQuestion], str]] = {"T": lambda question: "T", "F": lambda question: "F"}
    logs = [
        write_eval(tmp_path / f"{name}.eval", log_header(), log_samples(selection, TASK, reply))
        for name, reply in always.items()
    ]
    assert_refused(lambda: run_of_logs(logs, selection.items.root, tmp_path / "run"), "already has a different answer")
    assert not is_run(tmp_path / "run")


def test_damaged_archives_are_refused_in_one_line(
    selection: Selection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_logs, "MAX_MEMBER_BYTES", 1 << 20)
    whole = write_eval(tmp_path / "whole.eval", log_header(), log_samples(selection, TASK, right))
    raw = whole.read_bytes()
    (tmp_path / "cut.eval").write_bytes(raw[: len(raw) // 2])
    (tmp_path / "altered.eval").write_bytes(raw[:300] + bytes(64) + raw[364:])
    (tmp_path / "empty.eval").write_bytes(b"")
    (tmp_path / "deep.json").write_text("[" * 200_000)
    (tmp_path / "list.json").write_text("[]")
    with zipfile.ZipFile(tmp_path / "bomb.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log_header()))
        archive.writestr("samples/a.json", b"[" + bytes(8 << 20))
    bomb = (tmp_path / "bomb.eval").read_bytes()
    claimed = (1 + (8 << 20)).to_bytes(4, "little")
    assert bomb.count(claimed) == 2, "in the local header and in the directory"
    (tmp_path / "lie.eval").write_bytes(bomb.replace(claimed, (1000).to_bytes(4, "little")))
    with zipfile.ZipFile(tmp_path / "other.eval", "w") as archive:
        archive.writestr("readme.txt", "no log")
    for name, reason in {
        "cut.eval": "no JSON",
        "altered.eval": "damaged",
        "empty.eval": "no JSON",
        "deep.json": "no JSON",
        "list.json": "not a JSON object",
        "bomb.eval": "more than 1048576 bytes",
        "lie.eval": "damaged",
        "other.eval": "neither header.json",
        "none.eval": "no such file",
    }.items():
        assert_refused(partial(run_of_logs, [tmp_path / name], selection.items.root, tmp_path / "run"), reason)
    assert not (tmp_path / "run").exists()


def test_a_log_without_samples_is_refused(selection: Selection, tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text(json.dumps({**log_header(), "samples": [True]}))
    odd = f"recorded:{tmp_path}/odd.json"
    assert_refused(lambda: run(selection.items, [odd], tmp_path / "run"), "samples are not a list of objects")
    log = write_eval(tmp_path / "a.eval", log_header(), [])
    assert_refused(lambda: run(selection.items, [f"recorded:{log}"], tmp_path / "run"), "no answers in it")


def test_a_recorded_log_has_no_settings_and_must_show_the_images_of_the_set(
    selection: Selection, tmp_path: Path
) -> None:
    log = write_eval(tmp_path / "a.eval", log_header(), log_samples(selection, TASK, right))
    assert_refused(lambda: run(selection.items, [f"recorded:{log}?id=x"], tmp_path / "other"), "have no setting 'id'")
    samples = log_samples(selection, TASK, right)
    samples[0]["metadata"]["snellen"]["media"] = ["0" * 64]
    other = write_eval(tmp_path / "other.eval", log_header(), samples)
    assert_refused(lambda: run(selection.items, [f"recorded:{other}"], tmp_path / "other"), "showed images that differ")


def test_a_log_of_another_task_is_matched_like_a_file(
    selection: Selection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = log_samples(selection, TASK, right)
    for sample in samples:
        sample["metadata"] = {}
    samples[0] |= {"id": 7}
    samples[1]["output"]["choices"][0]["stop_reason"] = "max_tokens"
    log = write_eval(tmp_path / "a.eval", log_header(), samples)
    examination = run(selection.items, [f"recorded:{log}"], tmp_path / "run", show_progress=False)
    assert [response.item_id for response in examination.responses] == [sample["id"] for sample in samples[1:]]
    assert examination.responses[0].cut_off
    assert "1 match several items" in capsys.readouterr().err
