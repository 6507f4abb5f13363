"""Items from images and their truth, for every ability and recipe (`design/ava-bench.md`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.item import AnswerKind, Box, Item, Media, Option, Split
from snellen.core.least_px import LEAST_PX

SUITE = "ava-bench"
VERSION = "2"
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


def make_item(
    source: ItemSource,
    *,
    task: str,
    kind: AnswerKind,
    requires: Sequence[str],
    question: str,
    answer: Any,
    options: Sequence[str] = (),
    wrong_answers: Sequence[Any] = (),
    regions: Mapping[str, Any] = MappingProxyType({}),
    factors: Mapping[str, str] = MappingProxyType({}),
    measures: Mapping[str, float] = MappingProxyType({}),
) -> Item:
    """An item of any task; solving it requires seeing the dimensions of `requires`.

    `wrong_answers` has one wrong answer per dimension, if there are no options. Raises SnellenError for options without
    the answer, or with duplicates.
    """
    if options and (answer not in options or len(set(options)) != len(options)):
        raise SnellenError(
            f"ava-bench item {source.handle} ({task}): {answer!r} must be among its options, without duplicates: "
            f"{', '.join(options)}"
        )
    handle = f"{task}-{source.handle}"
    wrong = (
        [[option for option in options if option != answer]]
        if options
        else [[wrong_answer] for wrong_answer in wrong_answers]
    )
    return Item(
        item_id=handle,
        suite=SUITE,
        task=task,
        question=question,
        query=(source.image,),
        answer=answer,
        answer_kind=kind,
        stimulus_id=source.stimulus or handle,
        group_id=handle,
        cluster_id=source.cluster,
        version=VERSION,
        split=source.split,
        options=tuple(Option(name, name) for name in options),
        factors={
            "source": source.dataset,
            **({"domain": source.domain} if source.domain else {}),
            **factors,
            **source.factors,
        },
        measures={**measures, **source.measures},
        requires=tuple(requires) if source.known else (),
        regions=dict(regions),
        latent=_latent(answer, dict(zip(requires, wrong, strict=True))) if source.known else {},
        provenance=source.provenance,
    )


def _latent(answer: Any, wrong_answers: Mapping[str, Sequence[Any]]) -> Mapping[str, Any]:
    """The information for ideal observers: the actual world, then worlds that differ from it in one dimension.

    `wrong_answers` are the answers in the latter, by dimension.
    """
    actual = dict.fromkeys(wrong_answers, "0")
    differing = [
        {"look": {**actual, dimension: str(n)}, "answer": wrong}
        for dimension, answers in wrong_answers.items()
        for n, wrong in enumerate(answers, 1)
    ]
    as_json = list(answer) if isinstance(answer, tuple) else answer  # as read back from JSON
    return {"worlds": [{"look": actual, "answer": as_json}, *differing]}


def least_px(source: ItemSource, regions: Mapping[str, Any]) -> Mapping[str, float]:
    """The shortest side of a generated item's boxes, in pixels of the stored image, as a measure.

    It is empty without boxes. An ability that asks about less than its boxes hold measures it itself.
    """
    boxes = [box for box in regions.values() if len(box) == 4]
    return {LEAST_PX: min(min(x2 - x1, y2 - y1) for x1, y1, x2, y2 in boxes)} if source.known and boxes else {}


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
