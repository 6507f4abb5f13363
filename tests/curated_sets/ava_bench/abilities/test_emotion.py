"""Emotion: the seven, a box if the image shows more than the face, several faces in an image."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen.core.item import Box
from snellen.curated_sets.ava_bench.abilities.emotion import CURATION, NO_FACE, TWICE, TWO_EMOTIONS, UNKNOWN, UNPLACED
from snellen.curated_sets.ava_bench.selection.candidates import OUTSIDE
from snellen.curated_sets.ava_bench.selection.rules import Rules
from snellen.datasets.sample import Annotation
from snellen.suites.ava_bench.items import EMOTIONS
from tests.curated_sets.ava_bench.selection.class_fixtures import choices, chosen, find_all, make_items, of_class, texts
from tests.curated_sets.ava_bench.selection.fixtures import curating, scene

LEFT, RIGHT = (0.0, 0.0, 40.0, 50.0), (60.0, 0.0, 100.0, 50.0)


def face(label: str, box: Box | None = LEFT) -> Annotation:
    return Annotation(label, box)


def test_every_face_of_an_image_is_a_separate_item_with_its_box() -> None:
    context = curating(choices=choices())
    candidates = find_all(CURATION, [scene(face("happy"), face("fear", RIGHT), source="ExpW")], context)
    assert [(candidate.label, candidate.truth) for candidate in candidates] == [
        ("happy", {"emotion": "happy", "box": LEFT}),
        ("fear", {"emotion": "fear", "box": RIGHT}),
    ]
    item, other = make_items(CURATION, candidates, context)
    assert (item.answer, item.regions) == ("happy", {"red": list(LEFT)})
    assert other.regions == {"red": list(RIGHT)}
    assert texts(item) == EMOTIONS


@pytest.mark.parametrize(
    ("height", "others", "lost", "has_box"),
    [(94.0, 0, 0, True), (95.0, 0, 0, False), (95.0, 1, 0, True), (95.0, 0, 1, True)],
)
def test_a_face_that_fills_the_image_has_no_box(height: float, others: int, lost: int, has_box: bool) -> None:
    context = curating(choices=choices())
    box = (0.0, 0.0, 100.0, height)
    sample = scene(face("sad", box), *[face("happy", LEFT)] * others, source="ExpW", lost=lost)
    candidate, *_ = find_all(CURATION, [sample], context)
    assert candidate.truth["box"] == (box if has_box else None)


def test_an_image_of_one_face_needs_no_box() -> None:
    context = curating(choices=choices())
    candidates = find_all(CURATION, of_class("RAF-DB", "happiness", 1), context)
    [item] = make_items(CURATION, candidates, context)
    assert (item.answer, item.regions) == ("happy", {})


@pytest.mark.parametrize(
    ("faces", "lost", "size", "dropped", "count"),
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
    faces: list[Annotation], lost: int, size: tuple[int, int] | None, dropped: dict[str, int], count: int
) -> None:
    context = curating(choices=choices())
    assert len(find_all(CURATION, [scene(*faces, source="ExpW", size=size, lost=lost)], context)) == count
    assert context.ledger.dropped == {("emotion", "ExpW", rule): number for rule, number in dropped.items()}


def test_the_images_of_an_emotion_and_dataset_are_limited() -> None:
    context = curating(Rules(emotion_images=6), choices())
    scenes = [*of_class("RAF-DB", "anger", 7), *of_class("ExpW", "angry", 6), *of_class("ExpW", "sad", 4)]
    assert Counter(candidate.stratum[:2] for candidate in chosen(CURATION, scenes, context)) == {
        ("RAF-DB", "angry"): 6,
        ("ExpW", "angry"): 6,
    }
    assert context.ledger.dropped == {
        ("emotion", "RAF-DB", "more than 6 in a bin of a class"): 1,
        ("emotion", "ExpW", "fewer than 5 in a bin of a class"): 4,
    }
