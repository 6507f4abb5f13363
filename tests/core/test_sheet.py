from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.item import ReplySpec, View
from snellen.core.sheet import read_sheet, write_sheet

VIEWS = [View(f"{s}{q}", s, "t", q, (), ReplySpec("text")) for s in ("a", "b") for q in ("colour?", "shape?")]
FULL: list[dict[str, Any]] = [{"sample": 1, "q1": "red", "q2": "cube"}, {"sample": 2, "q1": "blue", "q2": "cone"}]
ANSWERS = {"acolour?": "red", "ashape?": "cube", "bcolour?": "blue", "bshape?": "cone"}


@given(st.lists(st.text(), min_size=4, max_size=4))
def test_a_written_sheet_is_read_back(texts: list[str]) -> None:
    rows = json.loads(write_sheet(VIEWS, texts))
    assert list(read_sheet(VIEWS, rows).values()) == texts


@pytest.mark.parametrize(
    ("rows", "lost"),
    [
        (FULL, set()),
        (FULL[::-1], set()),
        ({"answers": FULL}, set()),
        ([{**FULL[0], "sample": "1"}, FULL[1]], set()),
        ([{**FULL[0], "sample": 2}, FULL[1]], set(ANSWERS)),
        ([FULL[0], {"sample": 2, "q1": "blue"}], {"bshape?"}),
        ([FULL[0], {**FULL[1], "sample": 3}], {"bcolour?", "bshape?"}),
        ([FULL[0], {"q1": "blue", "q2": "cone"}], {"bcolour?", "bshape?"}),
        ([{**FULL[0], "sample": True}, FULL[1]], {"acolour?", "ashape?"}),
        ([{**FULL[0], "sample": "\u00b9"}, FULL[1]], {"acolour?", "ashape?"}),  # a digit that is no number
        ([FULL[0], "blue", None], {"bcolour?", "bshape?"}),
        ({"q1": "red", "q2": "cube"}, set(ANSWERS)),  # one object for several samples, without a sample number
        ({"sample": 2, "q1": "blue", "q2": "cone"}, {"acolour?", "ashape?"}),
        (None, set(ANSWERS)),
        ("red", set(ANSWERS)),
    ],
)
def test_a_sheet_is_read_by_its_sample_numbers(rows: Any, lost: set[str]) -> None:
    assert read_sheet(VIEWS, rows) == {name: None if name in lost else text for name, text in ANSWERS.items()}


def test_one_object_answers_one_sample_and_cells_may_be_values() -> None:
    assert read_sheet(VIEWS[:2], {"q1": 3, "q2": [1, 2]}) == {"acolour?": "3", "ashape?": "[1, 2]"}
    assert read_sheet(VIEWS[:2], {"q1": None, "q2": False}) == {"acolour?": None, "ashape?": "false"}
