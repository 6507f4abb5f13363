"""Exams of checkpoints: the same items each time, within the time limit, without disturbing the training."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import snellen
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import read_responses
from snellen.core.suite import BuildOptions, Suite
from snellen.exam import checkpoints
from snellen.exam.checkpoints import prepare_exam
from snellen.reports.checkpoints import CheckpointVerdict, read_verdict
from snellen.runs.selection import select_items
from snellen.suites import SUITES
from tests.helpers.notebook import EXAMPLES
from tests.helpers.sets import small_set

N = 16


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    """One task of ComBo, whose answers a test can look up by its image."""
    out = tmp_path_factory.mktemp("set") / "items"
    options = BuildOptions(out, n=N, tasks=("img2text",), renderer="blank", size=(120, 90), show_progress=False)
    return SUITES.get("combo").recipes["generated"].build(options)


def knows(items: ItemSet) -> Callable[[list[Any]], str]:
    """Answers right by the words of a prompt only."""
    labels = [(tuple(option.text for option in item.options), item.answer) for item in items.items]

    def answer(parts: list[Any]) -> str:
        listed = [line.split(". ", 1) for line in parts[-1].splitlines() if line[1:3] == ". "]
        names = {text: letter for letter, text in listed}
        letter: str = next(names[right] for texts, right in labels if set(texts) == set(names))
        return letter

    return answer


def exam(answer: Any, items: ItemSet, folder: Path, **more: Any) -> CheckpointVerdict:
    verdict = snellen.checkpoint_exam(answer, folder, sets=[str(items.root)], n=N, **more)
    assert verdict is not None
    return verdict


def test_a_drop_is_seen_on_the_same_items(items: ItemSet, tmp_path: Path) -> None:
    good = exam(knows(items), items, tmp_path, step=10)
    bad = exam(lambda parts: "no idea", items, tmp_path, step=20)
    assert (good.state, good.changes, good.items_a_task) == ("whole", None, N)
    (score,) = good.abilities
    assert (score.ability, score.value, score.chance, score.n, score.state) == (
        "img2text",
        1.0,
        0.25,
        N,
        "most",
    )
    assert score.low is not None
    assert 0.25 < score.low < 1
    assert bad.changes is not None
    assert bad.changes.since == 10
    assert bad.changes.dropped == ["combo/img2text"]
    assert bad.abilities[0].no_answer_rate == 1.0
    assert good.sets[0].content_hash == bad.sets[0].content_hash == items.card.content_hash
    item_ids = [
        {response.item_id for response in read_responses(tmp_path / f"step-{n:08d}" / "combo")} for n in (10, 20)
    ]
    assert item_ids[0] == item_ids[1]
    assert len(item_ids[0]) == N
    assert read_verdict(tmp_path / "step-00000020") == bad
    assert json.loads((tmp_path / "step-00000020" / "verdict.json").read_text())["changes"]["dropped"]


def test_an_exam_ends_in_time_and_states_the_items_left_out(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monotonic, offset, seconds_a_call = time.monotonic, 0.0, 3.0
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + offset)

    def answer(parts: list[Any]) -> str:
        nonlocal offset
        offset += seconds_a_call
        return "A"

    first = exam(answer, items, tmp_path, seconds=60)
    assert first.items_a_task is not None
    assert 9 <= first.items_a_task <= 13
    assert (first.state, first.step) == ("whole", 0)
    seconds_a_call = 6.0
    second = exam(answer, items, tmp_path, seconds=60)
    assert (second.state, second.step, second.items_a_task) == ("partial", 1, first.items_a_task)
    assert second.seconds < 61
    assert second.sets[0].items == 9
    assert second.sets[0].unasked == {"img2text": first.items_a_task - 9}
    assert f"not asked: img2text {first.items_a_task - 9}" in second.error


@pytest.mark.slow
def test_a_suite_that_was_not_reached_is_named(
    items: ItemSet, sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monotonic, offset, seconds_a_call = time.monotonic, 0.0, 0.0
    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + offset)

    def answer(parts: list[Any]) -> str:
        nonlocal offset
        offset += seconds_a_call
        return "A"

    sets = [str(items.root), str(small_set("vfm-bench", sets_folder).root)]
    verdicts = []
    for pace in (0.1, 3000.0, 0.1):
        seconds_a_call = pace
        verdict = snellen.checkpoint_exam(answer, tmp_path, sets=sets, n=2, seconds=2000)
        assert verdict is not None
        verdicts.append(verdict)
    assert [verdict.state for verdict in verdicts] == ["whole", "partial", "whole"]
    assert {score.suite for score in verdicts[1].abilities} == {"combo"}
    (unreached,) = [each for each in verdicts[1].sets if each.suite == "vfm-bench"]
    assert unreached.items == 0
    assert unreached.unasked
    changes = [verdict.changes for verdict in verdicts]
    assert [each.without for each in changes if each] == [
        {"vfm-bench": "was not asked now"}, {"vfm-bench": "was not asked then"},
    ]  # fmt: skip


def test_failures_are_reported_in_the_verdict(
    items: ItemSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(parts: list[Any]) -> str:
        raise ZeroDivisionError("no weights")

    verdict = exam(broken, items, tmp_path / "broken", step=1)
    assert verdict.state == "failed"
    assert "ZeroDivisionError: no weights" in verdict.error
    assert not (tmp_path / "broken" / "exam.json").exists()  # the next exam measures the pace anew
    assert exam(knows(items), items, tmp_path / "broken", step=2).changes is None
    assert "choose another folder" in exam(knows(items), items, tmp_path / "broken", step=3, seconds=30).error
    late = exam(broken, items, tmp_path / "broken", step=4)
    assert late.state == "failed"
    assert late.abilities[0].failure_rate == 1.0
    assert "no weights" in late.error
    assert exam(knows(items), items, tmp_path / "odd", step=1, images=3).error.startswith("images: ")
    assert "the exam failed" in capsys.readouterr().err
    for mistake, words in (("comboo", "neither a folder nor a suite"), ("combo/img2txt", "did you mean 'img2text'")):
        with pytest.raises(snellen.SnellenError, match=words):
            snellen.exam_callback(sets=[mistake])
    with pytest.raises(snellen.SnellenError, match="every: 0 steps"):
        snellen.exam_callback(every=0)


def test_no_random_state_moves(items: ItemSet, tmp_path: Path) -> None:
    states: list[tuple[float, float]] = []

    def draws(parts: list[Any]) -> str:
        states.append((random.random(), np.random.rand()))  # noqa: NPY002
        return "A"

    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = random.random(), np.random.rand()  # noqa: NPY002
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    for folder in ("first", "second"):
        exam(draws, items, tmp_path / folder)
    assert (random.random(), np.random.rand()) == expected  # noqa: NPY002
    assert states[: len(states) // 2] == states[len(states) // 2 :]


def test_a_mistake_in_the_settings_leaves_earlier_exams_alone(items: ItemSet, tmp_path: Path) -> None:
    first = exam(knows(items), items, tmp_path, step=1)
    files = sorted(tmp_path.rglob("*"))
    assert "choose another folder" in exam(knows(items), items, tmp_path, step=1, seconds=30).error
    assert exam(knows(items), items, tmp_path, step=1, secconds=30).state == "failed"
    assert sorted(tmp_path.rglob("*")) == files
    assert read_verdict(tmp_path / "step-00000001") == first


def test_steps_are_distinguished_from_other_files(items: ItemSet, tmp_path: Path) -> None:
    (tmp_path / "step-0100.pt").touch()
    (tmp_path / "step-2-weights").mkdir()
    assert [exam(knows(items), items, tmp_path).step for _ in range(2)] == [0, 1]


def test_a_verdict_counts_the_seconds_of_the_comparison(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monotonic, offset = time.monotonic, 0.0

    def slow_changes(*_: object) -> None:
        nonlocal offset
        offset += 1000

    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + offset)
    monkeypatch.setattr(checkpoints, "_changes", slow_changes)
    assert exam(knows(items), items, tmp_path).seconds >= 1000


def test_a_second_import_of_the_script_ends_the_import(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state of a process while it imports the main module of its parent."""
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    for begin in (lambda: exam(knows(items), items, tmp_path), snellen.exam_callback):
        with pytest.raises(snellen.SnellenError, match="if __name__"):
            begin()
    assert not list(tmp_path.iterdir())


def test_a_whole_suite_is_asked_even_if_a_task_is_named_too(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks: list[tuple[str, ...]] = []

    def find(suite: Suite, options: BuildOptions) -> None:
        tasks.append(options.tasks)
        raise SnellenError("not built")

    monkeypatch.setattr(checkpoints, "find_generated", find)
    for sets in (["combo", "combo/img2text"], ["combo/img2text", "combo"], ["combo/img2text"]):
        with pytest.raises(SnellenError, match="not built"):
            prepare_exam(sets=sets, renderer="blank", n=2)
    assert tasks == [(), (), ("img2text",)]


def test_only_the_first_process_examines(items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert snellen.checkpoint_exam(knows(items), tmp_path, sets=[str(items.root)]) is None
    assert not list(tmp_path.iterdir())


def test_ctrl_c_reaches_the_training(items: ItemSet, tmp_path: Path) -> None:
    def interrupted(parts: list[Any]) -> str:
        signal.raise_signal(signal.SIGINT)
        return "A"

    with pytest.raises(KeyboardInterrupt):
        exam(interrupted, items, tmp_path)


def test_items_are_spread_and_smaller_choices_are_part_of_larger(sets_folder: Path) -> None:
    combo = small_set("combo", sets_folder)
    chosen = [{item.item_id for item in select_items(combo, count).items} for count in range(1, 9)]
    assert all(smaller < larger for smaller, larger in itertools.pairwise(chosen))
    tested = [item for item in select_items(combo, 5).task("pattern-perception") if item.split == "test"]
    assert len({item.cluster_id for item in tested}) == len(tested) == 5
    assert len({item.question for item in tested}) > 1


@pytest.mark.slow
def test_sets_are_built_once(capsys: pytest.CaptureFixture[str]) -> None:
    how: dict[str, Any] = {"sets": ["combo/img2text", "vlm2-bench/gc-mat"], "n": 4, "renderer": "toy"}
    sets = prepare_exam(**how)
    assert [(items.card.suite, set(items.card.counts)) for items in sets] == [
        ("combo", {"img2text"}), ("vlm2-bench", {"gc-mat"}),
    ]  # fmt: skip
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" for exams")[0] for line in lines] == [
        "snellen: building combo",
        "snellen: building vlm2-bench",
    ]
    moments = [(items.root / "itemset.json").stat().st_mtime_ns for items in sets]
    assert [(items.root / "itemset.json").stat().st_mtime_ns for items in prepare_exam(**how)] == moments
    assert not capsys.readouterr().err


@pytest.mark.slow
def test_the_example_shows_an_improvement(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra 'models'")
    words = [sys.executable, str(EXAMPLES / "checkpoint_exam.py"), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("0 of 1 abilities have a grade above none")
    assert "rose since 0: combo/img2text" in lines[1]
    last = read_verdict(tmp_path / "exam" / "step-00000120")
    assert last.state == "whole"
    assert last.abilities[0].state == "most"
