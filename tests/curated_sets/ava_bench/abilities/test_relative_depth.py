"""Relative depth: the pairs, with each class nearer equally often, and red as often as blue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from snellen.core.item import Box
from snellen.core.seeds import stream
from snellen.curated_sets.ava_bench.abilities import relative_depth
from snellen.curated_sets.ava_bench.abilities.relative_depth import CURATION, bin_gaps, pairs_of
from snellen.curated_sets.ava_bench.selection import depths
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, CurationContext
from snellen.curated_sets.ava_bench.selection.depths import ROADS, ROOMS
from snellen.curated_sets.rules import Caps
from snellen.datasets.sample import Annotation, Sample
from tests.curated_sets.ava_bench.selection.fixtures import scene
from tests.curated_sets.ava_bench.selection.marked_scenes import annotation, curating, dropped, find_all, item_source

ROAD, ROOM = (1242, 375), (640, 480)
LEFT, RIGHT = (400.0, 100.0, 450.0, 200.0), (500.0, 100.0, 550.0, 200.0)


def room(near: str, far: str, gap: float, record: str) -> Sample:
    """An image with a thing at 1 m and another one farther by the gap."""
    annotations = annotation(near, LEFT, nearest_m=1.0), annotation(far, RIGHT, nearest_m=1.0 + gap)
    return scene(*annotations, source=ROOMS, size=ROOM, record=record)


def rooms(near: str, far: str, gaps: Sequence[float]) -> list[Sample]:
    return [room(near, far, gap, f"{near} {far} {gap} {n}") for n, gap in enumerate(gaps)]


def car(box: Box, far: float, label: str = "Car", occluded: float = 0.0) -> Annotation:
    return annotation(label, box, nearest_m=far, occluded=occluded)


def chosen(context: CurationContext, *scenes: Sample) -> list[Candidate]:
    return CURATION.select(find_all(CURATION, context, *scenes), context)


def test_depths_differ_by_half_a_metre_or_more() -> None:
    context = curating(fewest=1, pairs_indoor=Caps(1, 9))
    candidates = find_all(CURATION, context, room("bag", "bed", 0.5, "a"), room("bag", "bed", 0.49, "b"))
    assert [len(list(pairs_of(candidate, context))) for candidate in candidates] == [1, 0]
    assert dropped(context) == {relative_depth.GAP: 1}


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
    context = curating()
    sample = scene(
        annotation("bag", LEFT, nearest_m=1.0), annotation("bed", box, nearest_m=3.0), source=ROOMS, size=ROOM
    )
    [candidate] = find_all(CURATION, context, sample)
    assert (len(list(pairs_of(candidate, context))), dropped(context)) == ((0, {rule: 1}) if rule else (1, {}))


def test_two_things_of_a_class_are_compared_only_outdoors() -> None:
    context = curating()
    [indoors] = find_all(CURATION, context, room("bag", "bag", 2.0, "a"))
    [outdoors] = find_all(CURATION, context, scene(car(LEFT, 9.0), car(RIGHT, 12.0), source=ROADS, size=ROAD))
    assert not list(pairs_of(indoors, context))
    [pair] = pairs_of(outdoors, context)
    assert (pair.near.nearest_m, pair.gap_m, pair.classes) == (9, 3, ("Car", "Car"))
    assert dropped(context) == {relative_depth.SAME_CLASS: 1}


def test_things_on_roads_are_whole_and_fit_one_crop() -> None:
    context = curating()
    # Columns 100 to 851 are 751, one more than two heights.
    far = car((800.0, 100.0, 851.0, 200.0), 30.0)
    annotations = [car((100.0, 100.0, 200.0, 200.0), 9.0, "Person_sitting"), car(RIGHT, 20.0, "Van"), far]
    hidden = [car(LEFT, 9.0, occluded=1.0), car((0.0, 0.0, 9.0, 9.0), 9.0), annotation("Car", LEFT, nearest_m=9.0)]
    [candidate] = find_all(CURATION, context, scene(*annotations, *hidden, source=ROADS, size=ROAD))
    assert {pair.classes for pair in pairs_of(candidate, context)} == {("Pedestrian", "Van"), ("Car", "Van")}
    assert dropped(context) == {relative_depth.OCCLUDED: 2, depths.EDGE: 1, depths.NO_CROP: 1}


def test_a_thing_without_a_partner_is_counted() -> None:
    context = curating()
    assert not find_all(
        CURATION, context, scene(annotation("bag", LEFT, nearest_m=1.0), annotation("wall"), source=ROOMS, size=ROOM)
    )
    assert dropped(context) == {relative_depth.ALONE: 1, depths.EXCLUDED: 1}


def test_ranges_of_gaps_have_enough_pairs_with_each_class_nearer() -> None:
    context = curating()
    samples = [*rooms("bag", "bed", [0.6] * 3 + [1.5] * 2 + [5.0] * 4), *rooms("bed", "bag", [0.6] + [1.5] * 3 + [5.0])]
    pairs = [pair for candidate in find_all(CURATION, context, *samples) for pair in pairs_of(candidate, context)]
    sizes = {
        fewest: {
            name: [len(order) for order in orders] for name, orders in bin_gaps(pairs, (0.5, 1, 2), fewest).items()
        }
        for fewest in (1, 2, 4, 5, 6)
    }
    assert sizes == {
        1: {"0.5-1 m": [3, 1], "1-2 m": [2, 3], "2 m and more": [4, 1]},
        2: {"0.5 m and more": [9, 5]},  # the first is joined with the next, the last with the previous
        4: {"0.5 m and more": [9, 5]},
        5: {"0.5 m and more": [9, 5]},
        6: {},
    }


def test_each_class_is_nearer_and_each_colour_is_right_equally_often() -> None:
    context = curating(fewest=5, pairs_indoor=Caps(10, 13))
    samples = [
        *rooms("bag", "bed", [0.7] * 20 + [1.5] * 7), *rooms("bed", "bag", [0.7] * 6 + [1.5] * 30),
        *rooms("box", "bed", [3.0] * 11), *rooms("bed", "box", [3.0] * 9),
        *rooms("cup", "bed", [3.0] * 4), *rooms("bed", "cup", [3.0] * 40),
    ]  # fmt: skip
    selected = chosen(context, *samples)
    # Bag and bed have 6 and 7 in each order, of which 13 may stay; 9 of box and bed are too few, and so are 4.
    assert Counter((candidate.label, candidate.bin) for candidate in selected) == {
        ("bag / bed", "0.5-1 m, bag nearer"): 6, ("bag / bed", "0.5-1 m, bed nearer"): 6,
        ("bag / bed", "1 m and more, bag nearer"): 7, ("bag / bed", "1 m and more, bed nearer"): 7,
    }  # fmt: skip
    reds = Counter(candidate.truth["depths_m"][0] < candidate.truth["depths_m"][1] for candidate in selected)
    assert reds == {True: 13, False: 13}
    assert dropped(context) == {
        relative_depth.UNEVEN: (14 + 23) + 2,
        "fewer than 10 pairs of two classes with either nearer": 18,
        "fewer than 5 pairs of two classes with either nearer": 44,
    }


def test_surplus_pairs_are_drawn_evenly_over_gaps_and_images() -> None:
    context = curating(fewest=5, pairs_indoor=Caps(10, 12))
    crowd = [
        scene(
            *(
                annotation("bag", (10.0 * n, 0.0, 10.0 * n + 9, 9.0), nearest_m=1.0 + 2 * (far == "bag"))
                for n in range(9)
            ),
            annotation("bed", (0.0, 100.0, 200.0, 200.0), nearest_m=1.0 + 2 * (far == "bed")),
            source=ROOMS, size=ROOM, record=f"crowd {far}",
        )
        for far in ("bag", "bed")
    ]  # fmt: skip
    samples = [*crowd, *rooms("bag", "bed", [0.7] * 9 + [3.0] * 5), *rooms("bed", "bag", [0.7] * 9 + [3.0] * 5)]
    selected = chosen(context, *samples)
    assert Counter(candidate.bin for candidate in selected) == {
        "0.5-1 m, bag nearer": 6, "0.5-1 m, bed nearer": 6,
        "1 m and more, bag nearer": 6, "1 m and more, bed nearer": 6,
    }  # fmt: skip
    # With 2 m and more there are five images with one pair and one with nine: all six are used once.
    assert max(Counter(candidate.origin.record_id for candidate in selected).values()) == 1
    assert dropped(context)["pair beyond the number taken of two classes"] == 2 * (9 + 14 - 12)


def test_surplus_pairs_of_classes_are_drawn() -> None:
    context = curating(fewest=1, pairs_indoor=Caps(1, 9), pairs_indoor_classes=2)
    names = ("bag", "box", "cup", "jar")
    selected = chosen(
        context, *(room(*pair, 1.0, " ".join(pair)) for name in names for pair in ((name, "bed"), ("bed", name)))
    )
    assert sorted(Counter(candidate.label for candidate in selected).values()) == [2, 2]
    assert dropped(context) == {"more than 2 pairs of classes": 4}


def test_pairs_on_roads_are_drawn_evenly_over_classes() -> None:
    context = curating(fewest=1, pairs_outdoor=20, gap_edges_outdoor=())
    samples = [scene(car(LEFT, 9.0), car(RIGHT, 12.0), source=ROADS, size=ROAD, record=f"cars {n}") for n in range(50)]
    for n in range(9):
        for van_m, cyclist_m in ((9.0, 12.0), (12.0, 9.0)):
            annotations = car(LEFT, van_m, "Van"), car(RIGHT, cyclist_m, "Cyclist")
            samples.append(scene(*annotations, source=ROADS, size=ROAD, record=f"{van_m} {n}"))
    annotations = car(LEFT, 9.0, "Van"), car(RIGHT, 12.0)
    samples.append(scene(*annotations, source=ROADS, size=ROAD, record="van before car"))
    selected = chosen(context, *samples)
    assert Counter((candidate.label, candidate.bin) for candidate in selected) == {
        ("Car / Car", "0.5 m and more"): 10,
        ("Cyclist / Van", "0.5 m and more, Cyclist nearer"): 5,
        ("Cyclist / Van", "0.5 m and more, Van nearer"): 5,
    }
    for label in ("Car / Car", "Cyclist / Van"):
        reds = [
            candidate.truth["depths_m"][0] < candidate.truth["depths_m"][1]
            for candidate in selected
            if candidate.label == label
        ]
        assert Counter(reds) == {True: 5, False: 5}
    assert dropped(context) == {
        "pair beyond the number taken of two classes": 40 + 8,
        "fewer than 1 pairs of two classes with either nearer": 1,
    }


def test_items_ask_for_the_closer_thing() -> None:
    context = curating(fewest=1, pairs_indoor=Caps(1, 9))
    roads = scene(
        car((600.0, 100.0, 700.0, 200.0), 9.0, "Person_sitting"), car((720.0, 120.0, 800.0, 210.0), 10.0, "Pedestrian"),
        source=ROADS, size=ROAD, attributes={"drive": "0005"},
    )  # fmt: skip
    selected = chosen(context, *rooms("night stand", "bed", [1.0]), *rooms("bed", "night stand", [1.0]), roads)
    ask = CURATION.make_item
    items = [ask(candidate, item_source(candidate, ROOM), stream("t")) for candidate in selected]
    assert Counter(item.answer for item in items if item.factors["scene_type"] == "indoor") == {"red": 1, "blue": 1}
    nearest = [item.factors["thing" if item.answer == "red" else "reference"] for item in items]
    assert sorted(nearest) == ["bed", "night stand", "pedestrian"]
    [walkers] = [item for item in items if item.factors["scene_type"] == "outdoor"]
    # Around the centre of 600 to 800, which is 700, the crop begins at 700 - 375 = 325.
    assert selected[0].crop == (325.0, 0.0, 1075.0, 375.0)
    assert walkers.regions[walkers.answer] == [275, 100, 375, 200]
    assert (walkers.cluster_id, walkers.measures["depth_gap_m"]) == ("0005", 1.0)
