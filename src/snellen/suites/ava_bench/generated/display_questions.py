"""What is asked about a picture of toys, towers and plates, and what is true of it (`displays`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from snellen.core.item import Item, Media
from snellen.core.media import MediaFolder
from snellen.curation.draws import draw_options
from snellen.stimuli.scenes import truth
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.generated.display_scenes import (
    CUT_SHARE,
    DIRECTIONS,
    SPECIES,
    TEXTURES,
    TOWERS,
    TOYS,
    Display,
    thing_of,
)
from snellen.suites.ava_bench.generated.scenes import Rect, round_all
from snellen.suites.ava_bench.items import Shown

SLOTS = 3
"""How many items of a task a display serves."""
ON_CUTS = ("fine-grained", "texture")
"""Tasks about a tower that is cut out of the picture."""


@dataclass(frozen=True)
class DisplayAsked:
    """A display as seen: boxes of towers and plates in order, in pixels, and the cuts of the towers."""

    display: Display
    towers: tuple[Rect, ...]
    plates: tuple[Rect, ...]
    cuts: tuple[Media, ...]
    cut_boxes: tuple[Rect, ...]


def look_at(display: Display, picture: Image.Image, media: MediaFolder, cut: bool) -> DisplayAsked:
    """The truth of a display and, if asked for, its towers cut out and kept in `media`."""
    scene, camera = display.shot.scene, display.shot.camera
    wanted = tuple(one for one in scene.solids if thing_of(one.name) in TOWERS or one.name.startswith("plate"))
    held: dict[str, list[Rect]] = {}
    for one in truth(replace(scene, solids=wanted), camera).solids:
        if one.visible_box is not None:
            held.setdefault(thing_of(one.name), []).append(one.visible_box)
    towers = tuple(round_all(held[name]) for name in TOWERS)
    plates = tuple(round_all(held[f"plate {n}"]) for n in range(SLOTS))
    boxes = tuple(_wider(box, CUT_SHARE * camera.width_px, picture.size) for box in towers)
    cuts = tuple(media.add_picture(picture.convert("RGB").crop(_whole(box))) for box in boxes) if cut else ()
    return DisplayAsked(display, towers, plates, cuts, boxes)


def _wider(box: Rect, by: float, size: tuple[int, int]) -> Rect:
    margin = max(1.0, float(int(by)))
    x1, y1, x2, y2 = box
    return max(0.0, x1 - margin), max(0.0, y1 - margin), min(size[0], x2 + margin), min(size[1], y2 + margin)


def _whole(box: Sequence[float]) -> tuple[int, int, int, int]:
    x1, y1, x2, y2 = (int(side) for side in box)
    return x1, y1, x2, y2


def display_item(task: str, asked: DisplayAsked, slot: int, of: Shown, rng: np.random.Generator) -> Item:
    """The item of a task about the toy, tower or plate in a slot."""
    told = asked.display.wanted
    if task == "orientation":
        return make.orientation_item(of, TOYS[slot], told.directions[slot], DIRECTIONS)
    if task == "ocr":
        return make.ocr_item(replace(of, factors={"face": told.faces[slot]}), asked.plates[slot], told.words[slot])
    of = replace(of, picture=asked.cuts[slot], provenance={**of.provenance, "cut_px": list(asked.cut_boxes[slot])})
    if task == "texture":
        return make.texture_item(
            of, told.textures[slot], draw_options(told.textures[slot], TEXTURES, len(TEXTURES), rng)
        )
    name = told.species[slot]
    return make.fine_grained_item(of, tuple(TOWERS)[slot], name, draw_options(name, SPECIES, len(SPECIES), rng))
