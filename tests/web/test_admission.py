"""Which records of a participant may follow others."""

from __future__ import annotations

import math

import pytest

from snellen.web.admission import FormProgress, row_problem
from snellen.web.plan import PageAnswers, RecordRow, Stop
from tests.helpers.studies import NOON, make_plan, rows_of_form


def test_nothing_comes_after_stopping() -> None:
    stop = RecordRow(sequence=2, record=Stop(type="stop", time=NOON))
    begun = FormProgress(rows=2, consented=True)
    assert row_problem(stop, make_plan(), "p01", 0, begun) == ""
    after = begun.after(stop)
    assert after == FormProgress(rows=3, consented=True, stopped=True)
    again = stop.model_copy(update={"sequence": 3})
    assert row_problem(again, make_plan(), "p01", 0, after) == "Nothing comes after the end, or after stopping."


@pytest.mark.parametrize("name", ["seconds", "loading", "hidden"])
@pytest.mark.parametrize("seconds", [-0.1, 2_592_001.0, math.inf, math.nan])
def test_times_of_a_page_are_within_a_month(name: str, seconds: float) -> None:
    plan, progress = make_plan(), FormProgress()
    rows = rows_of_form(plan, "p01", 0)
    first_answers = next(n for n, row in enumerate(rows) if isinstance(row.record, PageAnswers))
    for row in rows[:first_answers]:
        progress = progress.after(row)
    assert row_problem(rows[first_answers], plan, "p01", 0, progress) == ""
    odd = rows[first_answers].model_copy(
        update={"record": rows[first_answers].record.model_copy(update={name: seconds})}
    )
    assert row_problem(odd, plan, "p01", 0, progress) == "Seconds are numbers from 0 to 2592000."
