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


class Compared(str):
    """A text that counts how often it is compared with another."""

    counted = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.counted += 1
        return str.__eq__(self, other)


@pytest.mark.parametrize("repeated", ["key", "text"])
def test_the_repeated_one_of_many_options_is_found_without_comparing_all(repeated: str) -> None:
    options, fields = [Option(Compared(n), Compared(n)) for n in range(300)], dict[str, Any]({repeated: Compared(298)})
    Compared.counted, options[-1] = 0, replace(options[-1], **fields)
    assert "'298'" in str(item_fault(replace(PLAIN, options=tuple(options))))
    assert Compared.counted < 1000


def test_a_plain_item_is_valid() -> None:
    assert item_fault(PLAIN) is None
    assert media_fault(IMAGE) is None


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        ("true_false", ["true", "false"], ["yes", True, 1]),
        ("integer", [0, -3, 10**14], [1.0, "1", True, 10**15]),
        ("number", [0, 0.5, -9e17], ["1", True, float("nan"), float("inf"), 10**400, 1e18]),
        (
            "box",
            [(0.0, 0.0, 1.0, 1.0), (-3, 0, 1, 9)],
            [(0, 0, 1), (1, 0, 1, 1), (0, 2, 1, 1), (0, 0, 1, float("nan"))],
        ),
        ("colour", [(0, 255, 7)], [(0, 256, 7), (0, -1, 7), (0, 1), "red"]),
        ("point", [(3, -4.5)], [(3,), (3, 4, 5), (3, float("nan"))]),
        ("text", ["a", ("a", "b")], ["", " ", 7, ("a", "")]),
        ("description", ["words", None], [7, ("a",)]),
        ("choice", [], ["r", 1]),
    ],
)
def test_an_answer_has_its_kind(kind: Any, right: list[Any], wrong: list[Any]) -> None:
    item = replace(PLAIN, options=(), answer_kind=kind, measures={"radius_px": 9.0})
    assert [answer for answer in right if item_fault(replace(item, answer=answer))] == []
    assert [answer for answer in wrong if not item_fault(replace(item, answer=answer))] == []


LONG = "x" * 1_001
LONG_NAMES: tuple[tuple[str, Any], ...] = (
    ("factors", {"a": LONG}), ("factors", {LONG: "a"}), ("requires", (LONG,)), ("measures", {LONG: 1.0})
)  # fmt: skip


def test_names_within_the_limits_are_no_fault() -> None:
    factors = {"a": LONG[1:], **{f"{n}": "x" for n in range(198)}}
    assert item_fault(replace(PLAIN, factors=factors, requires=("x",) * 101, measures={LONG[1:]: 1.0})) is None


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
        ({"factors": {"level": 1}}, "factor 'level' is 1, not a text"),
        ({"factors": {"": "a"}}, "factor '' is 'a', not a text with a name"),
        ({"latent": {"worlds": "a"}}, "latent has no worlds that"),
        ({"latent": {"worlds": [{"look": "a", "answer": "r"}]}}, "latent has no look that"),
        ({"latent": {"shows": {"0": "a"}}}, "latent has no shows that"),
        ({"latent": {"partitions": {"AB": []}}}, "latent has no partitions that"),
        ({"latent": {"partitions": {"A" * 20_001: "r"}}}, "latent has partitions of 20001 letters, more than 20000"),
        ({"options": (RED, Option("b", "x" * 1_000_001))}, "more than 1000000 characters"),
        ({"options": (), "answer": None}, "a choice has no options"),
        ({"options": (), "answer": None, "answer_kind": "choices"}, "a choice has no options"),
        (
            {"options": tuple(Option(str(n), f"x{n}") for n in range(27)), "answer_kind": "choices"},
            "several of more than 26 options",
        ),
        ({"question": "x" * 1_000_001}, "more than 1000000 characters"),
        *(({field: names}, "or one of more than 1000 characters") for field, names in LONG_NAMES),
        ({"factors": {f"{n}": "x" for n in range(200)}, "requires": ("x",) * 101}, "more than 500 factors, measures"),
    ],
)
def test_invalid_items_are_refused_with_the_reason(fields: dict[str, Any], message: str) -> None:
    assert message in str(item_fault(replace(PLAIN, **fields)))


@pytest.mark.parametrize("name", ["item_id", "suite", "task", "stimulus_id", "group_id", "cluster_id", "version"])
def test_every_name_has_one_to_a_thousand_plain_characters(name: str) -> None:
    for text, fault in [
        ("", f"{name} is empty"), ("x" * 1_001, "longer than 1000 characters"), ("a\x1b", r"control character \x1b")
    ]:  # fmt: skip
        fields: dict[str, Any] = {name: text}
        assert fault in str(item_fault(replace(PLAIN, **fields)))
    fields = {name: "x" * 1_000}
    assert item_fault(replace(PLAIN, **fields)) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"options": (RED, Option("r\x1b", "blue"))}, {"options": (RED, Option("b", "\x1b"))},
        {"support": (Demo((), "r", 0, "\x1b"),)}, {"suite": STEP_SUITE, "support": (Demo((), "\x1b", 0),)},
        {"factors": {"\x1b": "hard"}}, {"factors": {"level": "\x1b"}}, {"measures": {"\x1b": 1.0}},
        {"options": (), "answer_kind": "text", "answer": ("red", "\x1b")},
    ],
    ids=str,
)  # fmt: skip
def test_no_text_of_an_item_has_control_characters(fields: dict[str, Any]) -> None:
    assert r"control character \x1b" in str(item_fault(replace(PLAIN, **fields)))


@pytest.mark.parametrize(
    ("answer", "is_valid"), [(("b", "r"), True), (("r",), True), (("r", "b"), False), (("b", "b"), False), ((), False),
                             (("b", "g"), False), (["b", "r"], False), ("r", False)],
)  # fmt: skip
def test_several_right_options_are_a_sorted_tuple_of_keys(answer: Any, is_valid: bool) -> None:
    fault = item_fault(replace(PLAIN, answer_kind="choices", answer=answer))
    assert (fault is None) == is_valid
    assert is_valid or "is no sorted set of keys" in str(fault)


@pytest.mark.parametrize(("radius", "is_valid"), [(0.5, True), (0.0, False), (-1.0, False), (None, False)])
def test_a_point_has_the_radius_of_its_target(radius: float | None, is_valid: bool) -> None:
    measures = {} if radius is None else {"radius_px": radius}
    point = replace(PLAIN, options=(), answer_kind="point", answer=(1.0, 2.0), measures=measures)
    assert (item_fault(point) is None) == is_valid


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
     {"seconds": -1.0}, {"seconds": float("nan")}, {"seconds": 1e6}, {"format": "a" * 9}, {"height": 0}],
)  # fmt: skip
def test_media_need_a_name_and_a_size(fields: dict[str, Any]) -> None:
    assert media_fault(replace(IMAGE, **fields))
