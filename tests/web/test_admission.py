"""Which records of a participant may follow others."""

from __future__ import annotations

from snellen.web.admission import FormProgress, row_problem
from snellen.web.plan import RecordRow, Stop
from tests.helpers.studies import NOON, make_plan


def test_nothing_comes_after_stopping() -> None:
    stop = RecordRow(sequence=2, record=Stop(type="stop", time=NOON))
    begun = FormProgress(rows=2, consented=True)
    assert row_problem(stop, make_plan(), "p01", 0, begun) == ""
    after = begun.after(stop)
    assert after == FormProgress(rows=3, consented=True, stopped=True)
    again = stop.model_copy(update={"sequence": 3})
    assert row_problem(again, make_plan(), "p01", 0, after) == "Nothing comes after the end, or after stopping."
