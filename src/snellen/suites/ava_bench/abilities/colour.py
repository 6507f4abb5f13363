"""Colour: the colour of a region, as an RGB value (appendix A.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.storage.item_rows import FROM_PIXELS
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm
from snellen.suites.ava_bench.items import ItemSource, checked_box
from snellen.suites.ava_bench.prompts import TABLE_1
from snellen.suites.ava_bench.scenes.scenes import Rect, apart, seen_box
from snellen.suites.ava_bench.scenes.tabletop_truth import TabletopTruth, asked_by_slot
from snellen.suites.ava_bench.scoring import COLOUR_PROTOCOLS
from snellen.suites.ava_bench.transforms import line_px

NAME = "colour"


# Generated scenes

PATCH_SHARE, MIN_PATCH_PX, PATCHES = 0.38, 4, 80
"""Side of a colour patch as a share of the thing's, in pixels at least, and the places tried for low variance."""
MAX_PATCH_DEVIATION = 12.0
"""A patch whose colours have a greater standard deviation, in levels of 255, has no single colour."""
FLOOR_PATCH_SHARE = 0.06
MIN_UNCOVERED = 1 / 3
"""The least share of a thing asked about that must be visible outside of the frame and its lines."""
MIN_COLOURED_SIDE = 0.04
"""The shortest side of a thing asked about, as a share of the image's width."""


def _ask_tabletop(table: TabletopTruth, slot: int, item_source: ItemSource, rng: np.random.Generator) -> Item:
    colour = table.table.content.colours[slot]
    solids = [
        solid
        for solid in table.larger_than(MIN_COLOURED_SIDE)
        if solid.material.kind == "rubber"
        and solid.material.colour == colour
        and (NAME, solid.number) not in table.used
    ]
    box, pixels = None, table.read_pixels()
    while solids and box is None:
        solid = solids.pop(int(rng.integers(len(solids))))
        table.used.add((NAME, solid.number))
        mask = table.mask(solid)
        box = _patch(pixels, mask, solid.box, PATCH_SHARE, rng)
        if box is not None and uncovered(mask, box) < MIN_UNCOVERED:
            box = None
    box = _floor_patch(table, pixels, rng) if box is None else box
    measured = {FROM_PIXELS: ["answer", "regions", "measures", "latent"]}
    item_source = replace(item_source, provenance={**item_source.provenance, **measured})
    return colour_item(item_source, box, patch_colour(pixels, box))


def uncovered(mask: NDArray[np.bool_], box: Rect) -> float:
    """The share of a thing's pixels (h, w) that are outside of a frame around the box and its lines, 0 to 1."""
    line = line_px(mask.shape[1], mask.shape[0])
    x1, y1, x2, y2 = (int(side) for side in box)
    covered = mask[max(0, y1 - line) : y2 + line, max(0, x1 - line) : x2 + line].sum()
    return 1 - float(covered / mask.sum())


def patch_colour(pixels: NDArray[np.uint8], box: Rect) -> list[int]:
    """The median of each channel in a box of whole pixels, sRGB 0..255.

    The paper takes the most frequent value; under soft light hardly two pixels are equal, and no value is frequent.
    """
    x1, y1, x2, y2 = (int(side) for side in box)
    return [int(level) for level in np.median(pixels[y1:y2, x1:x2].reshape(-1, 3), axis=0).round()]


def _patch(
    pixels: NDArray[np.uint8], mask: NDArray[np.bool_], box: Rect, share: float, rng: np.random.Generator
) -> Rect | None:
    """The square patch with the least variance of some within the mask, None if there is none of one colour."""
    x1, y1, x2, y2 = (int(side) for side in box)
    side = max(MIN_PATCH_PX, round(share * min(x2 - x1, y2 - y1)))
    best: tuple[float, Rect] | None = None
    for x, y in _offsets(x2 - x1 - side, y2 - y1 - side, rng):
        left, top = x1 + x, y1 + y
        if not mask[top : top + side, left : left + side].all():
            continue
        spread = float(pixels[top : top + side, left : left + side].reshape(-1, 3).std(axis=0).max())
        if spread < (MAX_PATCH_DEVIATION if best is None else best[0]):
            best = spread, (float(left), float(top), float(left + side), float(top + side))
    return None if best is None else best[1]


def _offsets(across: int, along: int, rng: np.random.Generator) -> Iterator[tuple[int, int]]:
    if across >= 0 and along >= 0:
        for _ in range(PATCHES):
            yield int(rng.integers(across + 1)), int(rng.integers(along + 1))


def _floor_patch(table: TabletopTruth, pixels: NDArray[np.uint8], rng: np.random.Generator) -> Rect:
    """A patch of the floor clear of everything."""
    shot = table.table.shot
    free = np.ones(pixels.shape[:2], bool)
    for solid in shot.scene.solids:
        x1, y1, x2, y2 = (int(side) for side in seen_box(solid, shot.camera))
        free[max(0, y1 - 2) : y2 + 3, max(0, x1 - 2) : x2 + 3] = False
    side = FLOOR_PATCH_SHARE * shot.camera.width_px
    image = (0.0, 0.0, float(shot.camera.width_px), float(shot.camera.height_px))
    for _ in range(PATCHES):
        share = side / min(image[2:])
        if (patch := _patch(pixels, free, image, share, rng)) is not None:
            key = (NAME, patch)
            if key not in table.used and all(
                apart(patch, old[1]) for old in table.used if old[0] == NAME and isinstance(old[1], tuple)
            ):
                table.used.add(key)
                return patch
        side *= 0.97
    raise SnellenError("ava-bench: a table has no free patch of floor; give another --seed")


# Items


def colour_item(item_source: ItemSource, box: Sequence[float], rgb: Sequence[int]) -> Item:
    """An item about the colour in the red box: the region's most frequent sRGB value, three whole numbers 0..255."""
    if len(rgb) != 3 or not all(0 <= level <= 255 for level in rgb):
        raise SnellenError(
            f"ava-bench item {item_source.handle}: {list(rgb)} is not an sRGB colour; give three numbers 0..255"
        )
    answer = tuple(int(level) for level in rgb)
    return COLOUR.item(
        item_source,
        COLOUR.question,
        answer,
        wrong_answers=([(level + 128) % 256 for level in answer],),
        regions={"red": list(checked_box(item_source, box))},
    )


COLOUR = Ability(
    name=NAME,
    kind="colour",
    question=TABLE_1["colour"],
    requires=("colour",),
    protocols=COLOUR_PROTOCOLS,
    subgroups={"source": ()},
    balanced_by=("hue",),
    boxes=("red",),
    asks_inside_box=True,
    meaning="the colour of a region",
    tabletop=asked_by_slot(_ask_tabletop),
    released=ReleasedForm(folder="Color"),
)
