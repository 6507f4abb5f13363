"""What is true of an image of many solids (`tabletop_scenes`), and how abilities take turns to ask about it.

Boxes and distances come from `stimuli.scenes.truth`. Since no thing covers another in the image, what is true of a
few of them together is true of each among all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.stimuli.scenes import Material, truth
from snellen.suites.ava_bench.items import ItemSource
from snellen.suites.ava_bench.scenes.scenes import SLOTS, Rect, levelled
from snellen.suites.ava_bench.scenes.tabletop_scenes import Table

T = TypeVar("T")
MAX_OF_GROUPS = 12
"""Of things that are not alone in their kind, how many may be asked about."""
MIN_BOX_SIDE = 0.03
"""Of a thing that is framed, as a share of the image's width."""


@dataclass(frozen=True, eq=False)
class VisibleSolid:
    """A solid that may be asked about: its number, kind, material, box in pixels, distance, and its pixels (h, w)."""

    number: int
    kind: str
    material: Material
    box: Rect
    nearest_m: float
    mask: NDArray[np.bool_]


@dataclass(eq=False)
class TabletopTruth:
    """A table, the solids that may be asked about (single ones first), its image, and what was used already."""

    table: Table
    solids: tuple[VisibleSolid, ...]
    pixels: NDArray[np.uint8]
    used: set[Any] = field(default_factory=set)

    @property
    def singles(self) -> tuple[VisibleSolid, ...]:
        """Those that are alone in their kind."""
        return self.solids[: len(self.table.singles)]

    @property
    def framed(self) -> tuple[VisibleSolid, ...]:
        """What is large enough for a box."""
        return self.larger_than(MIN_BOX_SIDE)

    def larger_than(self, side: float) -> tuple[VisibleSolid, ...]:
        """What measures at least that share of the image's width across and along."""
        min_px = side * self.table.shot.camera.width_px
        return tuple(
            solid for solid in self.solids if min(solid.box[2] - solid.box[0], solid.box[3] - solid.box[1]) >= min_px
        )


def tabletop_truth(table: Table, pixels: NDArray[np.uint8]) -> TabletopTruth:
    """The truth of a table and its image (height, width, 3)."""
    groups = range(len(table.singles), len(table.kinds))
    step = max(1, len(groups) // MAX_OF_GROUPS)
    numbers = [*table.singles, *list(groups)[::step][:MAX_OF_GROUPS]]
    scene = table.shot.scene
    true_scene = truth(replace(scene, solids=tuple(scene.solids[n] for n in numbers)), table.shot.camera)
    solids = []
    for number, solid in zip(numbers, true_scene.solids, strict=True):
        assert solid.visible_box is not None
        assert solid.nearest_m is not None
        material = scene.solids[number].material
        solids.append(
            VisibleSolid(number, table.kinds[number], material, solid.visible_box, solid.nearest_m, solid.mask)
        )
    return TabletopTruth(table, tuple(solids), pixels)


class ItemSlot(NamedTuple):
    """An item to be: a table, which of its slots, and where the item comes from."""

    table: TabletopTruth
    slot: int
    source: ItemSource


def _every_slot(table: TabletopTruth) -> int:
    return SLOTS


@dataclass(frozen=True, kw_only=True, eq=False)
class TabletopQuestions:
    """How an ability asks about the tables of one split: an item a turn, and how many turns a table can serve."""

    make_items: Callable[[Sequence[ItemSlot], np.random.Generator], Iterator[Item]]
    capacity: Callable[[TabletopTruth], int] = _every_slot


def asked_by_slot(
    make_item: Callable[[TabletopTruth, int, ItemSource, np.random.Generator], Item],
) -> TabletopQuestions:
    """Questions that are settled by the table and the slot."""

    def make_items(turns: Sequence[ItemSlot], rng: np.random.Generator) -> Iterator[Item]:
        for turn in turns:
            yield make_item(turn.table, turn.slot, turn.source, rng)

    return TabletopQuestions(make_items=make_items)


def evenly_chosen(
    task: str,
    turns: Sequence[ItemSlot],
    find_candidates: Callable[[TabletopTruth], Sequence[tuple[T, Mapping[str, Hashable]]]],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
) -> list[T]:
    """For each turn one of its table's candidates, no table the same one twice, with their levels as even as can be.

    `find_candidates` gives what may be asked of a table, each with its level of every factor; `sizes` tells how many
    levels each factor has. Raises SnellenError where a table has fewer candidates than turns.
    """
    by_table = {id(turn.table): find_candidates(turn.table) for turn in turns}
    numbers = {key: number for number, key in enumerate(by_table)}
    slots = Counter(id(turn.table) for turn in turns)
    if any(len(by_table[key]) < count for key, count in slots.items()):
        raise SnellenError(f"ava-bench: too little in an image can be asked about in {task}; give another --seed")
    levels = {key: [of_factors for _, of_factors in pairs] for key, pairs in by_table.items()}
    tables = [id(turn.table) for turn in turns]
    chosen = levelled([levels[key] for key in tables], [numbers[key] for key in tables], sizes, rng)
    return [by_table[key][number][0] for key, number in zip(tables, chosen, strict=True)]
