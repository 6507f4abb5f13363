"""Relative depth: which pairs, as often one class nearer as the other, and as often red as blue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from snellen.core.item import Box
from snellen.core.seeds import stream
from snellen.curation.rules import Caps
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.abilities import relative_depth
from snellen.suites.ava_bench.abilities.relative_depth import CURATION, bin_gaps, pairs_of
from snellen.suites.ava_bench.candidates import depths
from snellen.suites.ava_bench.candidates.candidates import Candidate, CurationContext
from snellen.suites.ava_bench.candidates.depths import ROADS, ROOMS
from tests.suites.ava_bench.candidates.fixtures import scene
from tests.suites.ava_bench.candidates.marked_scenes import curating, dropped, looked_at, shown, thing

ROAD, ROOM = (1242, 375), (640, 480)
LEFT, RIGHT = (400.0, 100.0, 450.0, 200.0), (500.0, 100.0, 550.0, 200.0)


def room(near: str, far: str, gap: float, record: str) -> Sample:
    """An image with a thing at 1 m and another one so much farther."""
    things = thing(near, LEFT, nearest_m=1.0), thing(far, RIGHT, nearest_m=1.0 + gap)
    return scene(*things, source=ROOMS, size=ROOM, record=record)


def rooms(near: str, far: str, gaps: Sequence[float]) -> list[Sample]:
    return [room(near, far, gap, f"{near} {far} {gap} {n}") for n, gap in enumerate(gaps)]


def car(box: Box, far: float, label: str = "Car", occluded: float = 0.0) -> Annotation:
    return thing(label, box, nearest_m=far, occluded=occluded)


def chosen(at: CurationContext, *scenes: Sample) -> list[Candidate]:
    return CURATION.select(looked_at(CURATION, at, *scenes), at)


def test_depths_differ_by_half_a_metre_or_more() -> None:
    at = curating(fewest=1, pairs_indoor=Caps(1, 9))
    found = looked_at(CURATION, at, room("bag", "bed", 0.5, "a"), room("bag", "bed", 0.49, "b"))
    assert [len(list(pairs_of(one, at))) for one in found] == [1, 0]
    assert dropped(at) == {relative_depth.GAP: 1}


@pytest.mark.parametrize(
    ("box", "rule"),
    [
        ((450.0, 100.0, 500.0, 200.0), ""),  # side by side, no pixel shared
        ((449.0, 199.0, 500.0, 300.0), relative_depth.OVERLAP),
        ((449.0, 200.0, 500.0, 300.0), ""),
        ((410.0, 110.0, 440.0, 190.0), relative_depth.OVERLAP),  # one inside the other
    ],
)
def test_boxes_of_a_pair_do_not_overlap(box: Box, rule: str) -> None:
    at = curating()
    held = scene(thing("bag", LEFT, nearest_m=1.0), thing("bed", box, nearest_m=3.0), source=ROOMS, size=ROOM)
    [one] = looked_at(CURATION, at, held)
    assert (len(list(pairs_of(one, at))), dropped(at)) == ((0, {rule: 1}) if rule else (1, {}))


def test_two_of_a_class_are_compared_outdoors_only() -> None:
    at = curating()
    [one] = looked_at(CURATION, at, room("bag", "bag", 2.0, "a"))
    [two] = looked_at(CURATION, at, scene(car(LEFT, 9.0), car(RIGHT, 12.0), source=ROADS, size=ROAD))
    assert not list(pairs_of(one, at))
    [pair] = pairs_of(two, at)
    assert (pair.near.nearest_m, pair.gap_m, pair.classes) == (9, 3, ("Car", "Car"))
    assert dropped(at) == {relative_depth.SAME_CLASS: 1}


def test_things_on_roads_are_whole_and_fit_one_crop() -> None:
    at = curating()
    # From column 100 to column 851 there are 751, one more than two heights.
    far = car((800.0, 100.0, 851.0, 200.0), 30.0)
    things = [car((100.0, 100.0, 200.0, 200.0), 9.0, "Person_sitting"), car(RIGHT, 20.0, "Van"), far]
    hidden = [car(LEFT, 9.0, occluded=1.0), car((0.0, 0.0, 9.0, 9.0), 9.0), thing("Car", LEFT, nearest_m=9.0)]
    [one] = looked_at(CURATION, at, scene(*things, *hidden, source=ROADS, size=ROAD))
    assert {pair.classes for pair in pairs_of(one, at)} == {("Pedestrian", "Van"), ("Car", "Van")}
    assert dropped(at) == {relative_depth.OCCLUDED: 2, depths.EDGE: 1, depths.NO_CROP: 1}


def test_a_thing_without_another_one_is_told() -> None:
    at = curating()
    assert not looked_at(CURATION, at, scene(thing("bag", LEFT, nearest_m=1.0), thing("wall"), source=ROOMS, size=ROOM))
    assert dropped(at) == {relative_depth.ALONE: 1, depths.EXCLUDED: 1}


def test_ranges_of_gaps_have_enough_pairs_with_either_class_nearer() -> None:
    at = curating()
    there = [*rooms("bag", "bed", [0.6] * 3 + [1.5] * 2 + [5.0] * 4), *rooms("bed", "bag", [0.6] + [1.5] * 3 + [5.0])]
    pairs = [pair for one in looked_at(CURATION, at, *there) for pair in pairs_of(one, at)]
    sizes = {
        fewest: {name: [len(held) for held in orders] for name, orders in bin_gaps(pairs, (0.5, 1, 2), fewest).items()}
        for fewest in (1, 2, 4, 5, 6)
    }
    assert sizes == {
        1: {"0.5-1 m": [3, 1], "1-2 m": [2, 3], "2 m and more": [4, 1]},
        2: {"0.5 m and more": [9, 5]},  # the first is joined with the next, the last with that before
        4: {"0.5 m and more": [9, 5]},
        5: {"0.5 m and more": [9, 5]},
        6: {},
    }


def test_either_class_is_nearer_as_often_and_red_as_often_as_blue() -> None:
    at = curating(fewest=5, pairs_indoor=Caps(10, 13))
    there = [
        *rooms("bag", "bed", [0.7] * 20 + [1.5] * 7), *rooms("bed", "bag", [0.7] * 6 + [1.5] * 30),
        *rooms("box", "bed", [3.0] * 11), *rooms("bed", "box", [3.0] * 9),
        *rooms("cup", "bed", [3.0] * 4), *rooms("bed", "cup", [3.0] * 40),
    ]  # fmt: skip
    kept = chosen(at, *there)
    # Of bag and bed there are 6 and 7 either way, 13 of which may stay; 9 of box and bed are too few, and so are 4.
    assert Counter((one.label, one.bin) for one in kept) == {
        ("bag / bed", "0.5-1 m, bag nearer"): 6, ("bag / bed", "0.5-1 m, bed nearer"): 6,
        ("bag / bed", "1 m and more, bag nearer"): 7, ("bag / bed", "1 m and more, bed nearer"): 7,
    }  # fmt: skip
    reds = Counter(one.truth["depths_m"][0] < one.truth["depths_m"][1] for one in kept)
    assert reds == {True: 13, False: 13}
    assert dropped(at) == {
        relative_depth.UNEVEN: (14 + 23) + 2,
        "fewer than 10 pairs of two classes with either nearer": 18,
        "fewer than 5 pairs of two classes with either nearer": 44,
    }


def test_more_pairs_than_wanted_are_level_over_gaps_and_images() -> None:
    at = curating(fewest=5, pairs_indoor=Caps(10, 12))
    crowd = [
        scene(
            *(thing("bag", (10.0 * n, 0.0, 10.0 * n + 9, 9.0), nearest_m=1.0 + 2 * (far == "bag")) for n in range(9)),
            thing("bed", (0.0, 100.0, 200.0, 200.0), nearest_m=1.0 + 2 * (far == "bed")),
            source=ROOMS, size=ROOM, record=f"crowd {far}",
        )
        for far in ("bag", "bed")
    ]  # fmt: skip
    there = [*crowd, *rooms("bag", "bed", [0.7] * 9 + [3.0] * 5), *rooms("bed", "bag", [0.7] * 9 + [3.0] * 5)]
    kept = chosen(at, *there)
    assert Counter(one.bin for one in kept) == {
        "0.5-1 m, bag nearer": 6, "0.5-1 m, bed nearer": 6,
        "1 m and more, bag nearer": 6, "1 m and more, bed nearer": 6,
    }  # fmt: skip
    # Of 2 m and more there are five images with one pair and one with nine: all six serve once.
    assert max(Counter(one.origin.record_id for one in kept).values()) == 1
    assert dropped(at)["pair beyond as many as are taken of two classes"] == 2 * (9 + 14 - 12)


def test_of_too_many_pairs_of_classes_some_are_drawn() -> None:
    at = curating(fewest=1, pairs_indoor=Caps(1, 9), pairs_indoor_classes=2)
    names = ("bag", "box", "cup", "jar")
    kept = chosen(at, *(room(*pair, 1.0, " ".join(pair)) for name in names for pair in ((name, "bed"), ("bed", name))))
    assert sorted(Counter(one.label for one in kept).values()) == [2, 2]
    assert dropped(at) == {"more than 2 pairs of classes": 4}


def test_pairs_on_roads_are_level_over_classes() -> None:
    at = curating(fewest=1, pairs_outdoor=20, gap_edges_outdoor=())
    there = [scene(car(LEFT, 9.0), car(RIGHT, 12.0), source=ROADS, size=ROAD, record=f"cars {n}") for n in range(50)]
    for n in range(9):
        for one, other in ((9.0, 12.0), (12.0, 9.0)):
            things = car(LEFT, one, "Van"), car(RIGHT, other, "Cyclist")
            there.append(scene(*things, source=ROADS, size=ROAD, record=f"{one} {n}"))
    things = car(LEFT, 9.0, "Van"), car(RIGHT, 12.0)
    there.append(scene(*things, source=ROADS, size=ROAD, record="van before car"))
    kept = chosen(at, *there)
    assert Counter((one.label, one.bin) for one in kept) == {
        ("Car / Car", "0.5 m and more"): 10,
        ("Cyclist / Van", "0.5 m and more, Cyclist nearer"): 5,
        ("Cyclist / Van", "0.5 m and more, Van nearer"): 5,
    }
    for label in ("Car / Car", "Cyclist / Van"):
        reds = [one.truth["depths_m"][0] < one.truth["depths_m"][1] for one in kept if one.label == label]
        assert Counter(reds) == {True: 5, False: 5}
    assert dropped(at) == {
        "pair beyond as many as are taken of two classes": 40 + 8,
        "fewer than 1 pairs of two classes with either nearer": 1,
    }


def test_items_ask_which_is_closer() -> None:
    at = curating(fewest=1, pairs_indoor=Caps(1, 9))
    roads = scene(
        car((600.0, 100.0, 700.0, 200.0), 9.0, "Person_sitting"), car((720.0, 120.0, 800.0, 210.0), 10.0, "Pedestrian"),
        source=ROADS, size=ROAD, attributes={"drive": "0005"},
    )  # fmt: skip
    kept = chosen(at, *rooms("night stand", "bed", [1.0]), *rooms("bed", "night stand", [1.0]), roads)
    ask = CURATION.make_item
    items = [ask(one, shown(one, ROOM), stream("t")) for one in kept]
    assert Counter(item.answer for item in items if item.factors["scene_type"] == "indoor") == {"red": 1, "blue": 1}
    nearest = [item.factors["thing" if item.answer == "red" else "reference"] for item in items]
    assert sorted(nearest) == ["bed", "night stand", "pedestrian"]
    [walkers] = [item for item in items if item.factors["scene_type"] == "outdoor"]
    # Round the middle of 600 to 800, 700, the crop begins at 700 - 375 = 325.
    assert kept[0].crop == (325.0, 0.0, 1075.0, 375.0)
    assert walkers.regions[walkers.answer] == [275, 100, 375, 200]
    assert (walkers.cluster_id, walkers.measures["depth_gap_m"]) == ("0005", 1.0)
