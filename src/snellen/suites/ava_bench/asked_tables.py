"""What is asked about a picture of many solids, and what is true of it (`tables`).

Boxes and distances come from `stimuli.scenes.truth`. Since no thing covers another in the picture, what is true of a
few of them together is true of each among all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.stimuli.scenes import Material, truth
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.items import LEAST_DEPTH_GAP_M, NEARER, POSITIONS, Shown, depth_bin, position
from snellen.suites.ava_bench.sampling import offered
from snellen.suites.ava_bench.scenes import Rect, apart, seen_box
from snellen.suites.ava_bench.tables import BINS, COLOURS_ASKED, KINDS, Table, plural

CANDIDATES = 12
"""Of things that are not alone in their kind, how many may be asked about."""
LEAST_SIDE = 0.03
"""Of a thing that is framed, as a share of the picture's width."""
BIN_EDGE_M = 0.1
"""How far a depth that is asked about stays from the ends of its bin, where there is a choice."""
PATCH_SHARE, LEAST_PATCH_PX, PATCHES = 0.38, 4, 80
"""Side of a patch of colour as a share of the thing's; how many places are tried for one of little variance."""
FLOOR_PATCH_SHARE = 0.06
LEAST_COLOURED_SIDE = 0.055
"""Of a thing whose colour is asked about, as a share of the picture's width."""
WANTED: dict[str, Sequence[Any]] = {
    "localization": ("",),
    "counting": ("",),
    "spatial": POSITIONS,
    "absolute-depth": BINS,
    "relative-depth": NEARER,
    "object": tuple(KINDS),
    "colour": COLOURS_ASKED,
}
"""What is dealt to the items of a task, so that each comes as often as any other where the pictures have it."""


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
        return self.larger_than(LEAST_SIDE)

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


def slots(task: str, table: Table) -> int:
    """How many items of a task a table serves."""
    return len(table.counted) if task == "counting" else 3


def table_item(task: str, asked: TableAsked, slot: int, want: Any, of: Shown, rng: np.random.Generator) -> Item:
    """The item of a task in a slot of a table; `want` is met where the picture allows."""
    return _MAKERS[task](asked, slot, want, of, rng)


def _localization(asked: TableAsked, slot: int, want: Any, of: Shown, rng: np.random.Generator) -> Item:
    one = asked.seen[slot]
    return make.localization_item(of, one.kind, one.box)


def _counting(asked: TableAsked, slot: int, want: Any, of: Shown, rng: np.random.Generator) -> Item:
    kind = asked.table.counted[slot]
    return make.counting_item(of, plural(kind), asked.table.count(kind))


def _spatial(asked: TableAsked, slot: int, want: Any, of: Shown, rng: np.random.Generator) -> Item:
    def clear(red: Seen, blue: Seen) -> bool:
        (a, b), (c, d) = (red.box[::2], red.box[1::2]), (blue.box[::2], blue.box[1::2])
        return (a[1] <= c[0] or c[1] <= a[0]) and (b[1] <= d[0] or d[1] <= b[0])

    pairs = [(a, b) for a, b in permutations(asked.framed, 2) if a.kind != b.kind and clear(a, b)]
    red, blue = _choose(asked, "spatial", pairs, lambda pair: position(of, pair[0].box, pair[1].box) == want, rng)
    return make.spatial_item(of, red.kind, blue.kind, red.box, blue.box)


def _absolute_depth(asked: TableAsked, slot: int, want: Any, of: Shown, rng: np.random.Generator) -> Item:
    able = [one for one in asked.framed if depth_bin(one.nearest_m) in BINS]
    clear = [one for one in able if BIN_EDGE_M <= one.nearest_m % 1 <= 1 - BIN_EDGE_M]
    one = _choose(asked, "absolute-depth", clear or able, lambda thing: depth_bin(thing.nearest_m) == want, rng)
    return make.absolute_depth_item(of, one.kind, one.box, one.nearest_m, BINS, "indoor")


def _relative_depth(asked: TableAsked, slot: int, want: Any, of: Shown, rng: np.random.Generator) -> Item:
    pairs = [
        (a, b)
        for a, b in permutations(asked.framed, 2)
        if a.kind != b.kind and abs(a.nearest_m - b.nearest_m) >= LEAST_DEPTH_GAP_M
    ]
    red, blue = _choose(
        asked, "relative-depth", pairs, lambda pair: NEARER[pair[1].nearest_m < pair[0].nearest_m] == want, rng
    )
    return make.relative_depth_item(
        of, (red.kind, blue.kind), (red.box, blue.box), (red.nearest_m, blue.nearest_m), "indoor"
    )


def _object(asked: TableAsked, slot: int, want: Any, of: Shown, rng: np.random.Generator) -> Item:
    one = _choose(asked, "object", asked.framed, lambda thing: thing.kind == want, rng)
    return make.object_item(of, one.kind, one.box, offered(one.kind, KINDS, len(KINDS), rng))


def _colour(asked: TableAsked, slot: int, want: Any, of: Shown, rng: np.random.Generator) -> Item:
    able = [
        one
        for one in asked.larger_than(LEAST_COLOURED_SIDE)
        if one.stuff.kind == "rubber" and one.stuff.colour == want and ("colour", one.number) not in asked.used
    ]
    one = _choose(asked, "colour", able, lambda thing: True, rng) if able else None
    box = None if one is None else _patch(asked.pixels, one.mask, one.box, PATCH_SHARE, rng)
    if box is None:
        box = _floor_patch(asked, rng)
    return make.colour_item(of, box, patch_colour(asked.pixels, box))


_MAKERS: dict[str, Callable[[TableAsked, int, Any, Shown, np.random.Generator], Item]] = {
    "localization": _localization,
    "counting": _counting,
    "spatial": _spatial,
    "absolute-depth": _absolute_depth,
    "relative-depth": _relative_depth,
    "object": _object,
    "colour": _colour,
}


def _choose(
    asked: TableAsked, task: str, able: Sequence[Any], fits: Callable[[Any], bool], rng: np.random.Generator
) -> Any:
    """One of what is able that fits and was not asked about in this task yet; what fits goes before what is new."""

    def key(one: Any) -> Any:
        return (task, one.number if isinstance(one, Seen) else tuple(thing.number for thing in one))

    new = [one for one in able if key(one) not in asked.used]
    for held in ([one for one in new if fits(one)], new):
        if held:
            chosen = held[int(rng.integers(len(held)))]
            asked.used.add(key(chosen))
            return chosen
    raise SnellenError(f"ava-bench: nothing in a picture can be asked about in {task}; give another --seed")


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
    side = max(LEAST_PATCH_PX, round(share * min(x2 - x1, y2 - y1)))
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
