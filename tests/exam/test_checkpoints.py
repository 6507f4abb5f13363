"""Exams of checkpoints: the same items each time, within the time limit, without disturbing the training."""

from __future__ import annotations

import itertools
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import snellen
from snellen.core.build_options import BuildOptions
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.run_tables import read_responses
from snellen.exam import checkpoints
from snellen.exam.checkpoints import CheckpointVerdict
from snellen.runs.planning.selection import select_items
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
    verdict = snellen.checkpoint_exam(answer, folder, sets=[items.root], n=N, **more)
    assert verdict is not None
    return verdict


def test_a_drop_is_seen_on_the_same_items(items: ItemSet, tmp_path: Path) -> None:
    good = exam(knows(items), items, tmp_path, step=10)
    bad = exam(lambda parts: "no idea", items, tmp_path, step=20)
    assert (good.state, good.since) == ("whole", None)
    (row,) = good.abilities
    assert [row[name] for name in ("suite", "task", "value", "chance", "n", "grade")] == [
        "combo", "img2text", 1.0, 0.25, N, "most",
    ]  # fmt: skip
    assert 0.25 < row["low"] < 1
    assert (bad.since, bad.dropped, bad.rose) == (10, ["combo/img2text"], [])
    assert str(bad) == "step 20: 0 of 1 abilities have a grade above none; dropped since 10: combo/img2text"
    item_ids = [
        {response.item_id for response in read_responses(tmp_path / f"step-{n:08d}" / "combo")} for n in (10, 20)
    ]
    assert item_ids[0] == item_ids[1]
    assert len(item_ids[0]) == N
    assert json.loads((tmp_path / "step-00000020" / "verdict.json").read_text()) == asdict(bad) | {
        "abilities": list(bad.abilities)
    }


def test_an_exam_ends_in_time_and_states_the_items_left_out(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock moves by calls alone, not by how busy the machine is."""
    now, ticks = 0.0, itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: now + next(ticks) / 1e6)

    def answer(parts: list[Any]) -> str:
        nonlocal now
        now += 6
        return "A"

    verdict = exam(answer, items, tmp_path, seconds=60)
    assert (verdict.state, verdict.step) == ("partial", 0)
    assert 54 <= verdict.seconds < 55
    assert verdict.error == f"not asked: img2text {N - 9}"
    assert verdict.abilities[0]["n"] == 9
    assert exam(answer, items, tmp_path, seconds=120).state == "whole"


@pytest.mark.slow
def test_a_quarter_of_every_task_is_asked_first(
    items: ItemSet, sets_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, ticks = 0.0, itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: now + next(ticks) / 1e6)

    def answer(parts: list[Any]) -> str:
        nonlocal now
        now += 1
        return "A"

    sets = [str(items.root), str(small_set("vfm-bench", sets_folder).root)]
    verdict = snellen.checkpoint_exam(answer, tmp_path, sets=sets, n=8, seconds=8)
    assert verdict is not None
    assert verdict.state == "partial"
    assert {row["suite"] for row in verdict.abilities} == {"combo", "vfm-bench"}


def test_failures_are_reported_in_the_verdict(
    items: ItemSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(parts: list[Any]) -> str:
        raise ZeroDivisionError("no weights")

    verdict = exam(broken, items, tmp_path, step=1)
    assert verdict.state == "failed"
    assert "ZeroDivisionError: no weights" in verdict.error
    assert exam(knows(items), items, tmp_path, step=2).since is None
    failed = snellen.checkpoint_exam(broken, tmp_path, step=3, sets=["comboo"])
    assert failed is not None
    assert failed.error.startswith("'comboo' is neither a folder nor a suite")
    assert "step 3: the exam failed" in capsys.readouterr().err
    with pytest.raises(TypeError, match="secconds"):
        snellen.exam_callback(secconds=3)


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


def test_steps_are_distinguished_from_other_files(items: ItemSet, tmp_path: Path) -> None:
    (tmp_path / "step-0100.pt").touch()
    (tmp_path / "step-2-weights").mkdir()
    assert [exam(knows(items), items, tmp_path).step for _ in range(2)] == [0, 1]
    again = exam(lambda parts: "no idea", items, tmp_path, step=1)
    assert (again.since, again.dropped) == (0, ["combo/img2text"]), "the weights at this step may have changed"
    assert (tmp_path / "earlier-step-00000001" / "verdict.json").exists()


def test_a_verdict_counts_the_seconds_of_the_comparison(
    items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monotonic, offset = time.monotonic, 0.0

    def slow_changes(*_: object) -> dict[str, Any]:
        nonlocal offset
        offset += 1000
        return {}

    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + offset)
    monkeypatch.setattr(checkpoints, "_changes", slow_changes)
    assert exam(knows(items), items, tmp_path).seconds >= 1000


def test_only_the_first_process_examines(items: ItemSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    assert snellen.checkpoint_exam(knows(items), tmp_path, sets=[items.root]) is None
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
def test_the_example_shows_an_improvement(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra 'models'")
    words = [sys.executable, str(EXAMPLES / "checkpoint_exam.py"), str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("0 of 1 abilities have a grade above none")
    assert "rose since 0: combo/img2text" in lines[1]
    last = json.loads((tmp_path / "exam" / "step-00000120" / "verdict.json").read_text())
    assert (last["state"], last["abilities"][0]["grade"]) == ("whole", "most")
