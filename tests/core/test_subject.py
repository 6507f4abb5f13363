"""What a subject declines, and what its fingerprint covers."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from snellen.core.item import Affine, Media, Montage, Part, ReplySpec, View
from snellen.core.prompt import Prompt
from snellen.core.subject import Base, SubjectCard, TrainingExample, with_examples

IMAGE, VIDEO = Media("a" * 64, "image", "png", 8, 6), Media("b" * 64, "video", "mp4", 8, 6, 2.0)


@pytest.mark.parametrize(
    ("card", "parts", "reason"),
    [
        ({"max_images": 2}, (IMAGE, "?", IMAGE), None),
        ({"max_images": 1}, (IMAGE, "?", IMAGE), "takes 1 images at once, not 2"),
        ({"max_images": 0}, (IMAGE,), "takes 0 images at once, not 1"),
        ({"max_images": 1}, (Montage((IMAGE, IMAGE), 2), "?"), None),
        ({"max_images": None}, (IMAGE,) * 99, None),
        ({}, (VIDEO, IMAGE), None),
        ({"accepts": frozenset({"image"})}, (IMAGE, VIDEO), "cannot be shown a video"),
        ({"accepts": frozenset()}, (VIDEO, IMAGE), "cannot be shown an image"),
    ],
)
def test_a_subject_declines_what_its_card_excludes(
    card: dict[str, Any], parts: tuple[Part, ...], reason: str | None
) -> None:
    assert Base(SubjectCard("s", **card)).declines(Prompt(parts, ())) == reason


def test_a_fingerprint_covers_name_and_settings_alone() -> None:
    base = SubjectCard("s", {"temperature": 0})
    others = [replace(base, name="t"), replace(base, settings={"temperature": 1}), replace(base, settings={})]
    assert len({card.fingerprint() for card in (base, *others)}) == 4
    changes: dict[str, Any] = {
        "accepts": frozenset(), "max_images": 1, "attributes": {"a": "b"}, "token_limit": 9, "max_concurrency": 1,
        "is_local": True, "is_remote": True, "reads": "views", "role": "person", "source": "recorded", "fitted": True,
        "address": "x",
    }  # fmt: skip
    assert changes.keys() == {field.name for field in fields(SubjectCard)} - {"name", "settings"}
    assert {replace(base, **{name: value}).fingerprint() for name, value in changes.items()} == {base.fingerprint()}


def test_the_fingerprint_of_a_fitted_subject_covers_its_examples_in_their_order() -> None:
    spec = ReplySpec("box", frame=Affine(a=1 / 8))
    view = View("1", "s", "task", "Where?", (IMAGE,), spec)
    first = TrainingExample(view, "a")
    second = replace(first, view=replace(view, item_id="2"))
    variants = [
        [], [first], [second], [first, second], [second, first], [replace(first, answer="b")],
        *([replace(first, view=replace(view, **change))] for change in (
            {"question": "What?"}, {"query": (VIDEO,)}, {"reply": replace(spec, unit="pixels")}, {"task": "other"},
        )),
    ]  # fmt: skip
    cards = [with_examples(SubjectCard("s", {"temperature": 0}), examples) for examples in variants]
    assert len({card.fingerprint() for card in cards}) == len(variants)
    assert {(card.name, card.settings["temperature"]) for card in cards} == {("s", 0)}
