"""Parts of reports with more than one of each: subjects, runs, calls, gaps; all numbers by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from snellen.analysis.grading import states
from snellen.analysis.grading.coverage import Gap
from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.core.score import Metric
from snellen.core.storage.runfolder import ArmCard
from snellen.reports import front_page
from snellen.reports.conduct import _arm_summary
from snellen.reports.export import with_unasked
from snellen.reports.front_page import AbilityName, GradedAbility, _line
from snellen.reports.words import colour, probability, unread_notes

SHARE = Metric("near", lambda item, reply: 0.5)
NAN = math.nan


def arm(subject: str, **cells: Any) -> ArmCard:
    usual: dict[str, Any] = {"fingerprint": subject, "settings": {}, "attributes": {}, "condition": "vanilla",
                             "columns": {}, "repeat": 0, "role": "model"}  # fmt: skip
    return ArmCard(subject=subject, **usual | cells)


def square(task: str, progress: float, word: str = "", state: str = "", reason: str = "", **more: Any) -> GradedAbility:
    row = ResultRow(task=task, grade=Grade(word, state, reason), failure_rate=more.pop("failed", 0.0))
    return GradedAbility("s", task, progress, row=row, about=AbilityName(task.upper()), **more)


def test_a_subject_is_told_the_newest_check_its_own_gaps_and_its_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    def sight(root: str, fingerprint: str) -> Any:
        check = SimpleNamespace(date=root[-1], words=lambda: root, faults=lambda: [f"fault {root}"])
        return check if fingerprint == "chat:a" else None

    monkeypatch.setattr(front_page, "sight_of", sight)
    arms = [arm("chat:a"), arm("chat:b")]
    run = SimpleNamespace(card=SimpleNamespace(arms=arms), roots=["run-2", "run-3", "run-1"])
    gaps = [Gap("chat:a", "vanilla", "t", 2, 9), Gap("chat:b", "vanilla", "u", 1, 9)]
    part: Any = SimpleNamespace(title="s", run=run, gaps=gaps, ability=lambda task: AbilityName(task.upper()))
    first, second = (_line(entry.subject, [square("t", 0.5, failed=0.125)], [], [(part, ("t", "u"))]) for entry in arms)
    assert (first.sight, first.faults, second.sight, second.faults) == ("run-3", ("fault run-3",), "", ())
    assert ("t 7 of 9" in first.partial, "u 8 of 9" in first.partial) == (True, False)
    assert ("t 7 of 9" in second.partial, "u 8 of 9" in second.partial) == (False, True)
    assert first.partial.endswith("Items without a score because their calls failed: 12.5 % of “T”.")
    assert [entry.ability for entry in first.grades] == ["t", "u"]


def test_each_grade_has_its_colour() -> None:
    words = {"none": "below", "some": "part", "most": "above", "nearly all right": "above"}
    assert {word: colour(Grade(word, "", "")) for word in words} == words
    stated = [(states.OPEN, states.TOO_FEW), (states.FAILED, states.ALL), (states.NOT_ASKED, states.NEVER)]
    assert [colour(Grade("", *state)) for state in stated] == ["same", "same", "none"]


def test_numbers_have_notes_on_what_was_not_read() -> None:
    row = ResultRow(value=0.5, n=10, no_answer_rate=0.1, cut_off_rate=0.004, value_answered=0.625)
    assert unread_notes(row, SHARE) == ["no answer 10 %", "cut off < 1 %", "of what was read 62 %"]
    assert unread_notes(replace(row, no_answer_rate=0.0), SHARE) == ["cut off < 1 %", "of what was read 62 %"]
    assert unread_notes(replace(row, value_answered=NAN), SHARE) == ["no answer 10 %", "cut off < 1 %"]
    assert unread_notes(replace(row, no_answer_rate=0.0, cut_off_rate=0.0), SHARE) == []
    assert [probability(p) for p in (NAN, 0.0009, 0.001, 0.0456, 1.0)] == ["–", "< 0.001", "0.001", "0.046", "1"]


def test_what_was_not_asked_is_counted_for_its_own_rows_alone() -> None:
    usual = {"suite": "s", "subject": "a", "condition": "vanilla", "task": "t"}
    rows = pd.DataFrame([usual, *({**usual, name: "other"} for name in usual)])
    gaps = {"s": [Gap("a", "vanilla", "t", 2, 9), Gap("a", "vanilla", "t", 3, 9)]}
    assert with_unasked(rows, gaps)["unasked"].tolist() == [5, 0, 0, 0, 0]
    assert "unasked" not in with_unasked(rows, {"s": []})


def test_an_arm_has_the_sums_of_its_calls_and_what_they_cost() -> None:
    calls = pd.DataFrame({
        "tokens_in": [1000, 3000, 0], "tokens_out": [200, 300, 0], "seconds": [1.5, 2.0, 0.5],
        "stop": ["end", "length", None], "model": ["m-2", "m-1", ""],
    })  # fmt: skip
    card = arm("chat:m", attributes={"price_in": "10", "price_out": "100"}, settings={"seed": 1}, columns={"shots": 2})
    summary = _arm_summary(card, "chat:m [x]", 3, calls, "as told")
    assert (summary.arm, summary.repeats, summary.calls, summary.forms) == ("chat:m [x]", 3, 3, "as told")
    # 4000 at 10 and 500 at 100 per million.
    assert (summary.tokens_in, summary.tokens_out, summary.seconds, summary.cost) == (4000, 500, 4.0, "0.0900")
    texts = summary.settings, summary.axes, summary.attributes, summary.model, summary.stops
    assert texts == ("seed 1", "shots 2", "price_in 10, price_out 100", "m-1, m-2", "length 1")
