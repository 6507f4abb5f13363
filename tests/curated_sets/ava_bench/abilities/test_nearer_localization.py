"""Localization of the nearer of two things: pairs of things that are alone of their kind in the image shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from snellen.core.item import Box
from snellen.curated_sets.ava_bench.abilities import localization as objects
from snellen.curated_sets.ava_bench.abilities import nearer_localization, relative_depth
from snellen.curated_sets.ava_bench.abilities.nearer_localization import CURATION, pairs_of
from snellen.curated_sets.ava_bench.selection import completeness, depths
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, CurationContext
from snellen.curated_sets.ava_bench.selection.depths import ROADS, ROOMS
from snellen.curated_sets.rules import Caps
from snellen.datasets.sample import Annotation, Sample
from tests.curated_sets.ava_bench.selection.fixtures import scene
from tests.curated_sets.ava_bench.selection.marked_scenes import annotation, curating, dropped, find_all, item_source

ROAD, ROOM = (1242, 375), (640, 480)
LEFT, RIGHT = (400.0, 100.0, 450.0, 200.0), (500.0, 100.0, 550.0, 200.0)


def bag(box: Box = LEFT, far: float = 1.0) -> Annotation:
    return annotation("bag", box, nearest_m=far)


def bed(box: Box = RIGHT, far: float = 2.0) -> Annotation:
    return annotation("bed", box, nearest_m=far)


def room(*marked: Annotation, record: str = "a", lost: int = 0) -> Sample:
    return scene(*marked, source=ROOMS, size=ROOM, record=record, lost=lost)


def road(*marked: Annotation, attributes: Mapping[str, object] | None = None) -> Sample:
    return scene(*marked, source=ROADS, size=ROAD, attributes=attributes)


def on_road(label: str, box: Box, far: float, occluded: float = 0.0) -> Annotation:
    return annotation(label, box, nearest_m=far, occluded=occluded)


def count_pairs(sample: Sample) -> tuple[int, dict[str, int]]:
    """The number of pairs of an image, and the numbers left out by rule."""
    context = curating()
    candidates = find_all(CURATION, context, sample)
    return sum(len(list(pairs_of(candidate, context))) for candidate in candidates), dropped(context)


@pytest.mark.parametrize(
    ("sample", "pairs", "rules"),
    [
        (room(bag(), bed()), 1, {}),
        # Another bag, even of unknown distance, leaves the bed without a partner.
        (room(bag(), annotation("bag"), bed()), 0, {objects.SEVERAL: 1, depths.NO_DEPTH: 1, relative_depth.ALONE: 1}),
        (room(bag(), bed(), lost=1), 0, {completeness.LOST: 2}),
        (room(bag(), bed(far=1.5)), 1, {}),
        (room(bag(), bed(far=1.49)), 0, {relative_depth.GAP: 1}),
        (room(bag(), bed((449.0, 150.0, 550.0, 250.0))), 0, {relative_depth.OVERLAP: 1}),
        # Areas are between 614.4 and 153,600 of 307,200 pixels: 612 and 153,600 are not, 616.8 is.
        (room(bag((0.0, 0.0, 24.0, 25.5)), bed()), 0, {objects.AREA: 1}),
        (room(bag((0.0, 0.0, 24.0, 25.7)), bed()), 1, {}),
        (room(bag((0.0, 0.0, 320.0, 480.0)), bed()), 0, {objects.AREA: 1}),
    ],
)  # fmt: skip
def test_pairs_indoors(sample: Sample, pairs: int, rules: dict[str, int]) -> None:
    assert count_pairs(sample) == (pairs, rules)


CAR, WALKER = on_road("Car", LEFT, 9.0), on_road("Person_sitting", RIGHT, 12.0)
# The crop is 750 wide around the centre of 475: it ends at column 850.
INSIDE, OUTSIDE = (849.0, 100.0, 900.0, 200.0), (850.0, 100.0, 900.0, 200.0)


@pytest.mark.parametrize(
    ("sample", "pairs", "rules"),
    [
        (road(CAR, WALKER), 1, {}),
        (road(CAR, WALKER, on_road("Pedestrian", OUTSIDE, 5.0, 1.0)), 1, {relative_depth.OCCLUDED: 1}),
        # One column of a hidden walker is visible, so it is unclear which one is meant.
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
def test_outdoors_the_crop_decides(sample: Sample, pairs: int, rules: dict[str, int]) -> None:
    assert count_pairs(sample) == (pairs, rules)


def chosen(context: CurationContext, bags: int, beds: int) -> list[Candidate]:
    """Candidates selected from images with the bag nearer and with the bed nearer."""
    scenes = [room(bag(), bed(), record=f"bag {n}") for n in range(bags)]
    scenes += [room(bag(far=3.0), bed(), record=f"bed {n}") for n in range(beds)]
    return CURATION.select(find_all(CURATION, context, *scenes), context)


def test_each_class_is_nearer_and_named_first_equally_often() -> None:
    context = curating(fewest=2)
    candidates = chosen(context, 7, 4)
    assert Counter(candidate.bin for candidate in candidates) == {"bag nearer": 4, "bed nearer": 4}
    first = Counter((candidate.bin, candidate.truth["names"][0]) for candidate in candidates)
    assert set(first.values()) == {2}
    assert len(first) == 4
    assert dropped(context) == {relative_depth.UNEVEN: 3}
    assert {candidate.label for candidate in candidates} == {"bag / bed"}


def test_the_number_of_pairs_is_limited() -> None:
    context = curating(fewest=2, pairs_indoor=Caps(1, 3))
    assert len(chosen(context, 5, 5)) == 6
    assert dropped(context) == {relative_depth.BEYOND: 4}
    context = curating(fewest=2, pairs_indoor_classes=0)
    assert not chosen(context, 3, 2)
    assert dropped(context) == {relative_depth.UNEVEN: 1, nearer_localization.MANY_CLASSES.format(0): 4}
    context = curating(fewest=5)
    assert not chosen(context, 9, 4)
    assert dropped(context) == {"fewer than 5 pairs of two classes with either nearer": 13}


def test_pairs_on_roads_are_limited_in_all_whichever_is_nearer() -> None:
    """Of 12 pairs 6 have either order: the 2 of the scarce classes, and 4 of the 9 of the others."""
    context = curating(fewest=1, pairs_outdoor=12)
    scenes = [
        replace(road(on_road(first, LEFT, far), on_road(second, RIGHT, 12.0)), record_id=f"{first} {far} {n}")
        for first, second, count in (("Car", "Pedestrian", 9), ("Van", "Cyclist", 2))
        for far in (9.0, 15.0)
        for n in range(count)
    ]
    candidates = CURATION.select(find_all(CURATION, context, *scenes), context)
    assert Counter((candidate.label, candidate.bin) for candidate in candidates) == {
        ("Car / Pedestrian", "Car nearer"): 4, ("Car / Pedestrian", "Pedestrian nearer"): 4,
        ("Cyclist / Van", "Cyclist nearer"): 2, ("Cyclist / Van", "Van nearer"): 2,
    }  # fmt: skip
    assert dropped(context) == {relative_depth.BEYOND: 2 * (9 - 4)}


def test_items_of_crops() -> None:
    context = curating(fewest=1)
    other = road(on_road("Car", LEFT, 15.0), WALKER)
    candidates = CURATION.select(find_all(CURATION, context, road(CAR, WALKER), other), context)
    ask = CURATION.make_item
    items = [ask(candidate, item_source(candidate, ROAD), context.rng("t")) for candidate in candidates]
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
