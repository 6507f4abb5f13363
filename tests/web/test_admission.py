"""Which records of a participant may follow others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from snellen.core.item import AnswerKind
from snellen.web.admission import FormProgress, Refused, answer_fits, row_problem
from snellen.web.plan import Calibration, End, Entry, Question, RecordRow, Start, Stop, StudyPlan
from tests.helpers.studies import CONSENT, NOON, make_plan, rows_of_form

BEGUN = FormProgress(rows=2, consented=True)
"""After the start and the consent."""


def test_nothing_comes_after_stopping() -> None:
    stop = RecordRow(sequence=2, record=Stop(type="stop", time=NOON))
    assert row_problem(stop, make_plan(), "p01", 0, BEGUN) == ""
    after = BEGUN.after(stop)
    assert after == FormProgress(rows=3, consented=True, stopped=True)
    again = stop.model_copy(update={"sequence": 3})
    assert row_problem(again, make_plan(), "p01", 0, after) == "Nothing comes after the end, or after stopping."


def problem_of(plan: StudyPlan, number: int, progress: FormProgress, **fields: Any) -> str:
    """What is wrong with row `number` of form 0 with other fields of its record."""
    plain = rows_of_form(plan, "p01", 0)[number].plain()
    plain |= {"sequence": progress.rows, "record": plain["record"] | fields}
    return row_problem(RecordRow.model_validate(plain), plan, "p01", 0, progress)


@pytest.mark.parametrize("name", ["seconds", "loading", "hidden"])
@pytest.mark.parametrize("seconds", [-0.1, 2_592_001.0, math.inf, math.nan])
def test_times_of_a_page_are_within_a_month(name: str, seconds: float) -> None:
    odd = problem_of(make_plan(), 2, BEGUN, **{name: seconds})
    assert odd == "Seconds are numbers from 0 to 2592000."
    assert [problem_of(make_plan(), 2, BEGUN, **{name: limit}) for limit in (0.0, 2_592_000.0)] == ["", ""]


PAGE_LIMITS: list[tuple[dict[str, Any], str]] = [
    ({"reasons": {"item-choice": "x" * 20_000}}, ""),
    ({"reasons": {"item-choice": "x" * 20_001}}, "A reason has at most 20000 characters."),
    ({"reasons": {"item-text": "x"}}, "Page 'q-choice' asks for no reason there."),
    ({"time": "2000-01-01T00:00:00Z"}, ""),
    ({"time": "1999-12-31T00:00:00Z"}, "A time must have a time zone, and a year from 2000 to 2099."),
    ({"time": "2099-12-31T00:00:00Z"}, ""),
    ({"time": "2100-01-01T00:00:00Z"}, "A time must have a time zone, and a year from 2000 to 2099."),
    ({"position": 9}, "Page 'q-choice' does not stand in this place of the form."),
    (
        {"position": 1, "page_id": "q-true_false", "answers": {"item-true_false": "T"}, "reasons": {}},
        "Page 1 of the form comes next, not page 2.",
    ),
    ({"answers": {}}, "Page 'q-choice' asks 1 questions; each must be answered, and no other."),
    ({"answers": {"item-choice": None}}, "The answer to 'item-choice' is missing."),
    ({"answers": {"item-choice": "D"}}, "The answer to 'item-choice' is not of the kind choice."),
    ({"attempts": 2}, "Page 'q-choice' has at most 1 attempts, and only practice can be failed."),
    ({"passed": False}, "Page 'q-choice' has at most 1 attempts, and only practice can be failed."),
]


@pytest.mark.parametrize(("fields", "problem"), PAGE_LIMITS, ids=lambda part: str(part)[:60])
def test_a_page_s_record_is_refused_for_its_own_fault(fields: dict[str, Any], problem: str) -> None:
    assert problem_of(make_plan(), 2, BEGUN, **fields) == problem


KIND_LIMITS: dict[str, list[Any]] = {
    "choice": ["A", "C"], "true_false": ["F"], "integer": ["-4", -4, "0" * 1000], "number": ["1e3", 0.5],
    "box": [[0, 0, 0, 0]], "point": [[0, 0]], "colour": [[0, 0, 0], [255, 255, 255]], "text": ["", "x" * 20_000],
    "description": ["x" * 20_000],
}  # fmt: skip
"""Answers at the limits of their kinds."""


@pytest.mark.parametrize("kind", list(KIND_LIMITS))
def test_answers_at_the_limits_of_their_kind_fit(kind: str) -> None:
    plan = make_plan()
    number = list(plan.pages).index(f"q-{kind}")
    progress = replace(BEGUN, rows=2 + number, pages=number)
    for answer in KIND_LIMITS[kind]:
        assert problem_of(plan, 2 + number, progress, answers={f"item-{kind}": answer}) == "", answer


@pytest.mark.parametrize(
    ("kind", "answer"),
    [("box", [math.nan, 0, 0, 0]), ("point", [math.inf, 0]), ("colour", [math.nan, 0, 0]), ("text", 5.0),
     ("description", "x" * 20_001), ("number", "0" * 1001), ("number", math.nan), ("point", "1,2")],
)  # fmt: skip
def test_an_answer_beyond_its_kind_does_not_fit(kind: AnswerKind, answer: Entry) -> None:
    assert not answer_fits(answer, Question(item_id="i", kind=kind))


def changed_page(**fields: Any) -> StudyPlan:
    """The small plan with other fields of its first page."""
    plan = make_plan()
    page = plan.pages["q-choice"].model_copy(update=fields)
    return plan.model_copy(update={"pages": plan.pages | {"q-choice": page}})


def test_practice_may_be_tried_three_times_and_failed() -> None:
    plan = changed_page(kind="practice", feedback={"item-choice": "B"})
    assert [problem_of(plan, 2, BEGUN, attempts=tries, passed=False) for tries in (1, 3)] == ["", ""]
    assert problem_of(plan, 2, BEGUN, attempts=4).startswith("Page 'q-choice' has at most 3 attempts")


def test_an_example_has_no_answer() -> None:
    plan = changed_page(kind="example", feedback={"item-choice": "B"})
    assert problem_of(plan, 2, BEGUN, answers={"item-choice": None}) == ""


def test_the_time_of_a_page_is_up_a_second_early_at_most() -> None:
    plan, nothing = changed_page(seconds=3.0), {"item-choice": None}
    assert problem_of(plan, 2, BEGUN, answers=nothing, seconds=2.0) == ""
    early = problem_of(plan, 2, BEGUN, answers=nothing, seconds=1.99)
    assert early == "The answer to 'item-choice' is missing, and the time of the page was not up."


TOO_LARGE = "The record of the start is too large."
START_LIMITS: list[tuple[dict[str, Any], str]] = [
    ({"agent": "x" * 1000}, ""), ({"agent": "x" * 1001}, TOO_LARGE),
    ({"parameters": {"lab": "x" * 1000}}, ""), ({"parameters": {"lab": "x" * 1001}}, TOO_LARGE),
    ({"parameters": {"x" * 1001: ""}}, TOO_LARGE), ({"screen": {"x" * 1001: 1.0}}, TOO_LARGE),
    ({"parameters": {str(n): "" for n in range(25)}, "screen": {str(n): 1.0 for n in range(25)}}, ""),
    ({"parameters": {str(n): "" for n in range(25)}, "screen": {str(n): 1.0 for n in range(26)}}, TOO_LARGE),
    # Of 8000 characters, `""` twice, `"p01"`, and quotes around eight names of 998.
    ({"agent": "", "parameters": {}, "screen": {f"{n:0998}": 1.0 for n in range(7)} | {"x" * 989: 1.0}}, ""),
    ({"agent": "", "parameters": {}, "screen": {f"{n:0998}": 1.0 for n in range(7)} | {"x" * 990: 1.0}}, TOO_LARGE),
    ({"screen": {"width": math.inf}}, "A screen size is not a number."),
    ({"code": "a-b"}, ""), ({"code": "abcdefghij-lmnopqrst"}, ""),
    ({"code": "jatos-1"}, "The code of the start is none that the page makes."),
    ({"form": 1}, "The start is that of another participant or form; reload the page."),
    ({"participant": "p02"}, "The start is that of another participant or form; reload the page."),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "problem"), START_LIMITS, ids=lambda part: str(part)[:60])
def test_a_start_is_refused_for_its_own_fault(fields: dict[str, Any], problem: str) -> None:
    assert problem_of(make_plan(), 0, FormProgress(), **fields) == problem


def test_rows_out_of_order_are_refused_with_the_place_that_comes_next() -> None:
    plan = make_plan(texts=CONSENT)
    rows = rows_of_form(plan, "p01", 0)
    assert row_problem(rows[3], plan, "p01", 0, BEGUN) == "Row 2 comes next, not row 3."
    assert problem_of(plan, 1, FormProgress()) == "The first row must be the start."
    assert problem_of(plan, 2, FormProgress(rows=1)) == "Consent comes before the first answer."
    assert problem_of(plan, 11, replace(BEGUN, pages=8)) == "The end comes after 9 pages, not after 8."
    assert problem_of(plan, 11, replace(BEGUN, pages=9)) == ""
    finished = BEGUN.after(RecordRow(sequence=2, record=End(type="end", time=NOON)))
    assert problem_of(plan, 2, finished) == "Nothing comes after the end, or after stopping."
    assert problem_of(plan, 0, replace(BEGUN, code="a-b")) == "The code of the start is not that of the first one."
    elsewhere = problem_of(plan, 0, FormProgress(), plan_hash="x" * 50)
    assert elsewhere == f"The start belongs to plan {'x' * 40}, not to this study's ({plan.plan_hash})."


def test_a_page_is_loaded_a_thousand_times_besides_its_answers() -> None:
    plan = make_plan()
    loaded = [FormProgress(rows=rows, pages=5, consented=True) for rows in (1005, 1006)]
    assert [problem_of(plan, 0, progress) for progress in loaded] == ["", "The page was loaded too often."]
    assert problem_of(plan, 7, loaded[1]) == "", "questions can still be answered"


def test_progress_adds_what_each_record_says() -> None:
    """The rows of a whole form, with a calibration: each changes its own field and the number of rows."""
    plan = make_plan()
    start, consent, *pages, end = (row.record for row in rows_of_form(plan, "p01", 0))
    assert isinstance(start, Start)
    card = Calibration(type="calibration", card_px=None, pixel_ratio=1, distance_cm=60, time=NOON)
    returned = start.model_copy(update={"code": "else-1"})
    progress = FormProgress(stored_bytes=5)
    for number, record in enumerate((start.model_copy(update={"code": "a-b"}), consent, card, returned, *pages[:2])):
        progress = progress.after(RecordRow(sequence=number, record=record))
    assert progress == FormProgress(rows=6, pages=2, consented=True, code="a-b", calibrated=True)
    assert progress.after(RecordRow(sequence=6, record=end)) == replace(progress, rows=7, finished=True)


def test_a_refused_row_names_person_file_and_place() -> None:
    refused = Refused("p01\x1b" + "x" * 100, "a.zip", "row 3", "It is missing.")
    assert str(refused).endswith(" (a.zip), row 3: It is missing.")
    assert str(refused).startswith("p01")
    assert len(str(refused)) < 120
    assert str(Refused("p01", "a.zip", "", "Left out by --skip.")) == "p01: Left out by --skip."
