"""Shared parts of the depth tasks: things and their distances, crops of wide images, the truth of a pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from snellen.core.item import Box, Item
from snellen.curated_sets.ava_bench.selection.candidates import Candidate, CurationContext, ItemMaker
from snellen.curated_sets.ava_bench.selection.choices import bare_name
from snellen.datasets.own_images import OWN
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.items import ItemSource, SceneType, hull

ROOMS, ROADS = "NYU-Depth-V2", "KITTI"
SOURCES = (ROOMS, ROADS)
SCENE_TYPES: Mapping[str, SceneType] = {ROOMS: "indoor", ROADS: "outdoor", OWN: "own"}
ROAD_CLASSES: Mapping[str, str] = {
    "Car": "Car",
    "Van": "Van",
    "Pedestrian": "Pedestrian",
    "Person_sitting": "Pedestrian",
    "Cyclist": "Cyclist",
}
"""Label of KITTI -> class, as appendix A.2 merges them for relative depth; absolute depth has the same ones."""
FARTHEST_M = 10_000.0
"""Bins have names only up to this distance (`items.depth_bin`)."""
PairWriter: TypeAlias = Callable[
    [ItemSource, tuple[str, str], tuple[Sequence[float], Sequence[float]], tuple[float, float], SceneType], Item
]
"""Makes a question from the image shown, two names, their boxes and depths, and the type of scene."""

EXCLUDED = "class excluded by hand"
NOT_CHOSEN = "thing of a class that was not chosen"
NO_BOX = "thing without a box in an image of known size"
NO_DEPTH = "thing of unknown distance"
EDGE = "box that touches an edge of the image"
NO_CROP = "too wide for a crop of one to two heights"


def excluded(scene: Sample, context: CurationContext) -> Mapping[str, str]:
    """Labels that are excluded by hand, with reasons; only NYU-Depth V2 has any."""
    return context.choices.nyu_excluded if scene.source == ROOMS else {}


def recording(scene: Sample) -> str:
    """The recording of a sample: a scene of NYU-Depth V2, a drive of KITTI; "" if unknown."""
    recording_id = scene.attributes.get({ROOMS: "scene", ROADS: "drive"}.get(scene.source, ""), "")
    return recording_id if isinstance(recording_id, str) else ""


def name_of(source: str, label: str, context: CurationContext) -> str:
    """The name of a class in questions: the reviewed name if there is one, otherwise its label in words."""
    chosen = context.choices.categories(source).get(label)
    return chosen.name if chosen else bare_name(label).lower()


class MeasuredObject(NamedTuple):
    """A thing of a class that is asked about, its box, the metres to its closest point, and its image's size."""

    kind: str
    box: Box
    nearest_m: float
    size: tuple[int, int]


def measure(annotation: Annotation, scene: Sample, context: CurationContext) -> MeasuredObject | str:
    """The thing, or the rule that leaves it out of both tasks.

    Indoors its class may be excluded by hand; outdoors it is one of four classes, and its box touches no edge.
    """
    kind = ROAD_CLASSES.get(annotation.label) if scene.source == ROADS else annotation.label
    distance_m = nearest_m(annotation)
    if annotation.label in excluded(scene, context):
        return EXCLUDED
    if kind is None:
        return NOT_CHOSEN
    if annotation.box is None or scene.size is None:
        return NO_BOX
    if distance_m is None:
        return NO_DEPTH
    if scene.source == ROADS and touches_edge(annotation.box, scene.size, context.rules.edge_px):
        return EDGE
    return MeasuredObject(kind, annotation.box, distance_m, scene.size)


def nearest_m(annotation: Annotation) -> float | None:
    """Metres to the closest point of a thing; None if unknown, or not in front of the camera."""
    distance_m = annotation.extra.get("nearest_m")
    if not isinstance(distance_m, (int, float)) or not 0 < distance_m < FARTHEST_M:  # NaN fails too
        return None
    return float(distance_m)


def touches_edge(box: Box, size: tuple[int, int], edge_px: float) -> bool:
    """True if a box is within `edge_px` of an edge of the image.

    KITTI counts pixels from 0 and cuts boxes at the last one: a box that the right edge cuts ends at width - 1.
    """
    x1, y1, x2, y2 = box
    return min(x1, y1, size[0] - x2, size[1] - y2) <= edge_px


def crop_around(box: Box, size: tuple[int, int], widths: tuple[float, float]) -> Box | None:
    """The part of an image of that size, in whole pixels, that is kept around a box; None if no crop can hold it.

    It has the image's full height, and is as wide as `widths` (minimum and maximum, in heights) and the image allow.
    Its middle is as near to that of the box as the image's sides allow.
    """
    width, height = size
    wide = min(width, math.floor(widths[1] * height))
    if wide < widths[0] * height:
        return None
    # In whole numbers, so that rounding never puts a side of the box outside.
    leftmost, rightmost = max(0, math.ceil(box[2]) - wide), min(width - wide, math.floor(box[0]))
    if leftmost > rightmost:
        return None
    left = min(max(round((box[0] + box[2] - wide) / 2), leftmost), rightmost)
    return float(left), 0.0, float(left + wide), float(height)


def crop_round_both(near: MeasuredObject, far: MeasuredObject, context: CurationContext) -> Box | None:
    """The part of their image that is kept around two things, see `crop_around`."""
    return crop_around(hull((near.box, far.box)), near.size, context.rules.crop_widths)


def pair_truth(
    objects: tuple[MeasuredObject, MeasuredObject], source: str, crop: Box | None, context: CurationContext
) -> dict[str, Any]:
    """The names, boxes (in the crop if there is one) and depths in metres of two things, in the order of `objects`."""
    return {
        "names": tuple(name_of(source, measured_object.kind, context) for measured_object in objects),
        "boxes": tuple(
            within(measured_object.box, crop) if crop else measured_object.box for measured_object in objects
        ),
        "depths_m": tuple(measured_object.nearest_m for measured_object in objects),
    }


def pair_item_maker(write: PairWriter) -> ItemMaker:
    """A maker of items about two things, from names, boxes and depths as in `pair_truth`."""

    def make_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
        truth = candidate.truth
        scene_type = SCENE_TYPES[candidate.origin.source]
        return write(item_source, truth["names"], truth["boxes"], truth["depths_m"], scene_type)

    return make_item


def within(box: Box, crop: Box) -> Box:
    """A box of the image in pixels of the crop."""
    left, top = crop[:2]
    return box[0] - left, box[1] - top, box[2] - left, box[3] - top


def meet(box: Box, other_box: Box) -> bool:
    """True if two boxes overlap."""
    return box[0] < other_box[2] and other_box[0] < box[2] and box[1] < other_box[3] and other_box[1] < box[3]
