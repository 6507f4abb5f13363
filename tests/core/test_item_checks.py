"""Rules for items, each at its boundary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from snellen.core.item import Demo, Item, Media, Option
from snellen.core.item_checks import STEP_SUITE, item_fault, media_fault, size_fault

RED, BLUE = Option("r", "red"), Option("b", "blue")
IMAGE = Media("a" * 64, "image", "png", 8, 8)
PLAIN = Item("i", "s", "t", "?", (IMAGE,), "r", "choice", "i", "i", "i", options=(RED, BLUE))


def test_a_plain_item_is_valid() -> None:
    assert item_fault(PLAIN) is None
    assert media_fault(IMAGE) is None


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("true_false", ["true", "false"], ["yes", True, 1]),
        ("integer", [0, -3, 10**14], [1.0, "1", True, 10**15]),
        ("number", [0, 0.5, -1e9], ["1", True, float("nan"), float("inf"), 10**400]),
        (
            "box",
            [(0.0, 0.0, 1.0, 1.0), (-3, 0, 1, 9)],
            [(0, 0, 1), (1, 0, 1, 1), (0, 2, 1, 1), (0, 0, 1, float("nan"))],
        ),
        ("colour", [(0, 255, 7)], [(0, 256, 7), (0, -1, 7), (0, 1), "red"]),
        ("text", ["a", ("a", "b")], ["", " ", 7, ("a", "")]),
        ("description", ["words", None], [7, ("a",)]),
        ("choice", [], ["r", 1]),
    ],
)
def test_an_answer_has_its_kind(kind: Any, right: list[Any], wrong: list[Any]) -> None:
    item = replace(PLAIN, options=(), answer_kind=kind)
    assert [answer for answer in right if item_fault(replace(item, answer=answer))] == []
    assert [answer for answer in wrong if not item_fault(replace(item, answer=answer))] == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"answer": "g"}, "'g' is not among the options"),
        ({"answer_kind": "integer", "answer": 3}, "3 is not among the options"),
        ({"options": (RED, RED)}, "two options have the key 'r'"),
        ({"options": (RED, Option("x", "red"))}, "two options show the same ('red')"),
        ({"options": (Option("r", "", (IMAGE,)), Option("x", "", (IMAGE,)))}, "('the same images')"),
        ({"options": (RED, Option("", "blue"))}, "an empty key"),
        ({"support": (Demo((), "g", 0),)}, "an example's answer 'g'"),
        ({"support": (Demo((), "r", -1),)}, "the shot -1"),
        ({"question": "a\x07"}, r"control character \x07"),
        ({"question": "a\rb"}, r"control character \x0d"),
        ({"requires": ("\x85",)}, r"control character \x85"),
        ({"question": "\ud800"}, "a text is not valid Unicode (surrogates not allowed)"),
        ({"measures": {"a": float("inf")}}, "measure 'a' is inf"),
        ({"measures": {"a": True}}, "measure 'a' is True"),
        ({"cluster_id": ""}, "cluster_id is empty"),
        ({"question": "x" * 1_000_001}, "more than 1000000 characters"),
    ],
)
def test_invalid_items_are_refused_with_the_reason(fields: dict[str, Any], message: str) -> None:
    assert message in str(item_fault(replace(PLAIN, **fields)))


def test_unusual_items_are_valid() -> None:
    for fields in (
        {"options": (Option("r"), Option("b"))},
        {"options": (RED,)},
        {"options": (Option("r", "", (IMAGE,)), Option("b", "red", (IMAGE,)))},
        {"question": "two\r\nlines\tand ünï \U0001f441 שלום"},
        {"question": ""},
        {"answer_kind": "integer", "answer": 2, "options": (Option("1"), Option("2"))},
    ):
        assert item_fault(replace(PLAIN, **fields)) is None, fields
    step = replace(PLAIN, suite=STEP_SUITE, answer=None, support=(Demo((), "anything", 0),))
    assert item_fault(step) is None


@pytest.mark.parametrize(
    ("size", "sound"),
    [((1, 1), True), ((0, 1), False), ((8000, 8000), True), ((8000, 8001), False), ((32_000, 2000), True),
     ((32_001, 1), False)],
)  # fmt: skip
def test_pixels_have_a_limit(size: tuple[int, int], sound: bool) -> None:
    assert (size_fault(*size) is None) == sound


@pytest.mark.parametrize(
    "fields",
    [{"sha256": "A" * 64}, {"sha256": "a" * 63}, {"format": "p/g"}, {"format": ""}, {"kind": "sound"}, {"width": 0},
     {"seconds": -1.0}, {"seconds": float("nan")}],
)  # fmt: skip
def test_media_need_a_name_and_a_size(fields: dict[str, Any]) -> None:
    assert media_fault(replace(IMAGE, **fields))
