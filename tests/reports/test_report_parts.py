"""Parts of reports with more than one of each: tasks, subjects, runs, calls, gaps; all numbers by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from snellen.analysis.comparison.verdicts import COLUMNS, Comparison, flips
from snellen.analysis.grading import states
from snellen.analysis.grading.coverage import Gap
from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.core.errors import SnellenError
from snellen.core.score import Metric
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard
from snellen.reports import front_page
from snellen.reports.changes_page import detection, shortages
from snellen.reports.conduct import _arm_summary
from snellen.reports.export import with_unasked
from snellen.reports.front_page import AbilityName, GradedAbility, _line
from snellen.reports.loading import gather, of_subject
from snellen.reports.words import colour, probability, unread_notes
from snellen.scoring.protocols import ACCURACY
from tests.helpers.guard import run_of
from tests.reports.exam import write_items

ERROR = Metric("error", lambda item, prediction: 0.0, higher_is_better=False, share=False, bounds=None)
SHARE = Metric("near", lambda item, reply: 0.5)
NAN = math.nan


def arm(subject: str, **cells: Any) -> ArmCard:
    usual: dict[str, Any] = {"fingerprint": subject, "settings": {}, "attributes": {}, "condition": "vanilla",
                             "columns": {}, "repeat": 0, "role": "model"}  # fmt: skip
    return ArmCard(subject=subject, **usual | cells)


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return write_items(tmp_path_factory.mktemp("report-parts") / "items", 4, tasks=("naming",))


# Changes


def _compared(*rows: dict[str, Any], margin: float = 0.2) -> Comparison:
    usual = {"condition": "vanilla", "kind": "task", "tasks": ("t",), "detectable_drop": 0.11}
    table = pd.DataFrame([{**usual, **row} for row in rows]).reindex(columns=list(COLUMNS))
    metrics = {"t": ACCURACY, "u": ACCURACY, "v": ERROR}
    return Comparison("x", ("a", "b"), metrics, {"u": "short"}, table, flips({}, {}), 4, {}, (), margin)


def test_what_could_have_been_found_is_told_of_all_tasks() -> None:
    t, u, v = {"name": "t"}, {"name": "u", "tasks": ("u",), "detectable_drop": 0.301}, {"name": "v", "tasks": ("v",)}
    found = "No drop found; a drop of {} would have been found in 8 of 10 such comparisons."
    assert detection(_compared(t, v)) == found.format("11 points or more")
    rows = t, u, {**u, "kind": "class", "detectable_drop": 0.9}
    assert detection(_compared(*rows)) == found.format("31 points or more in any task")
    blind = {**u, "detectable_drop": math.inf}
    assert detection(_compared(t, blind)) == "No drop found; none could have been found in short (u)."
    assert detection(_compared(v)) == "No drop found."
    few = [{**row, "items_needed": needed} for row, needed in ((t, 70.4), (u, 70.4), (v, math.inf))]
    assert list(shortages(_compared(*few, margin=0.05))) == [
        "This comparison could not have told a drop of 5 points in t, short (u): about 70 items are needed.",
        "This comparison could not have told a drop of 5 points in v: no number of items is enough.",
    ]


# The front page


def square(task: str, progress: float, word: str = "", state: str = "", reason: str = "", **more: Any) -> GradedAbility:
    row = ResultRow(task=task, grade=Grade(word, state, reason), failure_rate=more.pop("failed", 0.0))
    return GradedAbility("s", task, progress, row=row, about=AbilityName(task.upper()), **more)


def test_a_subject_is_told_the_newest_check_its_own_gaps_and_its_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    def sight(root: str, fingerprint: str) -> Any:
        told = SimpleNamespace(date=root[-1], words=lambda: root, faults=lambda: [f"fault {root}"])
        return told if fingerprint == "chat:a" else None

    monkeypatch.setattr(front_page, "sight_of", sight)
    arms = [arm("chat:a"), arm("chat:b")]
    run = SimpleNamespace(card=SimpleNamespace(arms=arms), roots=["run-2", "run-3", "run-1"])
    gaps = [Gap("chat:a", "vanilla", "t", 2, 9), Gap("chat:b", "vanilla", "u", 1, 9)]
    part: Any = SimpleNamespace(title="s", run=run, gaps=gaps, ability=lambda task: AbilityName(task.upper()))
    first, second = (_line(one.subject, [square("t", 0.5, failed=0.125)], [], [(part, ("t", "u"))]) for one in arms)
    assert (first.sight, first.faults, second.sight, second.faults) == ("run-3", ("fault run-3",), "", ())
    assert ("t 7 of 9" in first.partial, "u 8 of 9" in first.partial) == (True, False)
    assert ("t 7 of 9" in second.partial, "u 8 of 9" in second.partial) == (False, True)
    assert first.partial.endswith("Items without a score because their calls failed: 12.5 % of “T”.")
    assert [one.ability for one in first.grades] == ["t", "u"]


# Runs


def test_runs_of_one_set_are_joined_and_a_subject_is_renamed_only_if_its_arm_was_there(items: ItemSet) -> None:
    table = pd.DataFrame({"subject": ["chat:model"], "value": [0.5]})
    conditions = [{name: "original"} for name in ("vanilla", "k=1", "vanilla")]
    runs = [run_of(items, lambda item: 1.0, tasks=("naming",), conditions=condition) for condition in conditions]
    runs = [replace(run, results=table, roots=(Path(f"r{n}"),)) for n, run in enumerate(runs)]
    (exam,) = gather(runs)
    expected = ["chat:model", "chat:model", "chat:model (run 3)"]
    joined = exam.joined
    assert [one.subject for one in joined.card.arms] == list(joined.results["subject"]) == expected
    assert joined.scores["strict"]["subject"].value_counts().to_dict() == {"chat:model": 8, "chat:model (run 3)": 4}
    assert joined.roots == (Path("r0"), Path("r1"), Path("r2"))
    alone = of_subject(joined, "chat:model (run 3)")
    assert [len(alone.card.arms), len(alone.results), len(alone.scores["strict"])] == [1, 1, 4]
    other = replace(runs[1], card=runs[1].card.model_copy(update={"content_hash": "other"}))
    with pytest.raises(SnellenError, match=r"r1 and r0: item sets of the same recipe, but with different items"):
        gather([runs[0], other])
    apart = replace(other, card=other.card.model_copy(update={"recipe_hash": "other"}))
    assert [len(each.runs) for each in gather([runs[0], apart, runs[2]])] == [2, 1]


# Words, files and run details


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
