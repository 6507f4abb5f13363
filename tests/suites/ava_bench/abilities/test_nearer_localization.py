"""Where the nearer of two things is: pairs of things that are alone of their kind in what is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from snellen.core.item import Box
from snellen.curation.rules import Caps
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.abilities import localization as objects
from snellen.suites.ava_bench.abilities import nearer_localization, relative_depth
from snellen.suites.ava_bench.abilities.nearer_localization import CURATION, pairs_of
from snellen.suites.ava_bench.candidates import completeness, depths
from snellen.suites.ava_bench.candidates.candidates import Candidate, CurationContext
from snellen.suites.ava_bench.candidates.depths import ROADS, ROOMS
from tests.suites.ava_bench.candidates.fixtures import scene
from tests.suites.ava_bench.candidates.marked_scenes import curating, dropped, looked_at, shown, thing

ROAD, ROOM = (1242, 375), (640, 480)
LEFT, RIGHT = (400.0, 100.0, 450.0, 200.0), (500.0, 100.0, 550.0, 200.0)


def bag(box: Box = LEFT, far: float = 1.0) -> Annotation:
    return thing("bag", box, nearest_m=far)


def bed(box: Box = RIGHT, far: float = 2.0) -> Annotation:
    return thing("bed", box, nearest_m=far)


def room(*marked: Annotation, record: str = "a", lost: int = 0) -> Sample:
    return scene(*marked, source=ROOMS, size=ROOM, record=record, lost=lost)


def road(*marked: Annotation, attributes: Mapping[str, object] | None = None) -> Sample:
    return scene(*marked, source=ROADS, size=ROAD, attributes=attributes)


def on_road(label: str, box: Box, far: float, occluded: float = 0.0) -> Annotation:
    return thing(label, box, nearest_m=far, occluded=occluded)


def told(held: Sample) -> tuple[int, dict[str, int]]:
    """How many pairs an image has, and what was left out."""
    at = curating()
    found = looked_at(CURATION, at, held)
    return sum(len(list(pairs_of(one, at))) for one in found), dropped(at)


@pytest.mark.parametrize(
    ("held", "pairs", "rules"),
    [
        (room(bag(), bed()), 1, {}),
        # Another bag, be it of unknown distance, leaves the bed with nothing to be compared with.
        (room(bag(), thing("bag"), bed()), 0, {objects.SEVERAL: 1, depths.NO_DEPTH: 1, relative_depth.ALONE: 1}),
        (room(bag(), bed(), lost=1), 0, {completeness.LOST: 2}),
        (room(bag(), bed(far=1.5)), 1, {}),
        (room(bag(), bed(far=1.49)), 0, {relative_depth.GAP: 1}),
        (room(bag(), bed((449.0, 150.0, 550.0, 250.0))), 0, {relative_depth.OVERLAP: 1}),
        # Areas lie between 614.4 and 153,600 of 307,200 pixels: 612 and 153,600 do not, 616.8 does.
        (room(bag((0.0, 0.0, 24.0, 25.5)), bed()), 0, {objects.AREA: 1}),
        (room(bag((0.0, 0.0, 24.0, 25.7)), bed()), 1, {}),
        (room(bag((0.0, 0.0, 320.0, 480.0)), bed()), 0, {objects.AREA: 1}),
    ],
)  # fmt: skip
def test_which_pairs_there_are_indoors(held: Sample, pairs: int, rules: dict[str, int]) -> None:
    assert told(held) == (pairs, rules)


CAR, WALKER = on_road("Car", LEFT, 9.0), on_road("Person_sitting", RIGHT, 12.0)
# The crop is 750 wide round the middle of 475: it ends at column 850.
INSIDE, OUTSIDE = (849.0, 100.0, 900.0, 200.0), (850.0, 100.0, 900.0, 200.0)


@pytest.mark.parametrize(
    ("held", "pairs", "rules"),
    [
        (road(CAR, WALKER), 1, {}),
        (road(CAR, WALKER, on_road("Pedestrian", OUTSIDE, 5.0, 1.0)), 1, {relative_depth.OCCLUDED: 1}),
        # One column of a hidden walker is seen: nobody knows which one is meant.
        (road(CAR, WALKER, on_road("Pedestrian", INSIDE, 5.0, 1)), 0, {relative_depth.OCCLUDED: 1, objects.SEVERAL: 1}),
        (
            road(CAR, WALKER, attributes={"unmarked": (0.0, 0.0, 9.0, 9.0, *INSIDE)}),
            0,
            {nearer_localization.UNMARKED: 1},
        ),
        (road(CAR, WALKER, attributes={"unmarked": (*OUTSIDE, 900.0, 0.0, 950.0, 9.0)}), 1, {}),
        (road(CAR, on_road("Car", RIGHT, 12.0)), 0, {objects.SEVERAL: 1}),
        (road(CAR, on_road("Van", (1151.0, 100.0, 1200.0, 200.0), 12.0)), 0, {depths.NO_CROP: 1}),
    ],
)  # fmt: skip
def test_outdoors_the_crop_decides(held: Sample, pairs: int, rules: dict[str, int]) -> None:
    assert told(held) == (pairs, rules)


def chosen(at: CurationContext, bags: int, beds: int) -> list[Candidate]:
    """So many images with the bag nearer, and with the bed."""
    scenes = [room(bag(), bed(), record=f"bag {n}") for n in range(bags)]
    scenes += [room(bag(far=3.0), bed(), record=f"bed {n}") for n in range(beds)]
    return CURATION.select(looked_at(CURATION, at, *scenes), at)


def test_either_class_is_nearer_and_is_named_first_as_often() -> None:
    at = curating(fewest=2)
    found = chosen(at, 7, 4)
    assert Counter(one.bin for one in found) == {"bag nearer": 4, "bed nearer": 4}
    first = Counter((one.bin, one.truth["names"][0]) for one in found)
    assert set(first.values()) == {2}
    assert len(first) == 4
    assert dropped(at) == {relative_depth.UNEVEN: 3}
    assert {one.label for one in found} == {"bag / bed"}


def test_how_many_are_taken() -> None:
    at = curating(fewest=2, pairs_indoor=Caps(1, 3))
    assert len(chosen(at, 5, 5)) == 6
    assert dropped(at) == {relative_depth.BEYOND: 4}
    at = curating(fewest=2, pairs_indoor_classes=0)
    assert not chosen(at, 3, 2)
    assert dropped(at) == {relative_depth.UNEVEN: 1, nearer_localization.MANY_CLASSES.format(0): 4}
    at = curating(fewest=5)
    assert not chosen(at, 9, 4)
    assert dropped(at) == {"fewer than 5 pairs of two classes with either nearer": 13}


def test_what_is_asked_of_a_crop() -> None:
    at = curating(fewest=1)
    other = road(on_road("Car", LEFT, 15.0), WALKER)
    found = CURATION.select(looked_at(CURATION, at, road(CAR, WALKER), other), at)
    ask = CURATION.make_item
    items = [ask(one, shown(one, ROAD), at.rng("t")) for one in found]
    # The crop begins at column 100.
    by_name = {item.factors["thing"]: item for item in items}
    assert tuple(by_name["car"].answer) == (300, 100, 350, 200)
    assert tuple(by_name["pedestrian"].answer) == (400, 100, 450, 200)
    assert [item.measures["depth_gap_m"] for item in by_name.values()] == [3, 3]
    assert {item.factors["scene_type"] for item in items} == {"outdoor"}
    assert by_name["car"].question == (
        "Provide bounding box coordinate for whichever is closer to the camera, the car or the pedestrian."
    )
    assert by_name["pedestrian"].question.endswith("the car or the pedestrian.")
