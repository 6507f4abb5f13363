"""Emotion: the seven, a box where the image shows more than the face, several faces in an image."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen.core.item import Box
from snellen.datasets.sample import Annotation
from snellen.suites.ava_bench.abilities.emotion import CURATION, NO_FACE, TWICE, TWO_EMOTIONS, UNKNOWN, UNPLACED
from snellen.suites.ava_bench.candidates.classification import OUTSIDE
from snellen.suites.ava_bench.candidates.rules import Rules
from snellen.suites.ava_bench.items import EMOTIONS
from tests.suites.ava_bench.candidates.class_fixtures import asked, choices, chosen, looked, of_class, texts
from tests.suites.ava_bench.candidates.fixtures import curating, scene

LEFT, RIGHT = (0.0, 0.0, 40.0, 50.0), (60.0, 0.0, 100.0, 50.0)


def face(label: str, box: Box | None = LEFT) -> Annotation:
    return Annotation(label, box)


def test_every_face_of_an_image_is_an_item_of_its_own_with_its_box() -> None:
    at = curating(choices=choices())
    held = looked(CURATION, [scene(face("happy"), face("fear", RIGHT), source="ExpW")], at)
    assert [(one.label, one.truth) for one in held] == [
        ("happy", {"emotion": "happy", "box": LEFT}),
        ("fear", {"emotion": "fear", "box": RIGHT}),
    ]
    item, other = asked(CURATION, held, at)
    assert (item.answer, item.regions) == ("happy", {"red": list(LEFT)})
    assert other.regions == {"red": list(RIGHT)}
    assert texts(item) == EMOTIONS


@pytest.mark.parametrize(
    ("height", "others", "lost", "drawn"),
    [(94.0, 0, 0, True), (95.0, 0, 0, False), (95.0, 1, 0, True), (95.0, 0, 1, True)],
)
def test_no_box_round_a_face_that_is_the_image(height: float, others: int, lost: int, drawn: bool) -> None:
    at = curating(choices=choices())
    box = (0.0, 0.0, 100.0, height)
    held = scene(face("sad", box), *[face("happy", LEFT)] * others, source="ExpW", lost=lost)
    one, *_ = looked(CURATION, [held], at)
    assert one.truth["box"] == (box if drawn else None)


def test_an_image_of_one_face_needs_no_box() -> None:
    at = curating(choices=choices())
    held = looked(CURATION, of_class("RAF-DB", "happiness", 1), at)
    [item] = asked(CURATION, held, at)
    assert (item.answer, item.regions) == ("happy", {})


@pytest.mark.parametrize(
    ("faces", "lost", "size", "dropped", "kept"),
    [
        ([], 0, (100, 100), {NO_FACE: 1}, 0),
        ([face("bored")], 0, (100, 100), {UNKNOWN: 1}, 0),
        ([face("sad", None), face("sad")], 0, (100, 100), {UNPLACED: 1}, 1),
        ([face("sad", None)], 1, (100, 100), {UNPLACED: 1}, 0),
        ([face("sad")], 0, None, {OUTSIDE: 1}, 0),
        ([face("sad", RIGHT)], 0, (99, 100), {OUTSIDE: 1}, 0),
        ([face("sad"), face("happy"), face("fear", RIGHT)], 0, (100, 100), {TWO_EMOTIONS: 2}, 1),
        ([face("sad"), face("bored")], 0, (100, 100), {TWO_EMOTIONS: 2}, 0),
        ([face("sad"), face("sad")], 0, (100, 100), {TWICE: 1}, 1),
    ],
)
def test_faces_that_are_left_out(
    faces: list[Annotation], lost: int, size: tuple[int, int] | None, dropped: dict[str, int], kept: int
) -> None:
    at = curating(choices=choices())
    assert len(looked(CURATION, [scene(*faces, source="ExpW", size=size, lost=lost)], at)) == kept
    assert at.ledger.dropped == {("emotion", "ExpW", rule): count for rule, count in dropped.items()}


def test_at_most_so_many_of_an_emotion_and_dataset() -> None:
    at = curating(Rules(emotion_images=6), choices())
    scenes = [
        *of_class("RAF-DB", "anger", 7),
        *of_class("ExpW", "angry", 6),
        *of_class("ExpW", "sad", 4),
    ]
    assert Counter(one.stratum[:2] for one in chosen(CURATION, scenes, at)) == {
        ("RAF-DB", "angry"): 6,
        ("ExpW", "angry"): 6,
    }
    assert at.ledger.dropped == {
        ("emotion", "RAF-DB", "more than 6 in a bin of a class"): 1,
        ("emotion", "ExpW", "fewer than 5 in a bin of a class"): 4,
    }
