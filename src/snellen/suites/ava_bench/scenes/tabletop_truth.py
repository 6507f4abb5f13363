"""The truth of images of many solids (`tabletop_scenes`), and the questions about them.

Boxes and distances come from `stimuli.scenes.truth`. Since no thing covers another in the image, the truth of some of
them does not depend on the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.stimuli.scenes import Material, truth
from snellen.suites.ava_bench.items import EASY, HARD, ItemSource, area_share, box_area
from snellen.suites.ava_bench.scenes.scenes import SLOTS, Rect, levelled, share_of
from snellen.suites.ava_bench.scenes.table_contents import AREAS, difficulty
from snellen.suites.ava_bench.scenes.tabletop_scenes import Table

T = TypeVar("T")
MAX_OF_GROUPS = 12
"""The maximum number of things asked about that are not the only ones of their kind."""


@dataclass(frozen=True, eq=False)
class VisibleSolid:
    """A solid that may be asked about: number, kind, material, box in pixels, distance, and its pixels in the box."""

    number: int
    kind: str
    material: Material
    box: Rect
    nearest_m: float
    inside: NDArray[np.bool_]


@dataclass(eq=False)
class TabletopTruth:
    """A table, the solids that may be asked about (single ones first), the reader of its image, and the used keys."""

    table: Table
    solids: tuple[VisibleSolid, ...]
    read_pixels: Callable[[], NDArray[np.uint8]]
    used: set[Any] = field(default_factory=set)

    @property
    def singles(self) -> tuple[VisibleSolid, ...]:
        """The solids that are the only ones of their kind."""
        return self.solids[: len(self.table.singles)]

    @property
    def placed_in_depth(self) -> tuple[VisibleSolid, ...]:
        """The single solids whose place and size in the image do not reveal their depth: all but the largest."""
        areas = self.table.content.areas
        return tuple(solid for solid in self.singles if difficulty(areas[solid.number][0]) != EASY)

    @cached_property
    def of_each_kind(self) -> tuple[VisibleSolid, ...]:
        """The single solids, and the largest of each counted kind unless it is below `AREAS`."""
        camera = self.table.shot.camera
        largest: dict[str, VisibleSolid] = {}
        for solid in sorted(self.solids[len(self.singles) :], key=lambda solid: box_area(solid.box)):
            if share_of(solid.box, camera) >= AREAS[HARD][0][0]:
                largest[solid.kind] = solid
        return (*self.singles, *largest.values())

    def mask(self, solid: VisibleSolid) -> NDArray[np.bool_]:
        """The pixels (height, width) in which a solid is seen."""
        x1, y1, x2, y2 = map(int, solid.box)
        camera = self.table.shot.camera
        return np.pad(solid.inside, ((y1, camera.height_px - y2), (x1, camera.width_px - x2)))

    def larger_than(self, side: float) -> tuple[VisibleSolid, ...]:
        """The solids whose sides are both at least that share of the image's width."""
        min_px = side * self.table.shot.camera.width_px
        return tuple(
            solid for solid in self.solids if min(solid.box[2] - solid.box[0], solid.box[3] - solid.box[1]) >= min_px
        )


def tabletop_truth(table: Table, read_pixels: Callable[[], NDArray[np.uint8]]) -> TabletopTruth:
    """The truth of a table and its image."""
    groups = range(len(table.singles), len(table.kinds))
    step = max(1, len(groups) // MAX_OF_GROUPS)
    numbers = [*table.singles, *list(groups)[::step][:MAX_OF_GROUPS]]
    scene = table.shot.scene
    true_scene = truth(replace(scene, solids=tuple(scene.solids[n] for n in numbers)), table.shot.camera)
    solids = []
    for number, solid in zip(numbers, true_scene.solids, strict=True):
        assert solid.visible_box is not None
        assert solid.nearest_m is not None
        x1, y1, x2, y2 = map(int, solid.visible_box)
        inside = solid.mask[y1:y2, x1:x2].copy()
        kind, material = table.kinds[number], scene.solids[number].material
        solids.append(VisibleSolid(number, kind, material, solid.visible_box, solid.nearest_m, inside))
    return TabletopTruth(table, tuple(solids), read_pixels)


class ItemSlot(NamedTuple):
    """A planned item: a table, a slot of it, and the item's source."""

    table: TabletopTruth
    slot: int
    source: ItemSource


@dataclass(frozen=True, kw_only=True, eq=False)
class TabletopQuestions:
    """An ability's questions about the tables of one split: one item per turn, and the turns that a table can serve."""

    make_items: Callable[[Sequence[ItemSlot], np.random.Generator], Iterator[Item]]
    capacity: Callable[[TabletopTruth], int] = lambda table: SLOTS


def sized(source: ItemSource, box: Rect) -> ItemSource:
    """The source of an item about a thing, with the difficulty of its size."""
    return replace(source, factors={"difficulty": difficulty(area_share(box, source.image))})


def asked_by_slot(
    make_item: Callable[[TabletopTruth, int, ItemSource, np.random.Generator], Item],
) -> TabletopQuestions:
    """Questions that are determined by table and slot."""

    def make_items(turns: Sequence[ItemSlot], rng: np.random.Generator) -> Iterator[Item]:
        for turn in turns:
            yield make_item(turn.table, turn.slot, turn.source, rng)

    return TabletopQuestions(make_items=make_items)


def asked_evenly(
    task: str,
    find_candidates: Callable[[TabletopTruth], Sequence[tuple[T, Mapping[str, Hashable]]]],
    sizes: Mapping[str, int],
    make_item: Callable[[ItemSlot, T, np.random.Generator], Item],
) -> TabletopQuestions:
    """Questions about the candidates of tables, chosen as by `evenly_chosen`; each serves for one item."""

    def make_items(turns: Sequence[ItemSlot], rng: np.random.Generator) -> Iterator[Item]:
        chosen = evenly_chosen(task, turns, find_candidates, sizes, rng)
        for turn, candidate in zip(turns, chosen, strict=True):
            yield make_item(turn, candidate, rng)

    return TabletopQuestions(make_items=make_items, capacity=lambda table: len(find_candidates(table)))


def evenly_chosen(
    task: str,
    turns: Sequence[ItemSlot],
    find_candidates: Callable[[TabletopTruth], Sequence[tuple[T, Mapping[str, Hashable]]]],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
) -> list[T]:
    """For each turn one of its table's candidates, none twice per table, with levels as equally frequent as possible.

    `find_candidates` returns a table's candidates, each with its level of every factor; `sizes` is the number of levels
    of each factor. Raises SnellenError if a table has fewer candidates than turns.
    """
    by_table = {id(turn.table): find_candidates(turn.table) for turn in turns}
    numbers = {key: number for number, key in enumerate(by_table)}
    slots = Counter(id(turn.table) for turn in turns)
    if any(len(by_table[key]) < count for key, count in slots.items()):
        raise SnellenError(f"ava-bench: an image has too few candidates for {task}; give another --seed")
    levels = {key: [of_factors for _, of_factors in pairs] for key, pairs in by_table.items()}
    tables = [id(turn.table) for turn in turns]
    chosen = levelled([levels[key] for key in tables], [numbers[key] for key in tables], sizes, rng)
    return [by_table[key][number][0] for key, number in zip(tables, chosen, strict=True)]
