"""Orientation: several per thing, a limited number of images of each, and the selected photographs of CURE-OR."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen.curated_sets.ava_bench.abilities.orientation import (
    CURATION,
    NAMELESS,
    NOT_TAKEN,
    NOTHING_THERE,
    TWICE,
    TWO_WAYS,
    UNKNOWN,
)
from snellen.datasets.sample import Annotation, Attributes, Sample
from snellen.suites.ava_bench.items import ORIENTATIONS
from tests.curated_sets.ava_bench.selection.class_fixtures import choices, chosen, find_all, make_items, of_class, texts
from tests.curated_sets.ava_bench.selection.fixtures import curating, scene

EGO, CURE = CURATION.datasets


def facing(label: str, direction: str | None) -> Annotation:
    return Annotation(label, None, None, {} if direction is None else {"orientation": direction})


def test_an_orientation_has_ten_to_forty_images_and_a_thing_two_orientations() -> None:
    context = curating(choices=choices())
    counts = {
        ("bus", "front"): 41, ("bus", "back left"): 10, ("bus", "left"): 9, ("cat", "front"): 12, ("cat", "left"): 9,
    }  # fmt: skip
    scenes = [
        sample
        for (name, direction), n in counts.items()
        for sample in of_class(EGO, name, n, {"orientation": direction})
    ]
    selected = chosen(CURATION, scenes, context)
    assert Counter(candidate.stratum for candidate in selected) == {
        (EGO, "bus", "front"): 40,
        (EGO, "bus", "back left"): 10,
    }
    assert context.ledger.dropped == {
        ("orientation", EGO, "more than 40 in a bin of a class"): 1,
        ("orientation", EGO, "fewer than 10 in a bin of a class"): 18,
        ("orientation", EGO, "a class of fewer than 2 bins"): 12,
    }


def photograph(number: int, direction: str, background: str, device: str, challenge: float = 1.0) -> Sample:
    attributes: Attributes = {"background": background, "device": device, "challenge": challenge, "level": 0.0}
    record = f"{background}/{device}/{number}/{direction}/{challenge}"
    return scene(facing(f"{number:03}", direction), source=CURE, record=record, size=None, attributes=attributes)


def test_cure_or_is_taken_without_challenge_on_two_backgrounds_by_three_devices() -> None:
    context = curating(choices=choices())
    backgrounds = ("white", "2D living room", "2D kitchen", "3D living room", "3D office")
    devices = ("iPhone 6s", "HTC One X", "LG Leon", "Logitech C920", "Nikon D80")
    settings = [(background, device) for background in backgrounds for device in devices]
    scenes = [
        photograph(7, direction, *setting, challenge)
        for direction in ("front", "top")
        for setting in settings
        for challenge in (1, 3)
    ]
    selected = chosen(CURATION, scenes, context)
    assert Counter(candidate.stratum for candidate in selected) == {(CURE, "007", "front"): 6, (CURE, "007", "top"): 6}
    assert context.ledger.dropped == {("orientation", CURE, NOT_TAKEN): 2 * (25 * 2 - 6)}
    item = next(item for item in make_items(CURATION, selected, context) if item.answer == "top")
    assert item.question == "What is the orientation of the object in the image?"
    assert texts(item) == ORIENTATIONS


def test_questions_of_egoorientbench_name_the_thing() -> None:
    context = curating(choices=choices())
    candidates = find_all(CURATION, of_class(EGO, "toy_plane", 1, {"orientation": "front left"}), context)
    [item] = make_items(CURATION, candidates, context)
    assert item.question == "What is the orientation of the toy plane in the image?"
    assert item.answer == "front left"


@pytest.mark.parametrize(
    ("marked", "dropped", "count"),
    [
        ([], {NOTHING_THERE: 1}, 0),
        ([facing("bus", "upside down")], {UNKNOWN: 1}, 0),
        ([facing("bus", None)], {UNKNOWN: 1}, 0),
        ([facing(" ", "front")], {NAMELESS: 1}, 0),
        ([facing("bus", "front"), facing("bus", "left"), facing("cat", "left")], {TWO_WAYS: 2}, 1),
        ([facing("bus", "front"), facing("bus", None)], {TWO_WAYS: 1, UNKNOWN: 1}, 0),
        ([facing("bus", "front"), facing("bus", "front")], {TWICE: 1}, 1),
    ],
)
def test_things_that_are_left_out(marked: list[Annotation], dropped: dict[str, int], count: int) -> None:
    context = curating(choices=choices())
    assert len(find_all(CURATION, [scene(*marked, source=EGO, size=None)], context)) == count
    assert context.ledger.dropped == {("orientation", EGO, rule): number for rule, number in dropped.items()}
