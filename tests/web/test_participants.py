"""What tables say of each person and of each trial, every column worked by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from snellen.web.participants import Participant, people_by_form, people_table
from snellen.web.plan import Calibration, RecordRow, StudyPlan
from snellen.web.study import StudyCard, read_study
from snellen.web.trials import _words, trial_table
from tests.helpers.studies import NOON, TIME, make_plan, rows_of_form, with_hash, write_study

KINDS = {"q-choice": "attention", "q-integer": "practice", "q-box": "example"}
"""Pages of other kinds than questions; form 0 begins with the choice."""
KEYS: dict[str, Any] = {"item-choice": "B"}


@pytest.fixture
def study(tmp_path: Path) -> tuple[StudyCard, StudyPlan]:
    """A study with a check, a practice page and an example, that asks for a calibration."""
    plan = make_plan()
    pages = {name: page.model_copy(update={"kind": KINDS.get(name, "question")}) for name, page in plan.pages.items()}
    pages["q-integer"] = pages["q-integer"].model_copy(update={"feedback": {"item-integer": "4"}})
    plan = with_hash(plan.model_copy(update={"pages": pages, "calibration": True}))
    write_study(tmp_path, plan=plan)
    card = read_study(tmp_path)
    check = card.pages["q-choice"].model_copy(update={"item_ids": (), "answers": KEYS})
    return card.model_copy(update={"pages": card.pages | {"q-choice": check}}), plan


def person(
    plan: StudyPlan, alias: str, form: int, stop: int | None, start: dict[str, Any], **answers: Any
) -> Participant:
    """A person who answers the first pages of a form after a calibration; `answers` are fields of pages by kind."""
    rows = [row.plain()["record"] for row in rows_of_form(plan, alias, form)]
    rows[0] |= start
    card = Calibration(type="calibration", card_px=428, pixel_ratio=1, distance_cm=60, time=NOON)
    rows.insert(2, card.model_dump(mode="json"))
    for number, record in enumerate(rows[3:-1]):
        record |= {"seconds": 1.0 + number, "time": (NOON + timedelta(seconds=number)).isoformat()}
        record |= answers.get(record["page_id"].removeprefix("q-"), {})
    if stop is not None:
        rows = [*rows[: 3 + stop], {"type": "stop", "time": TIME}]
    parsed = [RecordRow.model_validate({"sequence": number, "record": record}) for number, record in enumerate(rows)]
    return Participant(alias, f"name of {alias}", tuple(parsed))


def test_a_person_s_row_by_hand(study: tuple[StudyCard, StudyPlan]) -> None:
    """The first answers all but one question in time, and fails the practice; the second stops after three pages.

    The third has no card, and stops at once.
    """
    card, plan = study
    parameters = {"lab": "north", "PROLIFIC_PID": "x1", "email": "a@b.c"}
    late = {"answers": {"item-number": None}}
    first = person(
        plan, "p01", 0, None, {"code": "a-b", "parameters": parameters}, number=late, integer={"passed": False}
    )
    again = RecordRow(sequence=99, record=first.start.model_copy(update={"code": "c-d"}))
    first = replace(first, rows=(*first.rows, again, again))
    second = person(plan, "p02", 1, 3, {"time": "2026-11-23T08:00:00Z", "parameters": {"PROLIFIC_PID": "x2"}})
    third = person(plan, "p03", 0, 0, {"parameters": {}})
    no_card = third.rows[2].record.model_copy(update={"card_px": None})
    rows = (*third.rows[:2], RecordRow(sequence=2, record=no_card), *third.rows[3:])
    people = people_table(plan, card, [first, second, replace(third, rows=rows)], {})
    table = people.astype(object).where(people.notna(), None).to_dict("list")
    # Questions of form 0: true_false 2 s, number 4 s, point 6 s, colour 7 s, text 8 s, description 9 s.
    assert {name: cells for name, cells in table.items() if name != "same_id_as"} == {
        "participant": ["p01", "p02", "p03"],
        "subject": ["human:small/p01", "human:small/p02", "human:small/p03"],
        "name": ["name of p01", "name of p02", "name of p03"],
        "code": ["a-b c-d", "", ""],
        "form": [0, 1, 0],
        "started": ["2026-11-22T10:00:00+00:00", "2026-11-23T08:00:00+00:00", "2026-11-22T10:00:00+00:00"],
        "ended": ["2026-11-22T10:00:00+00:00", "", ""],
        "stopped": [False, True, True],
        "consent": [True, True, True],
        "questions": [6, 6, 6],
        "answered": [5, 3, 0],
        "time_was_up": [1, 0, 0],
        "not_reached": [0, 3, 6],
        "rows_left_out": [0, 0, 0],
        "median_seconds": [6.5, 2.0, None],
        "practice_failed": [1, 0, 0],
        "checks": [1, 1, 1],
        "checks_passed": [1, 0, 0],
        "checks_failed": [0, 0, 0],
        "checks_not_reached": [0, 1, 1],
        "px_per_cm": ["50.00", "50.00", ""],
        "distance_cm": ["60", "60", "60"],
        "parameter_PROLIFIC_PID": ["x1", "x2", None],
        "parameter_lab": ["north", None, None],
    }


def test_of_many_people_with_one_panel_id_ten_others_are_named(study: tuple[StudyCard, StudyPlan]) -> None:
    card, plan = study
    parameters = {"PROLIFIC_PID": "x1"}
    people = [person(plan, f"p{n:02}", 0, 0, {"parameters": parameters}) for n in range(12)]
    cells = people_table(plan, card, people, {})["same_id_as"].tolist()
    assert cells[0] == "p01 p02 p03 p04 p05 p06 p07 p08 p09 p10 and 1 more"
    assert cells[11] == "p00 p01 p02 p03 p04 p05 p06 p07 p08 p09 and 1 more"
    assert people_table(plan, card, people[:11], {})["same_id_as"][0] == "p01 p02 p03 p04 p05 p06 p07 p08 p09 p10"


def test_a_trial_of_practice_and_of_a_check_by_hand(study: tuple[StudyCard, StudyPlan]) -> None:
    """An example asks for nothing; practice is right if its first attempt was."""
    card, plan = study
    page_ids = ("q-choice", "q-integer", "q-box")
    forms = tuple(
        tuple(block.model_copy(update={"page_ids": ids}) for block in form)
        for form, ids in zip(plan.forms, (page_ids, page_ids[::-1]), strict=True)
    )
    plan = plan.model_copy(update={"forms": forms})
    odd = {"hidden": 0.5, "loading": 0.25, "attempts": 2}
    first = person(plan, "p01", 0, None, {}, integer={**odd, "reasons": {"item-integer": "why"}})
    second = person(plan, "p02", 1, None, {}, choice={"answers": {"item-choice": "C"}}, integer={"passed": False})
    third = person(plan, "p03", 0, 2, {}, choice={"answers": {"item-choice": None}})
    table = trial_table(card, plan, [first, second, third], []).to_dict("records")
    shared = {"suite": "", "block": "all", "task": "", "condition": "vanilla", "px_per_cm": 50.0, "distance_cm": 60.0}
    check = {**shared, "item": "item-choice", "practice": 0, "attention": 1, "truth": "B", "reason": "because",
             "hidden": 0.0, "loading": 0.1, "attempts": 1}  # fmt: skip
    practice = {**check, "item": "item-integer", "practice": 1, "attention": 0, "truth": "4", "answer": "3"}
    places = [
        {"position": number + 1, "seconds": 1.0 + number, "time": (NOON + timedelta(seconds=number)).isoformat()}
        for number in range(3)
    ]
    of_first, of_second, of_third = ({"participant": f"p0{n + 1}", "form": n % 2} for n in range(3))
    assert [{name: cell for name, cell in row.items() if name not in ("score", "error")} for row in table] == [
        {**check, **of_first, **places[0], "answer": "B", "right": 1},
        {**practice, **of_first, **places[1], **odd, "reason": "why", "right": 0},
        {**practice, **of_second, **places[1], "right": 0},
        {**check, **of_second, **places[2], "answer": "C", "right": 0},
        {**check, **of_third, **places[0], "answer": "", "right": 0},
        {**practice, **of_third, **places[1], "right": 1},
    ]


def test_answers_are_words_of_their_options_or_rounded_numbers() -> None:
    names = {"A": "red", "3": "three"}
    answers = (None, "A", "B", 3, 4, ["A", "C"], [0.123456, 2])
    assert [_words(answer, names) for answer in answers] == ["", "red", "B", "three", "4", "red; C", "[0.1235, 2]"]


def test_people_are_counted_by_form(tmp_path: Path) -> None:
    write_study(tmp_path)
    pd.DataFrame({"form": [1, 1, 0, 1]}).to_csv(tmp_path / "people.csv")
    assert people_by_form(tmp_path, tmp_path) == [1, 3]
