"""What a checkup shows while it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.compute import Progress
from snellen.compute.progress import LINE_SECONDS, counting_into
from snellen.core.subject import SubjectCard
from snellen.exam import board as board_module
from snellen.exam.board import Board
from snellen.suites import SUITES

MODEL = SubjectCard("chat:model")


def board_in(folder: Path) -> Board:
    return Board({name: SUITES.get(name) for name in ("combo", "vlm2-bench")}, folder, visible=False)


def test_a_line_has_images_drawn_elsewhere_questions_and_decided_scores(tmp_path: Path) -> None:
    board = board_in(tmp_path)
    assert board.lines() == ["ComBo       waits", "VLM²-Bench  waits"]
    with counting_into(tmp_path / "combo"), Progress("rendering", visible=False) as images:
        images.expect(24)
        images.advance(24)
    assert board.lines()[0] == "ComBo       images 24/24"
    state = board.states["combo"]
    state.questions.expect(108)
    state.questions.advance(36)
    state.scores.update({("chat:model", "img2text"): True, ("chat:model", "text2img"): False})
    assert state.line().startswith("ComBo       images 24/24  asked 36/108  decided 1 of 2")
    state.is_over = True
    assert state.line().endswith("  done")
    assert all(len(line) < 80 for line in board.lines())


def test_a_decision_is_told_in_words_once_and_not_of_simulated_observers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = board_in(tmp_path)
    undecided = ResultRow(task="img2text", n=16, value=0.75, grade=Grade("", "open", "too few items"))
    decided = ResultRow(task="img2text", n=32, value=0.75, grade=Grade("some"))
    board.graded("combo", tmp_path, MODEL, undecided)
    assert board.lines()[0] == "ComBo       decided 0 of 1"
    assert len(board.lines()) == 2
    board.graded("combo", tmp_path, MODEL, decided)
    board.graded("combo", tmp_path, SubjectCard("fake:oracle", role="simulated"), decided)
    name = SUITES.get("combo").card.tasks["img2text"].name
    assert board.lines()[0] == "ComBo       decided 1 of 1"
    assert board.lines()[2:] == [f"decided: chat:model, “{name}”: 75 %, beyond guessing"]
    monkeypatch.setattr(board_module, "cost_by_subject", lambda root: {"chat:paid": 0.84})
    paid = SubjectCard("chat:paid", is_remote=True)
    for task in ("img2text", "text2img"):
        board.graded("combo", tmp_path, paid, ResultRow(task=task, n=32, value=0.1, grade=Grade("none")))
    assert board.lines()[-1] == "chat:paid: 0.84 so far, 0.42 per decided score"


def test_without_a_terminal_lines_are_printed_when_they_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of suites that wait are not, and none twice."""
    board, waits = board_in(tmp_path), list[float]()

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        board.states["combo"].is_over = len(waits) > 2
        board._decision = "decided: x" if len(waits) > 1 else ""
        return len(waits) > 4

    monkeypatch.setattr(board._is_over, "wait", wait)
    board.states["combo"].questions.expect(9)
    board._print_lines()
    assert capsys.readouterr().err.splitlines() == [
        "ComBo       asked 0/9", "decided: x", "ComBo       asked 0/9  done",
    ]  # fmt: skip
    assert waits == [LINE_SECONDS] * 5


def test_each_run_of_a_paid_model_has_its_own_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board, paid = board_in(tmp_path), SubjectCard("chat:paid", is_remote=True)
    costs = {"a": {"chat:paid": 0.5, "chat:free": 0.0}, "b": {"chat:paid": 0.25}}
    monkeypatch.setattr(board_module, "cost_by_subject", lambda root: costs[root.name])
    decided = ResultRow(task="img2text", n=32, value=0.1, grade=Grade("none"))
    for root in ("a", "b", "a"):
        board.graded("combo", tmp_path / root, paid, decided)
        board.states["combo"].scores.clear()
    assert board.lines()[-1] == "chat:paid: 0.75 so far, 0.75 per decided score"
    assert not [line for line in board.lines() if "chat:free" in line]
    lines = len(board.lines())
    board.graded("combo", tmp_path / "b", SubjectCard("chat:local"), decided)
    assert len(board.lines()) == lines, "a local model costs nothing"
