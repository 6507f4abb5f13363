"""The truth of images of toys and plates and of close-ups of towers, and the questions about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from snellen.core.item import Item, Media
from snellen.core.least_px import LEAST_PX
from snellen.stimuli.scenes import Camera, Solid, truth
from snellen.suites.ava_bench.items import ItemSource, hull
from snellen.suites.ava_bench.scenes import pseudo_words
from snellen.suites.ava_bench.scenes.close_ups import metres_across
from snellen.suites.ava_bench.scenes.display_scenes import Display, object_of
from snellen.suites.ava_bench.scenes.scenes import SLOTS, Rect, seen_box, shorter_side


@dataclass(frozen=True)
class DisplayTruth:
    """The truth of a display: boxes of plates in order, in pixels, and the stored close-ups of its towers by slot."""

    display: Display
    plates: tuple[Rect, ...]
    close_ups: Mapping[int, Media]

    def toy_px(self, toy: str) -> float:
        """The shorter side of a toy in the image, in pixels."""
        shot = self.display.shot
        return shorter_side(_box_of([s for s in shot.scene.solids if object_of(s.name) == toy], shot.camera))

    def letters_px(self, slot: int) -> float:
        """The height of a word's first letter in the image, in pixels."""
        shot, content = self.display.shot, self.display.content
        count = len(pseudo_words.bars(content.words[slot][0], content.faces[slot]))
        bars = {f"letter {slot}/{n}" for n in range(count)}
        box = _box_of([solid for solid in shot.scene.solids if solid.name in bars], shot.camera)
        return box[3] - box[1]

    def stripe_px(self, slot: int) -> float:
        """The width of the stripes of a texture, or of others with as much edge, in the middle of its close-up."""
        shot = self.display.close_ups[slot]
        return shot.scene.floor.stripe_m / metres_across(shot.camera) * shot.camera.width_px

    def tower_px(self, slot: int, number: int | None = None) -> float:
        """The shorter side of a tower, or of one of its two solids, in its close-up, in pixels."""
        shot = self.display.close_ups[slot]
        solids = shot.scene.solids if number is None else shot.scene.solids[number : number + 1]
        return shorter_side(_box_of(solids, shot.camera))


def _box_of(solids: Sequence[Solid], camera: Camera) -> Rect:
    return hull([seen_box(solid, camera) for solid in solids])


def display_truth(display: Display, close_ups: Mapping[int, Media]) -> DisplayTruth:
    """The truth of a display; `close_ups` are the stored close-ups by slot, as far as they are asked about."""
    scene, camera = display.shot.scene, display.shot.camera
    solids = tuple(solid for solid in scene.solids if solid.name.startswith("plate"))
    boxes = {
        solid.name: solid.visible_box
        for solid in truth(replace(scene, solids=solids), camera).solids
        if solid.visible_box is not None
    }
    return DisplayTruth(display, tuple(boxes[f"plate {n}"] for n in range(SLOTS)), close_ups)


def close_up_source(display: DisplayTruth, slot: int, source: ItemSource, least_px: float) -> ItemSource:
    """The source of an item about a close-up, which is a separate scene."""
    return replace(
        source,
        image=display.close_ups[slot],
        cluster=f"{source.cluster}-close-up-{slot}",
        stimulus=f"{source.stimulus}-close-up-{slot}",
        measures={LEAST_PX: least_px},
        provenance={**source.provenance, "close_up": slot},
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class DisplayQuestions:
    """An ability's questions about the toy or plate in a slot, or (`on_close_ups`) about the slot's tower."""

    make_item: Callable[[DisplayTruth, int, ItemSource, np.random.Generator], Item]
    on_close_ups: bool = False
