"""Absolute depth, the crops of wide images, and level shares."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.item import Box
from snellen.core.seeds import stream
from snellen.curated_sets.ava_bench.abilities import absolute_depth
from snellen.curated_sets.ava_bench.abilities.absolute_depth import CURATION
from snellen.curated_sets.ava_bench.selection import depths
from snellen.curated_sets.ava_bench.selection.depths import ROADS, ROOMS, crop_around, within
from snellen.curated_sets.rules import Caps
from snellen.datasets.sample import Sample
from tests.curated_sets.ava_bench.selection.fixtures import scene
from tests.curated_sets.ava_bench.selection.marked_scenes import annotation, curating, dropped, find_all, item_source

ROAD, WIDTHS = (1242, 375), (1.0, 2.0)
ROOM = (640, 480)


@pytest.mark.parametrize(
    ("box", "left"),
    # A crop is 2 x 375 = 750 wide. Around a centre of 650 it begins at 650 - 375; it cannot begin left of 0 or right
    # of 1242 - 750.
    [
        ((600.0, 100.0, 700.0, 200.0), 275.0),
        ((10.0, 100.0, 60.0, 200.0), 0.0),
        ((1200.0, 100.0, 1240.0, 200.0), 492.0),
        ((100.0, 100.0, 850.0, 200.0), 100.0),  # all of it
        ((100.5, 100.0, 850.0, 200.0), 100.0),  # and with part of a pixel at each end
    ],
)
def test_a_crop_is_two_heights_wide_around_the_centre_of_a_box(box: Box, left: float) -> None:
    assert crop_around(box, ROAD, WIDTHS) == (left, 0.0, left + 750.0, 375.0)


@pytest.mark.parametrize(
    ("box", "size", "crop"),
    [
        ((100.5, 0.0, 850.5, 9.0), ROAD, None),  # 750 wide, but over 751 columns of pixels
        ((0.0, 0.0, 9.0, 9.0), (374, 375), None),  # the image is higher than wide
        ((0.0, 0.0, 9.0, 9.0), (375, 375), (0.0, 0.0, 375.0, 375.0)),
        ((0.0, 0.0, 9.0, 9.0), (500, 375), (0.0, 0.0, 500.0, 375.0)),
    ],
)
def test_no_crop_is_narrower_or_cuts_its_box(box: Box, size: tuple[int, int], crop: Box | None) -> None:
    assert crop_around(box, size, WIDTHS) == crop


@given(st.integers(1, 400), st.integers(1, 100), st.floats(0, 1), st.floats(0.001, 1), st.floats(1, 3))
def test_every_crop_contains_its_box_and_is_inside_the_image(
    width: int, height: int, begin: float, share: float, most: float
) -> None:
    left = begin * width * (1 - share)
    box = (left, 0.0, min(left + share * width, float(width)), float(height))
    crop = crop_around(box, (width, height), (1.0, most))
    wide = min(width, math.floor(most * height))
    if crop is None:
        assert width < height or math.ceil(box[2]) - math.floor(box[0]) > wide
        return
    assert (crop[2] - crop[0], crop[1], crop[3]) == (wide, 0, height)
    assert height <= wide <= most * height
    assert 0 <= crop[0] < crop[2] <= width
    x1, _, x2, _ = within(box, crop)
    assert 0 <= x1 < x2 <= wide


@pytest.mark.parametrize(
    ("box", "touches"),
    # KITTI cuts boxes off at the last pixel, which is column 1241 and row 374.
    [
        ((1.0, 50.0, 90.0, 90.0), True), ((1.1, 50.0, 90.0, 90.0), False), ((50.0, 0.0, 90.0, 90.0), True),
        ((900.0, 50.0, 1241.0, 90.0), True), ((900.0, 50.0, 1240.9, 90.0), False), ((50.0, 50.0, 90.0, 374.0), True),
    ],
)  # fmt: skip
def test_boxes_at_an_edge_are_left_out_outdoors(box: Box, touches: bool) -> None:
    context = curating()
    candidates = find_all(CURATION, context, scene(annotation("Car", box, nearest_m=20.0), source=ROADS, size=ROAD))
    assert (not candidates, dropped(context)) == (touches, {depths.EDGE: 1} if touches else {})


@pytest.mark.parametrize(
    ("label", "box", "far", "rule"),
    # 640 x 480 becomes 384 x 288, and an area 0.36 of it: 500 of 1388.9.
    [
        ("chair", (0.0, 0.0, 40.0, 35.0), 2.0, ""),  # 1400
        ("chair", (0.0, 0.0, 40.0, 34.0), 2.0, absolute_depth.SMALL),  # 1360
        ("wall", (0.0, 0.0, 400.0, 340.0), 2.0, depths.EXCLUDED),
        ("chair", None, 2.0, depths.NO_BOX),
        ("chair", (0.0, 0.0, 40.0, 35.0), None, depths.NO_DEPTH),
        ("chair", (0.0, 0.0, 40.0, 35.0), float("nan"), depths.NO_DEPTH),
        ("chair", (0.0, 0.0, 40.0, 35.0), float("inf"), depths.NO_DEPTH),
        ("chair", (0.0, 0.0, 40.0, 35.0), -1.0, depths.NO_DEPTH),
        ("chair", (0.0, 0.0, 40.0, 35.0), "far", depths.NO_DEPTH),
    ],
)
def test_things_that_are_asked_about_indoors(label: str, box: Box | None, far: float | None, rule: str) -> None:
    context = curating()
    extra = {} if far is None else {"nearest_m": far}
    candidates = find_all(CURATION, context, scene(annotation(label, box, **extra), source=ROOMS, size=ROOM))
    assert (len(candidates), dropped(context)) == ((0, {rule: 1}) if rule else (1, {}))


def test_an_image_of_unknown_size_is_left_out() -> None:
    context = curating()
    assert not find_all(CURATION, context, scene(annotation("chair", nearest_m=2.0), source=ROOMS, size=None))
    assert dropped(context) == {depths.NO_BOX: 1}


def test_things_on_roads_are_distant_and_shown_in_a_crop() -> None:
    context = curating()
    box = (600.0, 100.0, 700.0, 200.0)
    annotations = [
        annotation("Person_sitting", box, nearest_m=8.0),
        annotation("Van", box, nearest_m=7.99),
        annotation("Tram", box, nearest_m=20.0),
        annotation("Car", (100.0, 100.0, 1100.0, 200.0), nearest_m=9.0),
    ]
    [candidate] = find_all(
        CURATION, context, scene(*annotations, source=ROADS, size=ROAD, attributes={"drive": "0005"})
    )
    assert (candidate.label, candidate.bin, candidate.size) == ("Pedestrian", "8-9", 10_000)
    assert candidate.crop == (275.0, 0.0, 1025.0, 375.0)
    assert candidate.truth == {"name": "pedestrian", "box": (325.0, 100.0, 425.0, 200.0), "depth_m": 8.0}
    assert candidate.origin.cluster == "0005"
    assert dropped(context) == {absolute_depth.NEAR: 1, depths.NOT_CHOSEN: 1, depths.NO_CROP: 1}


def rooms(label: str, far: float, sides: list[float]) -> list[Sample]:
    """Images with one thing each, whose box is square."""
    return [
        scene(
            annotation(label, (0.0, 0.0, side, side), nearest_m=far),
            source=ROOMS, size=ROOM, record=f"{label} {far} {n}", attributes={"scene": "office_0001"},
        )
        for n, side in enumerate(sides)
    ]  # fmt: skip


def test_the_largest_boxes_of_a_bin_are_kept_and_classes_have_enough_bins() -> None:
    context = curating(depth_indoor=Caps(2, 3, 2))
    samples = [
        *rooms("chair", 1.5, [50, 90, 60, 80, 70]), *rooms("chair", 3.2, [50, 60]), *rooms("chair", 6.0, [99]),
        *rooms("lamp", 1.5, [50, 60, 70]), *rooms("lamp", 2.5, [50]),
    ]  # fmt: skip
    selected = CURATION.select(find_all(CURATION, context, *samples), context)
    # Boxes with sides of 90, 80, 70 pixels at 0.6 of their size; one chair at 6 m is too few, the lamps fill one bin.
    assert sorted(math.sqrt(candidate.size) / 0.6 for candidate in selected if candidate.bin == "1-2") == pytest.approx(
        [70, 80, 90]
    )
    assert Counter((candidate.label, candidate.bin) for candidate in selected) == {
        ("chair", "1-2"): 3,
        ("chair", "3-4"): 2,
    }
    assert dropped(context) == {
        "more than 3 in a bin of a class": 2,
        "fewer than 2 in a bin of a class": 1 + 1,
        "a class of fewer than 2 bins": 3,
    }


def test_all_questions_of_a_scene_type_offer_its_bins_in_order() -> None:
    context = curating(depth_indoor=Caps(1, 9), depth_outdoor=Caps(1, 9))
    box = (600.0, 100.0, 700.0, 200.0)
    roads = [
        scene(annotation("Car", box, nearest_m=far), source=ROADS, size=ROAD, record=str(far))
        for far in (30.5, 8.0, 10.9)
    ]
    samples = [*rooms("chair", 9.5, [50]), *rooms("lamp", 0.5, [50]), *roads]
    selected = CURATION.select(find_all(CURATION, context, *samples), context)
    ask = CURATION.make_item
    items = [ask(candidate, item_source(candidate, ROOM), stream("t")) for candidate in selected]
    assert {(item.answer, *(option.key for option in item.options)) for item in items} == {
        ("9-10", "0-1", "9-10"), ("0-1", "0-1", "9-10"),
        ("8-9", "8-9", "10-11", "30-31"), ("10-11", "8-9", "10-11", "30-31"), ("30-31", "8-9", "10-11", "30-31"),
    }  # fmt: skip
    [chair] = [item for item in items if item.factors["thing"] == "chair"]
    assert (chair.factors["scene_type"], chair.cluster_id, chair.measures["depth_m"]) == ("indoor", "office_0001", 9.5)
    [car] = [item for item in items if item.answer == "8-9"]
    assert (car.factors["scene_type"], car.regions["red"]) == ("outdoor", [325, 100, 425, 200])
    assert (car.query[0].width, car.query[0].height) == (750, 375)


def test_a_scene_type_with_one_bin_has_no_items() -> None:
    context = curating(depth_indoor=Caps(1, 9))
    assert not CURATION.select(find_all(CURATION, context, *rooms("chair", 1.5, [50, 60])), context)
    assert dropped(context) == {absolute_depth.ONE_BIN: 2}


@pytest.mark.parametrize("count", [26, 27, 40])
def test_at_most_as_many_bins_are_offered_as_there_are_letters_always_with_the_true_one(count: int) -> None:
    context = curating(depth_outdoor=Caps(1, 9))
    box = (600.0, 100.0, 700.0, 200.0)
    roads = [
        scene(annotation("Car", box, nearest_m=8.5 + n), source=ROADS, size=ROAD, record=str(n)) for n in range(count)
    ]
    selected = CURATION.select(find_all(CURATION, context, *roads), context)
    for candidate in selected:
        item = CURATION.make_item(candidate, item_source(candidate, ROAD), stream("t", candidate.bin))
        keys = [option.key for option in item.options]
        assert (len(keys), item.answer in keys) == (26, True)
        assert keys == sorted(keys, key=lambda name: float(name.partition("-")[0]))
