"""Spatial reasoning: the things, the pairs, and the number of images per class and position."""

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
from snellen.curated_sets.ava_bench.abilities import spatial
from snellen.curated_sets.ava_bench.selection.completeness import CROWD, LOST, NOT_EXHAUSTIVE
from snellen.curated_sets.ava_bench.selection.depths import EXCLUDED
from snellen.datasets.sample import NOT_EXHAUSTIVE_FIELD, Sample
from snellen.suites.ava_bench.abilities.spatial import POSITIONS, position
from tests.curated_sets.ava_bench.selection.fixtures import scene
from tests.curated_sets.ava_bench.selection.marked_scenes import annotation, curating, dropped, find_all, item_source
from tests.suites.ava_bench.fixtures import item_source as any_image

OTHER = annotation("cup", (50.0, 50.0, 90.0, 90.0))
TARGET_BOXES: dict[str, Box] = {
    "Left above": (0.0, 0.0, 30.0, 30.0),
    "Left below": (0.0, 70.0, 30.0, 100.0),
    "Right above": (70.0, 0.0, 100.0, 30.0),
    "Right below": (70.0, 70.0, 100.0, 100.0),
}
MIDDLE = (30.0, 30.0, 70.0, 70.0)


def images(target: str, position: str, reference: str, count: int) -> Iterator[Sample]:
    for n in range(count):
        target_annotation, reference_annotation = (
            annotation(target, TARGET_BOXES[position]),
            annotation(reference, MIDDLE),
        )
        yield scene(target_annotation, reference_annotation, record=f"{target} {position} {reference} {n}")


@pytest.mark.parametrize(
    ("source", "box", "rule"),
    # Of 100 x 100 pixels 2 percent are 200 and 0.2 percent are 20.
    [
        ("NYU-Depth-V2", (0.0, 0.0, 10.0, 20.0), ""),
        ("NYU-Depth-V2", (0.0, 0.0, 10.0, 19.9), spatial.SMALL),
        ("LVIS", (0.0, 0.0, 4.0, 5.0), ""),
        ("Objects365", (0.0, 0.0, 4.0, 4.9), spatial.SMALL),
    ],
)
def test_boxes_fill_a_minimum_of_the_image(source: str, box: Box, rule: str) -> None:
    context = curating()
    candidates = find_all(spatial.CURATION, context, scene(annotation("box", box), OTHER, source=source))
    assert [candidate.truth["labels"] for candidate in candidates] == ([] if rule else [("box", "cup")])
    assert dropped(context) == ({rule: 1, spatial.ALONE: 1} if rule else {})


@pytest.mark.parametrize(
    ("source", "annotations", "fields", "rules"),
    [
        ("LVIS", [annotation("fork"), annotation("fork", (20, 0, 21, 1))], {}, {spatial.SEVERAL: 2}),
        ("Objects365", [annotation("Fork", iscrowd=True)], {}, {CROWD: 1}),
        ("LVIS", [annotation("fork")], {"attributes": {NOT_EXHAUSTIVE_FIELD: ("fork", "pin")}}, {NOT_EXHAUSTIVE: 1}),
        ("LVIS", [annotation("fork", None)], {}, {spatial.NO_BOX: 1}),
        ("NYU-Depth-V2", [annotation("wall", (0, 0, 90, 90))], {}, {EXCLUDED: 1}),
    ],
)
def test_things_that_are_left_out(
    source: str, annotations: list[Any], fields: dict[str, Any], rules: dict[str, int]
) -> None:
    context = curating()
    assert not find_all(spatial.CURATION, context, scene(*annotations, OTHER, source=source, **fields))
    assert dropped(context) == {**rules, spatial.ALONE: 1}


def test_an_image_of_unknown_size_or_with_lost_things_is_left_out() -> None:
    context = curating()
    pair = annotation("fork"), OTHER
    assert not find_all(spatial.CURATION, context, scene(*pair, size=None), scene(*pair, lost=1))
    assert dropped(context) == {spatial.NO_BOX: 2, LOST: 2}


sides = st.tuples(st.integers(0, 8), st.integers(1, 4))


@given(st.lists(st.lists(st.tuples(sides, sides), min_size=3, max_size=3), min_size=1, max_size=4))
def test_positions_agree_with_those_of_items(
    sides_of_boxes: list[list[tuple[tuple[int, int], tuple[int, int]]]],
) -> None:
    boxes = [[(float(x), float(y), float(x + w), float(y + h)) for (x, w), (y, h) in row] for row in sides_of_boxes]
    expected = {}
    for n, i, j in np.ndindex(len(boxes), 3, 3):
        try:
            expected[n, i, j] = POSITIONS.index(position(any_image(), boxes[n][i], boxes[n][j]))
        except SnellenError:
            continue
    positions = zip(*(part.tolist() for part in spatial.positions(np.array(boxes))), strict=True)
    assert {(n, i, j): position for n, i, j, position in positions} == expected


def test_a_class_in_a_position_has_enough_references_and_images_or_none() -> None:
    context = curating(spatial_references=2, spatial_rows=2)
    samples = [
        *images("ant", "Left above", "cup", 2), *images("ant", "Left above", "dog", 3),
        *images("ant", "Right above", "cup", 2), *images("ant", "Right above", "dog", 2),
        *images("ant", "Left below", "cup", 9),  # one reference
        *images("ant", "Right below", "cup", 2), *images("ant", "Right below", "dog", 1),  # one of two images
    ]  # fmt: skip
    selected = spatial.CURATION.select(find_all(spatial.CURATION, context, *samples), context)
    assert Counter((candidate.label, candidate.bin) for candidate in selected) == {
        ("ant / cup", "Left above"): 2, ("ant / dog", "Left above"): 2,
        ("ant / cup", "Right above"): 2, ("ant / dog", "Right above"): 2,
    }  # fmt: skip
    assert len({candidate.origin.record_id for candidate in selected}) == 8
    # Left below and Right below: 9 + 3; cup and dog as targets have only ant as reference: 15 + 6.
    assert dropped(context) == {
        "more than 4 images of a target class in a position": 1,
        "target class in a position without 2 references of 2 images": 12 + 21,
    }


def test_references_of_several_positions_come_first_so_that_names_do_not_reveal_the_answer() -> None:
    samples = [
        *(sample for position in POSITIONS for name in ("cup", "dog") for sample in images("ant", position, name, 1)),
        # Five more references of each position, which no other position has.
        *(sample for n, position in enumerate(POSITIONS) for k in range(5)
          for sample in images("ant", position, f"odd {n} {k}", 1)),
    ]  # fmt: skip
    context = curating(spatial_references=2, spatial_rows=1, spatial_classes=1)
    selected = spatial.CURATION.select(find_all(spatial.CURATION, context, *samples), context)
    assert Counter(candidate.label for candidate in selected) == {"ant / cup": 4, "ant / dog": 4}


def test_a_class_needs_several_positions_and_classes_in_most_positions_come_first() -> None:
    context = curating(spatial_references=1, spatial_rows=1, spatial_classes=1)
    samples = [sample for position in POSITIONS[:3] for sample in images("ant", position, "cup", 1)]
    samples += [sample for position in POSITIONS[:2] for sample in images("bee", position, "dog", 1)]
    samples += images("cow", "Left above", "egg", 1)
    selected = spatial.CURATION.select(find_all(spatial.CURATION, context, *samples), context)
    # ant and, mirrored, cup are in three positions, bee and dog in two, cow and egg in one.
    assert {candidate.label for candidate in selected} in ({"ant / cup"}, {"cup / ant"})
    assert len(selected) == 3
    assert dropped(context) == {
        "target class in fewer than 2 positions": 2,
        "more than 1 target classes of a dataset": 3 + 2 + 2,
    }


def test_pairs_that_share_rows_or_columns_are_left_out() -> None:
    context = curating(spatial_references=1, spatial_rows=1, spatial_positions=1)
    a, b, c = annotation("ant", (0, 0, 10, 10)), annotation("bee", (10, 10, 20, 20)), annotation("cow", (5, 30, 15, 40))
    [candidate] = find_all(spatial.CURATION, context, scene(a, b, c))
    selected = spatial.CURATION.select([candidate], context)
    assert {(candidate.label, candidate.bin) for candidate in selected} == {
        ("ant / bee", "Left above"),
        ("bee / ant", "Right below"),
    }
    assert dropped(context) == {spatial.OVERLAP: 4}


def test_items_record_the_position_of_the_target() -> None:
    context = curating(spatial_references=1, spatial_rows=5)
    annotations = [annotation("bath_towel", TARGET_BOXES["Right above"]), annotation("bow_(weapon)", MIDDLE)]
    mirrored = [annotation("bath_towel", TARGET_BOXES["Left below"]), annotation("bow_(weapon)", MIDDLE)]
    samples = [scene(*pair, record=f"{n} {pair is mirrored}") for n in range(5) for pair in (annotations, mirrored)]
    selected = spatial.CURATION.select(find_all(spatial.CURATION, context, *samples), context)
    ask = spatial.CURATION.make_item
    items = [(ask(candidate, item_source(candidate, (100, 100)), stream("t")), candidate) for candidate in selected]
    assert len(items) == 20
    assert all(item.answer == candidate.bin for item, candidate in items)
    [item, *_] = [
        item
        for item, candidate in items
        if candidate.label == "bath_towel / bow_(weapon)" and candidate.bin == "Right above"
    ]
    assert (item.factors["thing"], item.factors["reference"]) == ("bath towel", "bow")
    assert item.regions == {"red": [70, 0, 100, 30], "blue": [30, 30, 70, 70]}
    assert spatial.CURATION.select(find_all(spatial.CURATION, context, *samples), context) == selected
