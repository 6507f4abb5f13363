"""Rows of scores by hand: every column, what a judge decides, and cells that no run has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from snellen.core.item import Item, ReplySpec
from snellen.core.response import Response
from snellen.core.score import Protocol
from snellen.runs.scores import score as scoring
from snellen.runs.scores.score import COLUMNS, is_judged, read_one, score
from tests.helpers.journey import NAMED, STRICT, item, suite_of, task

KEYS = tuple((option.key, option.key) for option in NAMED)


def _item(number: int = 0, **fields: Any) -> Item:
    names = {"stimulus_id": f"s{number}", "group_id": f"g{number}", "cluster_id": f"c{number}", "split": "train"}
    return item(f"i{number}", [], "red", "choice", options=NAMED, **{**names, **fields})


def _response(number: int = 0, text: str | None = "red", **fields: Any) -> Response:
    named = Response(
        f"id{number}", "a", "f", f"i{number}", "task", "shots=1", 3, "ok", text, "", ReplySpec("choice", KEYS), ()
    )
    return replace(named, **fields)


def _judged(**fields: Any) -> Protocol:
    return replace(STRICT, judge=lambda item, response: item, **fields)


def _scored(responses: Sequence[Response], protocol: Protocol = STRICT, **how: Any) -> pd.DataFrame:
    items: Any = SimpleNamespace(by_id={f"i{n}": _item(n) for n in range(5)})
    return score(responses, items, suite_of(tasks=[task(protocols={"strict": protocol})]), **how)


def test_each_column_of_a_row_is_its_own() -> None:
    (row,) = _scored([_response(2, "It is blue.")]).to_dict("records")
    assert row == {
        "subject": "a", "fingerprint": "f", "suite": "hard", "task": "task", "condition": "shots=1", "repeat": 3,
        "split": "train", "protocol": "strict", "judge": "", "metric": "accuracy", "item_id": "i2",
        "stimulus_id": "s2", "group_id": "g2", "cluster_id": "c2", "truth": '"red"', "prediction": '"blue"',
        "outcome": "answered", "form": "", "value": 0.0, "chance": pytest.approx(1 / 3),
    }  # fmt: skip
    assert tuple(row) == COLUMNS


def test_many_responses_are_scored_in_parts_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "BATCH", 2)
    table = _scored([_response(n, "red" if n % 2 else "blue") for n in range(5)])
    assert (list(table["item_id"]), list(table.index)) == ([f"i{n}" for n in range(5)], [*range(5)])
    assert list(table["value"]) == [0, 1, 0, 1, 0]
    assert list(_scored([]).columns) == list(COLUMNS)


@pytest.mark.parametrize(
    ("protocol", "response", "is_judgement"),
    [
        (STRICT, _response(), False), (_judged(), _response(), True), (_judged(), _response(text=""), False),
        (_judged(), _response(text=None), False), (_judged(), _response(status="failed"), False),
        (_judged(read_verdict=STRICT.read), _response(), False),
        (_judged(read_verdict=STRICT.read), _response(text="hm"), True),
        (_judged(read_verdict=STRICT.read), _response(text="hm", cut_off=True), False),
        (_judged(), _response(text="hm", cut_off=True), True),
    ],
)  # fmt: skip
def test_a_judge_decides_about_texts_that_nothing_else_reads(
    protocol: Protocol, response: Response, is_judgement: bool
) -> None:
    assert is_judged(response, protocol) is is_judgement


@pytest.mark.parametrize(
    ("verdict", "outcome", "value"),
    [
        (None, "failed", math.nan), (_response(text="green"), "answered", 0.0), (_response(), "answered", 1.0),
        (_response(status="failed", text=None), "failed", math.nan), (_response(text="hm"), "no_answer", 0.0),
        (_response(status="declined", text=None), "not_applicable", math.nan),
        (_response(text="hm", cut_off=True), "cut_off", 0.0),
    ],
)  # fmt: skip
def test_a_verdict_is_read_in_place_of_the_reply(verdict: Response | None, outcome: str, value: float) -> None:
    judge = replace(verdict, subject="j") if verdict else None
    verdicts = {"other": _response(subject="j")} | ({"id1": judge} if judge else {})
    (row,) = _scored([_response(1, "blue")], _judged(), judgements=verdicts).to_dict("records")
    assert (row["judge"], row["outcome"]) == ("j", outcome)
    assert row["value"] == pytest.approx(value, nan_ok=True)
    assert read_one(_item(), _response(text="blue"), STRICT, judge) == ("answered", "blue"), "no judge is asked"
