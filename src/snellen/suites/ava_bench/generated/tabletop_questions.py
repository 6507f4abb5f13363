"""What is asked about a picture of many solids, and what is true of it (`tables`).

Boxes and distances come from `stimuli.scenes.truth`. Since no thing covers another in the picture, what is true of a
few of them together is true of each among all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.curation.draws import draw_options
from snellen.stimuli.scenes import Material, truth
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.generated.scenes import Rect, apart, clear, levelled, seen_box
from snellen.suites.ava_bench.generated.tabletop_scenes import BINS, KINDS, Table, plural
from snellen.suites.ava_bench.items import MIN_DEPTH_GAP_M, NEARER, POSITIONS, Shown, depth_bin

T = TypeVar("T")
CANDIDATES = 12
"""Of things that are not alone in their kind, how many may be asked about."""
MIN_SIDE = 0.03
"""Of a thing that is framed, as a share of the picture's width."""
BIN_EDGE_M = 0.1
"""How far a depth that is asked about stays from the ends of its bin, where there is a choice."""
PATCH_SHARE, MIN_PATCH_PX, PATCHES = 0.38, 4, 80
"""Side of a patch of colour as a share of the thing's; how many places are tried for one of little variance."""
FLOOR_PATCH_SHARE = 0.06
MIN_COLOURED_SIDE = 0.04
"""Of a thing whose colour is asked about, as a share of the picture's width."""
SLOTS = 3
"""How many items of a task a table serves."""


@dataclass(frozen=True, eq=False)
class Seen:
    """A thing that may be asked about: its number, kind, material, box in pixels, distance, and its pixels (h, w)."""

    number: int
    kind: str
    stuff: Material
    box: Rect
    nearest_m: float
    mask: NDArray[np.bool_]


@dataclass(eq=False)
class TableAsked:
    """A table as seen, and what was asked about it already (`used`)."""

    table: Table
    seen: tuple[Seen, ...]
    pixels: NDArray[np.uint8]
    used: set[Any] = field(default_factory=set)

    @property
    def framed(self) -> tuple[Seen, ...]:
        """What is large enough for a box."""
        return self.larger_than(MIN_SIDE)

    def larger_than(self, side: float) -> tuple[Seen, ...]:
        """What measures at least that share of the picture's width across and along."""
        least = side * self.table.shot.camera.width_px
        return tuple(one for one in self.seen if min(one.box[2] - one.box[0], one.box[3] - one.box[1]) >= least)


def look_at(table: Table, pixels: NDArray[np.uint8]) -> TableAsked:
    """The truth of a table and its picture (height, width, 3)."""
    groups = range(len(table.singles), len(table.kinds))
    step = max(1, len(groups) // CANDIDATES)
    numbers = [*table.singles, *list(groups)[::step][:CANDIDATES]]
    scene = table.shot.scene
    told = truth(replace(scene, solids=tuple(scene.solids[n] for n in numbers)), table.shot.camera)
    seen = []
    for number, one in zip(numbers, told.solids, strict=True):
        assert one.visible_box is not None
        assert one.nearest_m is not None
        stuff = scene.solids[number].material
        seen.append(Seen(number, table.kinds[number], stuff, one.visible_box, one.nearest_m, one.mask))
    return TableAsked(table, tuple(seen), pixels)


Turn = tuple[TableAsked, int, Shown]
"""An item to be: a table, which of its slots, and what the item is to be called."""


def table_items(task: str, turns: Sequence[Turn], rng: np.random.Generator) -> Iterator[Item]:
    """The items of a task about tables of one split.

    Where a table has more to ask about than slots, what is asked is chosen so that answers and kinds come up evenly
    over all tables. Raises SnellenError where it has less.
    """
    if task not in _CHOSEN:
        for asked, slot, of in turns:
            yield _MAKERS[task](asked, slot, of, rng)
        return
    candidates, item, sizes = _CHOSEN[task]
    chosen = evenly_chosen(task, turns, candidates, lambda one: one[1], sizes, rng)
    for (_, _, of), (things, _) in zip(turns, chosen, strict=True):
        yield item(of, things)


def evenly_chosen(
    task: str,
    turns: Sequence[Turn],
    candidates: Callable[[TableAsked], Sequence[T]],
    levels: Callable[[T], Mapping[str, Hashable]],
    sizes: Mapping[str, int],
    rng: np.random.Generator,
) -> list[T]:
    """For each turn one of its table's candidates, no table the same one twice, with their levels as even as can be.

    `sizes` tells how many levels each factor has. Raises SnellenError where a table has fewer candidates than turns.
    """
    held = {id(asked): candidates(asked) for asked, _, _ in turns}
    places = {key: place for place, key in enumerate(held)}
    slots = Counter(id(asked) for asked, _, _ in turns)
    if any(len(held[key]) < count for key, count in slots.items()):
        raise SnellenError(f"ava-bench: too little in a picture can be asked about in {task}; give another --seed")
    able = [held[id(asked)] for asked, _, _ in turns]
    told = {key: [levels(one) for one in found] for key, found in held.items()}
    pictures = [places[id(asked)] for asked, _, _ in turns]
    chosen = levelled([told[id(asked)] for asked, _, _ in turns], pictures, sizes, rng)
    return [one[number] for one, number in zip(able, chosen, strict=True)]


Candidate = tuple[tuple[Seen, ...], Mapping[str, Hashable]]
"""Things that may be asked about, and the levels of what is to be even."""


def _pairs(asked: TableAsked) -> list[Candidate]:
    """For spatial: single things alone (appendix A.2), so that the question can be asked without boxes too."""
    singles = asked.seen[: len(asked.table.singles)]
    return [
        ((red, blue), {"position": place_of(red.box, blue.box), "red": red.kind, "blue": blue.kind})
        for red, blue in permutations(singles, 2)
        if clear(red.box, blue.box)
    ]


def place_of(red: Rect, blue: Rect) -> str:
    """Where the red box lies as seen from the blue one, which shares neither rows nor columns with it."""
    return f"{'Left' if red[2] <= blue[0] else 'Right'} {'above' if red[3] <= blue[1] else 'below'}"


def _spatial(of: Shown, things: tuple[Seen, ...]) -> Item:
    red, blue = things
    return make.spatial_item(of, red.kind, blue.kind, red.box, blue.box)


def _depths(asked: TableAsked) -> list[Candidate]:
    """For absolute depth: things whose depth is far from the ends of its bin."""
    return [
        ((one,), {"bin": found, "kind": one.kind, "bin of kind": (one.kind, found)})
        for one in asked.framed
        if (found := depth_bin(one.nearest_m)) in BINS and BIN_EDGE_M <= one.nearest_m % 1 <= 1 - BIN_EDGE_M
    ]


def _absolute_depth(of: Shown, things: tuple[Seen, ...]) -> Item:
    (one,) = things
    return make.absolute_depth_item(of, one.kind, one.box, one.nearest_m, BINS, "indoor")


def _nearer(asked: TableAsked) -> list[Candidate]:
    """For relative depth: two things of different kinds, half a metre or more apart."""
    found = list[Candidate]()
    for red, blue in permutations(asked.framed, 2):
        near, far = sorted((red, blue), key=lambda one: one.nearest_m)
        if red.kind != blue.kind and far.nearest_m - near.nearest_m >= MIN_DEPTH_GAP_M:
            levels = {"answer": NEARER[near is blue], "nearer": near.kind, "farther": far.kind, "red": red.kind}
            found.append(((red, blue), levels))
    return found


def _relative_depth(of: Shown, things: tuple[Seen, ...]) -> Item:
    red, blue = things
    return make.relative_depth_item(
        of, (red.kind, blue.kind), (red.box, blue.box), (red.nearest_m, blue.nearest_m), "indoor"
    )


_CHOSEN: Mapping[
    str,
    tuple[Callable[[TableAsked], list[Candidate]], Callable[[Shown, tuple[Seen, ...]], Item], Mapping[str, int]],
] = {
    "spatial": (_pairs, _spatial, {"position": len(POSITIONS), "red": len(KINDS), "blue": len(KINDS)}),
    "absolute-depth": (
        _depths,
        _absolute_depth,
        {"bin": len(BINS), "kind": len(KINDS), "bin of kind": len(BINS) * len(KINDS)},
    ),
    "relative-depth": (
        _nearer,
        _relative_depth,
        {"answer": len(NEARER), "nearer": len(KINDS), "farther": len(KINDS), "red": len(KINDS)},
    ),
}
"""Tasks about things that are chosen: what may be asked, the item of it, and how many levels what is even has."""


def _localization(asked: TableAsked, slot: int, of: Shown, rng: np.random.Generator) -> Item:
    one = asked.seen[slot]
    return make.localization_item(of, one.kind, one.box)


def _counting(asked: TableAsked, slot: int, of: Shown, rng: np.random.Generator) -> Item:
    kind = asked.table.counted[slot]
    return make.counting_item(of, plural(kind), asked.table.count(kind))


def _object(asked: TableAsked, slot: int, of: Shown, rng: np.random.Generator) -> Item:
    one = asked.seen[slot]  # as in localization: the paper has the same pictures for both
    return make.object_item(of, one.kind, one.box, draw_options(one.kind, KINDS, len(KINDS), rng))


def _colour(asked: TableAsked, slot: int, of: Shown, rng: np.random.Generator) -> Item:
    want = asked.table.wanted.colours[slot]
    able = [
        one
        for one in asked.larger_than(MIN_COLOURED_SIDE)
        if one.stuff.kind == "rubber" and one.stuff.colour == want and ("colour", one.number) not in asked.used
    ]
    box = None
    while able and box is None:
        one = able.pop(int(rng.integers(len(able))))
        asked.used.add(("colour", one.number))
        box = _patch(asked.pixels, one.mask, one.box, PATCH_SHARE, rng)
    box = _floor_patch(asked, rng) if box is None else box
    return make.colour_item(of, box, patch_colour(asked.pixels, box))


_MAKERS: Mapping[str, Callable[[TableAsked, int, Shown, np.random.Generator], Item]] = {
    "localization": _localization,
    "counting": _counting,
    "object": _object,
    "colour": _colour,
}
"""Tasks whose items are settled by the table and the slot."""


def patch_colour(pixels: NDArray[np.uint8], box: Rect) -> list[int]:
    """The median of each channel in a box of whole pixels, sRGB 0..255.

    The paper takes the most frequent value; under soft light hardly two pixels are alike, and none is frequent.
    """
    x1, y1, x2, y2 = (int(side) for side in box)
    return [int(level) for level in np.median(pixels[y1:y2, x1:x2].reshape(-1, 3), axis=0).round()]


def _patch(
    pixels: NDArray[np.uint8], mask: NDArray[np.bool_], box: Rect, share: float, rng: np.random.Generator
) -> Rect | None:
    """Of some square patches within the mask that with the least variance."""
    x1, y1, x2, y2 = (int(side) for side in box)
    side = max(MIN_PATCH_PX, round(share * min(x2 - x1, y2 - y1)))
    best: tuple[float, Rect] | None = None
    for x, y in _places(x2 - x1 - side, y2 - y1 - side, rng):
        left, top = x1 + x, y1 + y
        if not mask[top : top + side, left : left + side].all():
            continue
        spread = float(pixels[top : top + side, left : left + side].reshape(-1, 3).std(axis=0).max())
        if best is None or spread < best[0]:
            best = spread, (float(left), float(top), float(left + side), float(top + side))
    return None if best is None else best[1]


def _places(across: int, along: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    if across >= 0 and along >= 0:
        for _ in range(PATCHES):
            yield int(rng.integers(across + 1)), int(rng.integers(along + 1))


def _floor_patch(asked: TableAsked, rng: np.random.Generator) -> Rect:
    """A patch of the floor clear of everything."""
    shot = asked.table.shot
    free = np.ones(asked.pixels.shape[:2], bool)
    for solid in shot.scene.solids:
        x1, y1, x2, y2 = (int(side) for side in seen_box(solid, shot.camera))
        free[max(0, y1 - 2) : y2 + 3, max(0, x1 - 2) : x2 + 3] = False
    side = FLOOR_PATCH_SHARE * shot.camera.width_px
    whole = (0.0, 0.0, float(shot.camera.width_px), float(shot.camera.height_px))
    for _ in range(PATCHES):
        share = side / min(whole[2:])
        if (found := _patch(asked.pixels, free, whole, share, rng)) is not None:
            taken = ("colour", found)
            if taken not in asked.used and all(
                apart(found, old[1]) for old in asked.used if old[0] == "colour" and isinstance(old[1], tuple)
            ):
                asked.used.add(taken)
                return found
        side *= 0.97
    raise SnellenError("ava-bench: a table without a free patch of floor; give another --seed")
