"""Spatial reasoning: which things, which pairs, and how many of a class in a position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.errors import SnellenError
from snellen.core.item import Box
from snellen.core.seeds import stream
from snellen.datasets.sample import NOT_EXHAUSTIVE_FIELD, Sample
from snellen.suites.ava_bench.abilities import spatial
from snellen.suites.ava_bench.abilities.spatial import POSITIONS, position
from snellen.suites.ava_bench.candidates.completeness import CROWD, LOST, NOT_EXHAUSTIVE
from snellen.suites.ava_bench.candidates.depths import EXCLUDED
from tests.suites.ava_bench.candidates.fixtures import scene
from tests.suites.ava_bench.candidates.marked_scenes import curating, dropped, looked_at, shown, thing
from tests.suites.ava_bench.fixtures import shown as any_image

OTHER = thing("cup", (50.0, 50.0, 90.0, 90.0))
TARGET_BOXES: dict[str, Box] = {
    "Left above": (0.0, 0.0, 30.0, 30.0),
    "Left below": (0.0, 70.0, 30.0, 100.0),
    "Right above": (70.0, 0.0, 100.0, 30.0),
    "Right below": (70.0, 70.0, 100.0, 100.0),
}
MIDDLE = (30.0, 30.0, 70.0, 70.0)


def images(target: str, position: str, reference: str, count: int) -> Iterator[Sample]:
    for n in range(count):
        here, there = thing(target, TARGET_BOXES[position]), thing(reference, MIDDLE)
        yield scene(here, there, record=f"{target} {position} {reference} {n}")


@pytest.mark.parametrize(
    ("source", "box", "rule"),
    # Of 100 x 100 pixels 2 percent are 200, 0.2 percent are 20.
    [
        ("NYU-Depth-V2", (0.0, 0.0, 10.0, 20.0), ""),
        ("NYU-Depth-V2", (0.0, 0.0, 10.0, 19.9), spatial.SMALL),
        ("LVIS", (0.0, 0.0, 4.0, 5.0), ""),
        ("Objects365", (0.0, 0.0, 4.0, 4.9), spatial.SMALL),
    ],
)
def test_boxes_fill_so_much_of_the_image(source: str, box: Box, rule: str) -> None:
    at = curating()
    found = looked_at(spatial.CURATION, at, scene(thing("box", box), OTHER, source=source))
    assert [one.truth["labels"] for one in found] == ([] if rule else [("box", "cup")])
    assert dropped(at) == ({rule: 1, spatial.ALONE: 1} if rule else {})


@pytest.mark.parametrize(
    ("source", "things", "more", "rules"),
    [
        ("LVIS", [thing("fork"), thing("fork", (20, 0, 21, 1))], {}, {spatial.SEVERAL: 2}),
        ("Objects365", [thing("Fork", iscrowd=True)], {}, {CROWD: 1}),
        (
            "LVIS",
            [thing("fork")],
            {"attributes": {NOT_EXHAUSTIVE_FIELD: ("fork", "pin")}},
            {NOT_EXHAUSTIVE: 1},
        ),
        ("LVIS", [thing("fork", None)], {}, {spatial.NO_BOX: 1}),
        ("NYU-Depth-V2", [thing("wall", (0, 0, 90, 90))], {}, {EXCLUDED: 1}),
    ],
)
def test_a_thing_is_left_out(source: str, things: list[Any], more: dict[str, Any], rules: dict[str, int]) -> None:
    at = curating()
    assert not looked_at(spatial.CURATION, at, scene(*things, OTHER, source=source, **more))
    assert dropped(at) == {**rules, spatial.ALONE: 1}


def test_an_image_of_unknown_size_or_with_lost_things_is_left_out() -> None:
    at = curating()
    pair = thing("fork"), OTHER
    assert not looked_at(spatial.CURATION, at, scene(*pair, size=None), scene(*pair, lost=1))
    assert dropped(at) == {spatial.NO_BOX: 2, LOST: 2}


sides = st.tuples(st.integers(0, 8), st.integers(1, 4))


@given(st.lists(st.lists(st.tuples(sides, sides), min_size=3, max_size=3), min_size=1, max_size=4))
def test_positions_are_those_that_items_tell(drawn: list[list[tuple[tuple[int, int], tuple[int, int]]]]) -> None:
    boxes = [[(float(x), float(y), float(x + w), float(y + h)) for (x, w), (y, h) in one] for one in drawn]
    told = {}
    for n, i, j in np.ndindex(len(boxes), 3, 3):
        try:
            told[n, i, j] = POSITIONS.index(position(any_image(), boxes[n][i], boxes[n][j]))
        except SnellenError:
            continue
    found = zip(*(part.tolist() for part in spatial.positions(np.array(boxes))), strict=True)
    assert {(n, i, j): position for n, i, j, position in found} == told


def test_a_class_in_a_position_has_so_many_references_and_images_or_none() -> None:
    at = curating(spatial_references=2, spatial_rows=2)
    there = [
        *images("ant", "Left above", "cup", 2), *images("ant", "Left above", "dog", 3),
        *images("ant", "Right above", "cup", 2), *images("ant", "Right above", "dog", 2),
        *images("ant", "Left below", "cup", 9),  # one reference
        *images("ant", "Right below", "cup", 2), *images("ant", "Right below", "dog", 1),  # one of two images
    ]  # fmt: skip
    kept = spatial.CURATION.select(looked_at(spatial.CURATION, at, *there), at)
    assert Counter((one.label, one.bin) for one in kept) == {
        ("ant / cup", "Left above"): 2, ("ant / dog", "Left above"): 2,
        ("ant / cup", "Right above"): 2, ("ant / dog", "Right above"): 2,
    }  # fmt: skip
    assert len({one.origin.record_id for one in kept}) == 8
    # Left below and Right below: 9 + 3; cup and dog as targets have ant alone as reference: 15 + 6.
    assert dropped(at) == {
        "more than 4 images of a target class in a position": 1,
        "target class in a position without 2 references of 2 images": 12 + 21,
    }


def test_references_that_serve_several_positions_come_first_so_that_no_pair_of_names_tells_the_answer() -> None:
    there = [
        *(one for position in POSITIONS for name in ("cup", "dog") for one in images("ant", position, name, 1)),
        # Five more references of each position, which no other position has.
        *(one for n, position in enumerate(POSITIONS) for k in range(5)
          for one in images("ant", position, f"odd {n} {k}", 1)),
    ]  # fmt: skip
    at = curating(spatial_references=2, spatial_rows=1, spatial_classes=1)
    kept = spatial.CURATION.select(looked_at(spatial.CURATION, at, *there), at)
    assert Counter(one.label for one in kept) == {"ant / cup": 4, "ant / dog": 4}


def test_a_class_needs_several_positions_and_those_in_most_come_first() -> None:
    at = curating(spatial_references=1, spatial_rows=1, spatial_classes=1)
    there = [one for position in POSITIONS[:3] for one in images("ant", position, "cup", 1)]
    there += [one for position in POSITIONS[:2] for one in images("bee", position, "dog", 1)]
    there += images("cow", "Left above", "egg", 1)
    kept = spatial.CURATION.select(looked_at(spatial.CURATION, at, *there), at)
    # ant and, mirrored, cup are in three positions, bee and dog in two, cow and egg in one.
    assert {one.label for one in kept} in ({"ant / cup"}, {"cup / ant"})
    assert len(kept) == 3
    assert dropped(at) == {
        "target class in fewer than 2 positions": 2,
        "more than 1 target classes of a dataset": 3 + 2 + 2,
    }


def test_pairs_that_share_rows_or_columns_are_counted_out() -> None:
    at = curating(spatial_references=1, spatial_rows=1, spatial_positions=1)
    a, b, c = thing("ant", (0, 0, 10, 10)), thing("bee", (10, 10, 20, 20)), thing("cow", (5, 30, 15, 40))
    [one] = looked_at(spatial.CURATION, at, scene(a, b, c))
    kept = spatial.CURATION.select([one], at)
    assert {(one.label, one.bin) for one in kept} == {("ant / bee", "Left above"), ("bee / ant", "Right below")}
    assert dropped(at) == {spatial.OVERLAP: 4}


def test_items_tell_where_the_target_lies() -> None:
    at = curating(spatial_references=1, spatial_rows=5)
    things = [thing("bath_towel", TARGET_BOXES["Right above"]), thing("bow_(weapon)", MIDDLE)]
    more = [thing("bath_towel", TARGET_BOXES["Left below"]), thing("bow_(weapon)", MIDDLE)]
    found = [scene(*held, record=f"{n} {held is more}") for n in range(5) for held in (things, more)]
    kept = spatial.CURATION.select(looked_at(spatial.CURATION, at, *found), at)
    ask = spatial.CURATION.make_item
    told = [(ask(one, shown(one, (100, 100)), stream("t")), one) for one in kept]
    assert len(told) == 20
    assert all(item.answer == one.bin for item, one in told)
    [item, *_] = [item for item, one in told if one.label == "bath_towel / bow_(weapon)" and one.bin == "Right above"]
    assert (item.factors["thing"], item.factors["reference"]) == ("bath towel", "bow")
    assert item.regions == {"red": [70, 0, 100, 30], "blue": [30, 30, 70, 70]}
    assert spatial.CURATION.select(looked_at(spatial.CURATION, at, *found), at) == kept
