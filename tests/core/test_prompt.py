"""Replies that cannot be kept or are asked for again, and what a digest of a prompt covers."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest

from snellen.core.item import Demo, Mark, Media, Montage, Option, ReplySpec, View
from snellen.core.prompt import MAX_TEXT, Prompt, Reply, Turn
from snellen_sight.completions import MAX_NAME, MAX_TOKENS


def test_a_reply_of_numbers_is_kept() -> None:
    assert Reply("a", numbers=(1, -1.5e308, -math.inf), seconds=0, tokens_in=3).fault() is None


@pytest.mark.parametrize("number", [math.nan, 10**400, -(10**400), True, "1"], ids=lambda n: str(n)[:5])
def test_numbers_that_no_table_holds_are_refused(number: Any) -> None:
    for field in ({"numbers": (0.5, number)}, {"seconds": number}, {"tokens_in": number}, {"token_limit": number}):
        assert Reply("a", **field).fault(), field


@pytest.mark.parametrize(
    ("name", "most"), [("text", MAX_TEXT), ("reasoning", MAX_TEXT), ("stop", MAX_NAME), ("model", MAX_NAME)]
)
def test_texts_of_a_reply_have_a_limit(name: str, most: int) -> None:
    fits: dict[str, Any] = {"text": "", name: "x" * most}
    assert Reply(**fits).fault() is None
    assert Reply(**fits | {name: "x" * (most + 1)}).fault() == (
        f"the reply's {name} has {most + 1} characters, more than {most}"
    )
    assert Reply(**fits | {name: 7}).fault() == f"the reply's {name} is of type int, not text"


@pytest.mark.parametrize("name", ["tokens_in", "tokens_out", "token_limit"])
def test_counts_of_a_reply_have_a_limit(name: str) -> None:
    counts: dict[Any, bool] = {
        0: True, MAX_TOKENS: True, MAX_TOKENS + 1: False, -1: False, 1.5: False, "1": False, None: False
    }  # fmt: skip
    for count, fits in counts.items():
        fault = Reply("a", **{name: count}).fault()
        assert (fault is None) == fits, count
        assert fits or f"the reply's {name} is {count!r}, not a count" in str(fault)
    assert (Reply("a", seconds=-0.1).fault(), Reply("a", seconds=math.inf).fault()) == (
        "the reply's seconds are -0.1", "the reply's seconds are inf"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("limit", "later", "is_outdated"),
    [(100, 101, True), (100, 100, False), (100, 99, False), (100, 0, True), (0, 0, False), (0, 50, False)],
)
def test_a_reply_that_was_cut_off_is_outdated_under_a_greater_limit(limit: int, later: int, is_outdated: bool) -> None:
    assert Reply("a", stop="length", token_limit=limit).is_outdated(later) == is_outdated
    assert not Reply("a", token_limit=limit).is_outdated(later), "it ended by itself"


FIRST, SECOND = (Media(letter * 64, "image", "png", 8, 6) for letter in "ab")
VIEW = View(
    "i", "s", "t", "?", (FIRST,), ReplySpec("choice", (("A", "r"),)), (Option("r", "red", (FIRST,)),),
    (Demo((FIRST,), "r", 0, "so"),), (Mark("red", (1, 2, 3, 4)),),
)  # fmt: skip
MONTAGE = Montage((FIRST, SECOND), 1, ("a", "b"), "title", (4, 4))


def test_a_digest_covers_every_part_of_a_view() -> None:
    changes: list[dict[str, Any]] = [
        {}, {"item_id": "j"}, {"question": "!"}, {"query": (SECOND,)}, {"query": (FIRST, FIRST)},
        {"reply": ReplySpec("text", VIEW.reply.keys)},
        *({"options": (replace(VIEW.options[0], **part),)} for part in ({"key": "b"}, {"text": ""}, {"media": ()})),
        *({"support": (replace(VIEW.support[0], **part),)}
          for part in ({"media": (SECOND,)}, {"answer": "b"}, {"shot": 1}, {"caption": ""})),
        *({"marks": (replace(VIEW.marks[0], **part),)} for part in ({"colour": "blue"}, {"box": (1, 2, 3, 5)})),
    ]  # fmt: skip
    assert len({Prompt(("?",), (replace(VIEW, **change),)).digest() for change in changes}) == len(changes)


def test_a_digest_and_a_record_cover_the_layout_of_a_montage() -> None:
    changes: dict[str, Any] = {
        "images": (SECOND, FIRST), "columns": 2, "labels": (), "title": "", "cell_px": None, "version": 2
    }  # fmt: skip
    assert changes.keys() == {field.name for field in fields(Montage)}
    prompts = [Prompt((MONTAGE,), ()), *(Prompt((replace(MONTAGE, **{n: c}),), ()) for n, c in changes.items())]
    assert len({prompt.digest() for prompt in prompts}) == len({str(p.record()) for p in prompts}) == len(prompts)


def test_earlier_turns_come_first() -> None:
    prompt = Prompt(("now", MONTAGE), (), (Turn(("first", SECOND), "one"), Turn((FIRST,), "two")))
    assert list(prompt.media()) == [SECOND, FIRST, FIRST, SECOND]
    first, *rest = prompt.record()
    assert [first, *rest[:-1]] == [
        "first", {"media": f"{'b' * 64}.png"}, {"reply": "one"}, {"media": f"{'a' * 64}.png"}, {"reply": "two"}, "now",
    ]  # fmt: skip
