"""The notes on runs that did not ask everything, word by word."""

from __future__ import annotations

from typing import Any

from snellen.analysis.grading.coverage import Gap, gaps, partial_note, stopping_note
from snellen.analysis.grading.results import SEQUENTIAL
from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.core.storage.runfolder import ArmCard


def arm(**fields: Any) -> ArmCard:
    facts: dict[str, Any] = {
        "subject": "x", "fingerprint": "f", "settings": {}, "attributes": {}, "condition": "vanilla", "columns": {},
        "repeat": 0,
    }  # fmt: skip
    return ArmCard(**{**facts, **fields})


def test_gaps_count_repeats_and_are_named_by_subject_and_condition() -> None:
    """Nothing was answered: three items in two repeats, another in one, and two under another condition."""
    arms = [arm(repeat=n, test_items={"naming": 3, "sizing": 1 - n}) for n in range(2)]
    every = gaps([*arms, arm(condition="shots=1", test_items={"naming": 2})], [])
    assert every == [
        Gap("x", "vanilla", "naming", 6, 6), Gap("x", "vanilla", "sizing", 1, 1), Gap("x", "shots=1", "naming", 2, 2),
    ]  # fmt: skip
    note = partial_note([Gap("x", "vanilla", "naming", 1, 6), every[1], Gap("x", "shots=1", "naming", 2, 5)])
    assert note.endswith("(x: naming 5 of 6, sizing 0 of 1; x [shots=1]: naming 3 of 5).")
    assert partial_note([]) == ""


def test_the_stopping_note_counts_decided_tasks_and_the_states_of_others() -> None:
    def row(items: int, grade: Grade, interval: str = SEQUENTIAL) -> ResultRow:
        return ResultRow(interval=interval, items=items, grade=grade)

    few, near = (Grade(state="open", reason=reason) for reason in ("too few items", "near the boundary"))
    some = Grade("some", "", "")
    rows = [row(90, few), row(20, some), row(90, near), row(41, some), row(90, near), row(7, some, "Wilson")]
    arms = [arm(decide="none", max_items=80), arm(decide="none", max_items=90), arm(decide="drop", max_items=240)]
    assert stopping_note(rows, arms).startswith(
        "Each task was asked until its score was decided, 90 items at most: 2 of 5 are decided, after 30 items on "
        "average; undecided: 2 open: near the boundary, 1 open: too few items. Intervals"
    )
    assert "0 of 1 are decided; undecided: 1 open" in stopping_note(rows[:1], arms)
    assert stopping_note(rows, arms[2:]) == stopping_note(rows[5:], arms) == ""
    look_rows = [row(1, some, f"95 % Wilson; look {n} of 2") for n in (2, 1, 2)]
    note = stopping_note([*look_rows, rows[1]], arms)
    assert note.startswith("Scores of encoders and simulated subjects at planned looks: 1 at look 1 of 2, 2 at look 2 ")
    assert "1 of 1 is decided, after 20 items on average." in note


def test_more_items_decide_what_is_open_for_their_number_alone() -> None:
    states = {("open", "too few items"): (True, False), ("open", "near the boundary"): (True, False),
              ("open", "no baseline"): (False, False), ("declined", "in part"): (False, True),
              ("failed", "in part"): (False, True), ("failed", "all"): (False, False)}  # fmt: skip
    grades = {key: Grade("", *key) for key in states}
    assert {key: (grade.needs_items, grade.is_of_part) for key, grade in grades.items()} == states
    assert Grade("", "threshold", "below").threshold == "below"
    assert Grade("", "open", "no baseline").threshold == "open: no baseline"
