from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from snellen.core.item import Demo, Media, Part, ReplySpec, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.suite import Method
from snellen.presentation.methods import OneByOne, PerceiveThenClassify, Sheet


def image(name: str) -> Media:
    return Media(name * 64, "image", "png", 8, 6)


VIEWS = [
    View(f"{s}-{q}", s, "task", q, (image(s),), ReplySpec("text"))
    for s in ("a", "b", "c")
    for q in ("colour?", "shape?")
]


def present(views: tuple[View, ...]) -> tuple[Part, ...]:
    return tuple(view.question for view in views)


def run_method(
    method: Method, views: tuple[View, ...], *replies: tuple[str, ...]
) -> tuple[list[tuple[Prompt, ...]], Any]:
    """The prompts of each round, and the texts that result from these replies."""
    going = method.run(views)
    rounds = [next(going)]
    for texts in replies[:-1]:
        rounds.append(going.send(tuple(map(Reply, texts))))
    with pytest.raises(StopIteration) as done:
        going.send(tuple(map(Reply, replies[-1])))
    return rounds, done.value.value


def ids(groups: list[tuple[View, ...]]) -> list[list[str]]:
    return [[view.item_id for view in group] for group in groups]


def test_one_call_per_question() -> None:
    assert ids(OneByOne().group(VIEWS)) == [[view.item_id] for view in VIEWS]
    rounds, answers = run_method(OneByOne(), (VIEWS[0],), ("red",))
    assert answers == {"a-colour?": "red"}
    assert rounds == [(Prompt((image("a"), "colour?"), (VIEWS[0],)),)]


def test_sheets_have_samples_with_all_their_questions_or_one() -> None:
    shuffled = [VIEWS[n] for n in (4, 0, 1, 2, 5, 3)]
    assert ids(Sheet(2, present).group(shuffled)) == [
        ["c-colour?", "a-colour?", "a-shape?", "c-shape?"],
        ["b-colour?", "b-shape?"],
    ]
    by_question = Sheet(10, present, by_question=True).group(VIEWS)
    assert ids(by_question) == [[f"{s}-{q}" for s in "abc"] for q in ("colour?", "shape?")]


ROWS = [{"sample": 1, "q1": "red", "q2": "cube"}, {"sample": 2, "q1": "blue"}]


@pytest.mark.parametrize(
    ("reply", "texts"),
    [
        (json.dumps(ROWS), ["red", "cube", "blue", None]),
        (f"Sure!\n```json\n{json.dumps(ROWS, indent=2)}\n```\nDone.", ["red", "cube", "blue", None]),
        (json.dumps({"samples": ROWS}), ["red", "cube", "blue", None]),
        (json.dumps(ROWS)[:-5], ["red", "cube", None, None]),  # cut off: complete objects count
        ("red, cube, blue", [None] * 4),
        ("", [None] * 4),
    ],
)
def test_a_sheet_is_read_from_its_json_only(reply: str, texts: list[str | None]) -> None:
    _, answers = run_method(Sheet(2, present), tuple(VIEWS[:4]), (reply,))
    assert list(answers.values()) == texts


def test_a_sheet_of_one_cell_may_be_answered_plainly() -> None:
    for reply, text in (("red", "red"), ('[{"sample": 1, "q1": "red"}]', "red"), ('{"q1": "red"}', "red"), ("", "")):
        assert run_method(Sheet(1, present), (VIEWS[0],), (reply,))[1] == {"a-colour?": text}


CHAIN = PerceiveThenClassify(
    lambda view: view.query, lambda view, description: (*(d.caption for d in view.support), description), "Describe."
)


def test_every_image_is_described_alone_before_the_question() -> None:
    support = (Demo((image("1"), image("2")), "yes", 0), Demo((image("3"),), "no", 0))
    view = replace(VIEWS[0], support=support, query=(image("4"), image("5")))
    rounds, answers = run_method(CHAIN, (view,), ("one", "two", "three", "four", "five"), ("yes",))
    descriptions, (last,) = rounds
    assert [prompt.parts for prompt in descriptions] == [(image(n),) for n in "12345"]
    assert {prompt.views[0].question for prompt in descriptions} == {"Describe."}
    assert {prompt.views[0].reply.kind for prompt in descriptions} == {"description"}
    assert last.parts == ("one\ntwo", "three", "four\nfive")
    (words,) = last.views
    assert [(demo.media, demo.answer) for demo in words.support] == [((), "yes"), ((), "no")]
    assert words.query == view.query
    assert answers == {"a-colour?": "yes"}


def test_without_images_there_is_nothing_to_describe() -> None:
    rounds, answers = run_method(CHAIN, (replace(VIEWS[0], query=()),), ("red",))
    assert (len(rounds), answers) == (1, {"a-colour?": "red"})
