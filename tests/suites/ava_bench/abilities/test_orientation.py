"""Orientation: several of them a thing, so many images of each, and the photographs of CURE-OR that are taken."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen.datasets.sample import Annotation, Attributes, Sample
from snellen.suites.ava_bench.abilities.orientation import (
    CURATION,
    NAMELESS,
    NOT_TAKEN,
    NOTHING_THERE,
    TWICE,
    TWO_WAYS,
    UNKNOWN,
)
from snellen.suites.ava_bench.items import ORIENTATIONS
from tests.suites.ava_bench.candidates.class_fixtures import asked, choices, chosen, looked, of_class, texts
from tests.suites.ava_bench.candidates.fixtures import curating, scene

EGO, CURE = CURATION.datasets


def facing(label: str, way: str | None) -> Annotation:
    return Annotation(label, None, None, {} if way is None else {"orientation": way})


def test_ten_to_forty_of_an_orientation_and_two_orientations_of_a_thing() -> None:
    at = curating(choices=choices())
    counts = {
        ("bus", "front"): 41,
        ("bus", "back left"): 10,
        ("bus", "left"): 9,
        ("cat", "front"): 12,
        ("cat", "left"): 9,
    }
    scenes = [one for (name, way), n in counts.items() for one in of_class(EGO, name, n, {"orientation": way})]
    kept = chosen(CURATION, scenes, at)
    assert Counter(one.stratum for one in kept) == {(EGO, "bus", "front"): 40, (EGO, "bus", "back left"): 10}
    assert at.ledger.dropped == {
        ("orientation", EGO, "more than 40 in a bin of a class"): 1,
        ("orientation", EGO, "fewer than 10 in a bin of a class"): 18,
        ("orientation", EGO, "a class of fewer than 2 bins"): 12,
    }


def photograph(thing: int, way: str, background: str, device: str, challenge: float = 1.0) -> Sample:
    attributes: Attributes = {"background": background, "device": device, "challenge": challenge, "level": 0.0}
    record = f"{background}/{device}/{thing}/{way}/{challenge}"
    return scene(facing(f"{thing:03}", way), source=CURE, record=record, size=None, attributes=attributes)


def test_cure_or_without_challenge_on_two_backgrounds_by_three_devices() -> None:
    at = curating(choices=choices())
    backgrounds = ("white", "2D living room", "2D kitchen", "3D living room", "3D office")
    devices = ("iPhone 6s", "HTC One X", "LG Leon", "Logitech C920", "Nikon D80")
    places = [(one, other) for one in backgrounds for other in devices]
    scenes = [
        photograph(7, way, *place, challenge) for way in ("front", "top") for place in places for challenge in (1, 3)
    ]
    kept = chosen(CURATION, scenes, at)
    assert Counter(one.stratum for one in kept) == {(CURE, "007", "front"): 6, (CURE, "007", "top"): 6}
    assert at.ledger.dropped == {("orientation", CURE, NOT_TAKEN): 2 * (25 * 2 - 6)}
    item = next(item for item in asked(CURATION, kept, at) if item.answer == "top")
    assert item.question == "What is the orientation of the object in the image?"
    assert texts(item) == ORIENTATIONS


def test_a_thing_of_egoorientbench_is_asked_for_by_its_name() -> None:
    at = curating(choices=choices())
    held = looked(CURATION, of_class(EGO, "toy_plane", 1, {"orientation": "front left"}), at)
    [item] = asked(CURATION, held, at)
    assert item.question == "What is the orientation of the toy plane in the image?"
    assert item.answer == "front left"


@pytest.mark.parametrize(
    ("marked", "dropped", "kept"),
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
def test_things_that_are_left_out(marked: list[Annotation], dropped: dict[str, int], kept: int) -> None:
    at = curating(choices=choices())
    assert len(looked(CURATION, [scene(*marked, source=EGO, size=None)], at)) == kept
    assert at.ledger.dropped == {("orientation", EGO, rule): count for rule, count in dropped.items()}
