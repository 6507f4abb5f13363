"""Replies that the parser cannot read, read by a subject: a separate protocol, with unchanged strict scores."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import ReplySpec
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.run_tables import read_responses
from snellen.exam.items import build
from snellen.exam.judge import judge
from snellen.exam.rescoring import rescore
from snellen.exam.run import run
from snellen.reports import load_run
from snellen.runs.scores.judgements import FOLDER, judgement_items
from snellen.runs.scores.score import read_scores
from snellen.runs.scores.unread import JUDGED_READING, read_reading
from snellen.runs.sets.gate import open_run_items
from snellen.suites import SUITES

VAGUE = "Well, who could say."


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    out = tmp_path_factory.mktemp("unread") / "items"
    options = BuildOptions(
        out, n=2, tasks=("oc-cnt", "oc-grp", "gc-mat"), quick=True, renderer="toy", show_progress=False
    )
    return build(SUITES.get("vlm2-bench"), "generated", options)


def script(path: Path, lines: dict[str, str]) -> str:
    path.write_text(json.dumps(lines))
    return f"fake:scripted={path}"


@pytest.fixture
def run_root(items: ItemSet, tmp_path: Path) -> Path:
    """A subject whose first reply to each task is vague and whose others are right; and an oracle."""
    lines = {item.item_id: item.view().reply.write(item.answer) for item in items.items}
    first = {item.task: item.item_id for item in reversed(items.items)}
    lines |= dict.fromkeys(first.values(), VAGUE)
    subjects = [script(tmp_path / "vague.json", lines), "fake:oracle"]
    run(items, subjects, tmp_path / "run", show_progress=False)
    return tmp_path / "run"


def questions(root: Path) -> dict[str, str]:
    """The questions to a reader, by response."""
    _, items, suite = open_run_items(root)
    return {item.item_id: item.question for item in judgement_items(read_responses(root), items, suite, JUDGED_READING)}


def right_answers(root: Path, items: ItemSet) -> dict[str, str]:
    """By response: the reply of a reader that decides for the right answer."""
    return {
        response.response_id: response.reply_spec.write(items.by_id[response.item_id].answer)
        for response in read_responses(root)
    }


def reader_calls(root: Path) -> int:
    return sum(1 for folder in root.glob(f"{FOLDER}/*/run") for _ in read_exchanges(folder))


def means(scores: pd.DataFrame) -> dict[tuple[str, str], float]:
    rows = scores[(scores["metric"] == "accuracy") & scores["subject"].str.contains("vague")]
    values: dict[tuple[str, str], list[float]] = {}
    for task, judge_name, score in zip(rows["task"], rows["judge"], rows["value"], strict=True):
        values.setdefault((task, judge_name), []).append(score)
    return {key: sum(scores) / len(scores) for key, scores in values.items()}


def test_only_unread_replies_are_asked_about_in_fixed_words(run_root: Path, items: ItemSet) -> None:
    prompts = questions(run_root)
    assert len(prompts) == 3
    assert all(
        VAGUE in text and text.startswith("A respondent was asked a question about images") for text in prompts.values()
    )
    counting = next(text for key, text in prompts.items() if "oc-cnt" in key)
    assert "The answer is a whole number." in counting
    truth = next(text for key, text in prompts.items() if "gc-mat" in key)
    assert "Options, one per line:\nT (true)\nF (false)\n" in truth


def test_unread_replies_count_as_decided_by_the_reader(run_root: Path, items: ItemSet, tmp_path: Path) -> None:
    strict = read_scores(run_root)["strict"]
    done = judge(
        run_root, script(tmp_path / "reader.json", right_answers(run_root, items)), unread=True, show_progress=False
    )
    assert (done.texts, done.failed, done.unreadable) == (3, 0, 0)
    scores = read_scores(run_root)
    pd.testing.assert_frame_equal(scores["strict"], strict)
    read = scores[JUDGED_READING]
    assert set(means(read)) == {(task, "fake:scripted=reader.json") for task in ("oc-cnt", "oc-grp", "gc-mat")}
    assert set(means(read).values()) == {1.0}, "one unread reply of each task was right after all"
    assert all(value < 1 for value in means(strict).values())
    oracle = read[read["subject"] == "fake:oracle"]
    assert set(oracle["judge"]) == {""}, "none of its replies had to be read"
    reported = load_run(run_root).results
    rows = reported[reported["factor"] == ""]
    rows = rows[rows["subject"].str.contains("vague") & (rows["metric"] == "accuracy")].set_index(["protocol", "task"])
    values = dict(zip(rows.index, rows["value"].astype(float), strict=True))
    assert values[JUDGED_READING, "oc-cnt"] == 1.0
    assert values["strict", "oc-cnt"] < 1.0


def test_nothing_is_read_twice_and_a_new_reader_gives_another_result(run_root: Path, tmp_path: Path) -> None:
    first, *rest = questions(run_root)
    lines = dict.fromkeys(rest, "NONE")
    done = judge(run_root, script(tmp_path / "reader.json", lines), unread=True, show_progress=False)
    assert (done.texts, done.failed, done.unreadable) == (3, 1, 0)
    unread = read_scores(run_root)[JUDGED_READING]
    assert (unread["outcome"] == "failed").any(), "replies not read yet are missing, not wrong"
    before = reader_calls(run_root)
    done = judge(run_root, script(tmp_path / "reader.json", {**lines, first: "hm"}), unread=True, show_progress=False)
    assert (done.failed, done.unreadable, reader_calls(run_root)) == (0, 1, before + 1)
    judge(run_root, script(tmp_path / "reader.json", {}), unread=True, show_progress=False)
    assert reader_calls(run_root) == before + 1
    judge(run_root, script(tmp_path / "other.json", {"*": "NONE"}), unread=True, show_progress=False)
    judges = set(read_scores(run_root)[JUDGED_READING]["judge"])
    assert judges == {"", "fake:scripted=reader.json", "fake:scripted=other.json"}
    _, items, suite = open_run_items(run_root)
    none = rescore(run_root, items, suite, JUDGED_READING)
    strict = read_scores(run_root)["strict"]
    reread = none[none["judge"] == "fake:scripted=other.json"].sort_values(["item_id", "metric"])
    same = strict[strict["subject"].str.contains("vague")].sort_values(["item_id", "metric"])
    reread_values, values = (list(table["value"].fillna(-1)) for table in (reread, same))
    assert reread_values == values, "a reader that decides for nothing changes nothing"


def test_a_reader_writes_the_shown_name() -> None:
    spec = ReplySpec("choice", (("A", "left"), ("None", "left"), ("B", "right")))
    texts = ["A", "B.", "A (None)", "NONE", "none.", "C", "I cannot say"]
    assert [read_reading(text, spec) for text in texts] == ["left", "right", "left", None, None, None, None]
    assert [read_reading(text, ReplySpec("integer")) for text in ("3", "NONE", "3 or 4")] == [3, None, None]


def test_a_run_without_unread_replies_is_reported(items: ItemSet, tmp_path: Path) -> None:
    run(items, ["fake:oracle"], tmp_path / "run", show_progress=False)
    with pytest.raises(SnellenError, match="no reply with options or a whole number is unread"):
        judge(tmp_path / "run", "fake:chance", unread=True, show_progress=False)
