"""Items from images and their truth, for every ability and recipe (`design/ava-bench.md`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from snellen.core.errors import SnellenError
from snellen.core.item import Box, Media, Split

SUITE = "ava-bench"
VERSION = "7"
"""Version of the suite; it changes when old and new scores are no longer comparable."""
STREAMS = "1"
"""The version in the names of random streams: unchanged, so that curated and own sets stay the same."""

ORIENTATIONS = (
    "front", "front right", "right", "back right", "back", "back left", "left", "front left", "top",
)  # fmt: skip
EMOTIONS = ("happy", "sad", "angry", "fear", "surprise", "neutral", "disgust")
MAX_COUNT = 40
AREA_SHARES = (0.002, 0.5)
"""Localization and object: bounds of a box's area as a share of the image (appendix A.2), both excluded."""
MIN_DEPTH_GAP_M = 0.5
SceneType: TypeAlias = Literal["indoor", "outdoor", "own"]
BOX_SIZES = ((0.1, "0-0.1"), (0.2, "0.1-0.2"), (0.3, "0.2-0.3"), (0.5, "0.3-0.5"))
"""Shares of the image's area. The text of Figure 8(b) names only 0.3-0.5; the steps below it are ours."""


DIFFICULTIES = EASY, MIDDLE, HARD = "easy to see", "middle", "hard to see"
"""Levels of the factor `difficulty` of generated items, from what any eye sees to what is hard to see at 640 pixels."""


@dataclass(frozen=True)
class ItemSource:
    """An image for an item, and its origin.

    `handle` makes the ids and reveals nothing about the answer. `cluster` is the independently sampled unit: the scene,
    or the image. `stimulus` is shared by questions about one stored image, if there are several. `dataset` is the
    image's dataset, `domain` its domain in the paper's Table 2 (`Open`, `Bird`). `known` means that the image
    determines the answer with certainty, as in generated ones: only then do ideal observers get it.
    """

    handle: str
    image: Media
    cluster: str
    dataset: str
    domain: str = ""
    split: Split = "test"
    stimulus: str = ""
    known: bool = False
    factors: Mapping[str, str] = field(default_factory=dict)
    measures: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)


def checked_box(source: ItemSource, box: Sequence[float]) -> Box:
    """The box as floats. Raises SnellenError for a box outside its image or without area."""
    x1, y1, x2, y2 = (float(side) for side in box)
    if not (0 <= x1 < x2 <= source.image.width and 0 <= y1 < y2 <= source.image.height):
        raise SnellenError(
            f"ava-bench item {source.handle}: box {[x1, y1, x2, y2]} has no area or is outside its image of "
            f"{source.image.width} x {source.image.height}; boxes are [x1, y1, x2, y2] in pixels of the stored "
            "image"
        )
    return x1, y1, x2, y2


def range_name(value: float, ranges: Sequence[tuple[float, str]]) -> str:
    """The name of the first range whose upper end reaches the value, otherwise of the last range."""
    return next((name for upper, name in ranges if value <= upper), ranges[-1][1])


def range_names(ranges: Sequence[tuple[float, str]]) -> tuple[str, ...]:
    """The names of ranges in their order."""
    return tuple(name for _, name in ranges)


def box_area(box: Box) -> float:
    """The area of a box, in the square of the unit of its sides."""
    return (box[2] - box[0]) * (box[3] - box[1])


def hull(boxes: Sequence[Box]) -> Box:
    """The smallest box around all boxes."""
    x1, y1, x2, y2 = zip(*boxes, strict=True)
    return min(x1), min(y1), max(x2), max(y2)


def area_share(box: Box, image: Media) -> float:
    """The area of a box as a share of its stored, unpadded image: 0 to 1."""
    return box_area(box) / (image.width * image.height)


def depth_bin(depth_m: float) -> str:
    """The bin of one metre that holds a depth: `4-5` for 4 m up to, not including, 5 m (appendix A.2)."""
    if not 0 <= depth_m < 10_000:
        raise SnellenError(f"a depth of {depth_m} m has no bin; depths are metres from the camera, 0 or more")
    return f"{int(depth_m)}-{int(depth_m) + 1}"


def bin_middle(name: str) -> float:
    """The middle of a bin in metres: 4.5 for `4-5`. Raises SnellenError for anything that is not a bin."""
    low, _, high = name.partition("-")
    try:
        middle = (float(low) + float(high)) / 2
    except ValueError:
        middle = math.nan
    if not math.isfinite(middle):
        raise SnellenError(f"{name!r:.60} is not a bin of depths; write bins like 4-5")
    return middle
