"""What is true of a picture of toys, towers and plates (`display_scenes`), and how abilities ask about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image

from snellen.core.item import Item, Media
from snellen.core.media import MediaFolder
from snellen.stimuli.scenes import truth
from snellen.suites.ava_bench.items import ItemSource
from snellen.suites.ava_bench.scenes.display_scenes import (
    CUT_SHARE,
    TOWERS,
    Display,
    object_of,
)
from snellen.suites.ava_bench.scenes.scenes import SLOTS, Rect, round_all


@dataclass(frozen=True)
class DisplayTruth:
    """A display as seen: boxes of towers and plates in order, in pixels, and the crops of the towers."""

    display: Display
    towers: tuple[Rect, ...]
    plates: tuple[Rect, ...]
    crops: tuple[Media, ...]
    crop_boxes: tuple[Rect, ...]


def display_truth(display: Display, picture: Image.Image, media: MediaFolder, with_crops: bool) -> DisplayTruth:
    """The truth of a display and, if asked for, its towers cut out and kept in `media`."""
    scene, camera = display.shot.scene, display.shot.camera
    solids = tuple(solid for solid in scene.solids if object_of(solid.name) in TOWERS or solid.name.startswith("plate"))
    boxes_by_name: dict[str, list[Rect]] = {}
    for true_solid in truth(replace(scene, solids=solids), camera).solids:
        if true_solid.visible_box is not None:
            boxes_by_name.setdefault(object_of(true_solid.name), []).append(true_solid.visible_box)
    towers = tuple(round_all(boxes_by_name[name]) for name in TOWERS)
    plates = tuple(round_all(boxes_by_name[f"plate {n}"]) for n in range(SLOTS))
    boxes = tuple(_wider(box, CUT_SHARE * camera.width_px, picture.size) for box in towers)
    crops = (
        tuple(media.add_picture(picture.convert("RGB").crop(_whole_pixels(box))) for box in boxes) if with_crops else ()
    )
    return DisplayTruth(display, towers, plates, crops, boxes)


def _wider(box: Rect, margin_px: float, size: tuple[int, int]) -> Rect:
    margin = max(1.0, float(int(margin_px)))
    x1, y1, x2, y2 = box
    return max(0.0, x1 - margin), max(0.0, y1 - margin), min(size[0], x2 + margin), min(size[1], y2 + margin)


def _whole_pixels(box: Sequence[float]) -> tuple[int, int, int, int]:
    x1, y1, x2, y2 = (int(side) for side in box)
    return x1, y1, x2, y2


def crop_source(display: DisplayTruth, slot: int, source: ItemSource) -> ItemSource:
    """The source of an item about a tower that is cut out of the picture."""
    return replace(
        source,
        picture=display.crops[slot],
        stimulus=f"{source.stimulus}-cut-{slot:02d}",
        provenance={**source.provenance, "cut_px": list(display.crop_boxes[slot])},
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class DisplayQuestions:
    """How an ability asks about the toy, tower or plate in a slot; `on_crops`: about a tower that is cut out."""

    make_item: Callable[[DisplayTruth, int, ItemSource, np.random.Generator], Item]
    on_crops: bool = False
