"""Absolute depth: the distance of the closest point of a thing, in bins of one metre (appendix A.2).

An image may have questions about several things of one class: a box shows which is meant.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from snellen.core.item import Item
from snellen.suites.ava_bench.abilities.ability import Ability, Levels, ReleasedForm, is_generated
from snellen.suites.ava_bench.items import (
    ItemSource,
    SceneType,
    bin_middle,
    checked_box,
    depth_bin,
    range_name,
    range_names,
)
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1, UNNAMED
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.tabletop_scenes import FRAME_M
from snellen.suites.ava_bench.scenes.tabletop_truth import ItemSlot, TabletopTruth, VisibleSolid, asked_evenly
from snellen.suites.ava_bench.scoring import DEPTH_BIN_PROTOCOLS

NAME = "absolute-depth"


# Generated scenes

TABLE_BINS = tuple(f"{low}-{low + 1}" for low in range(3, 10))
"""The bins of the distances at which tables have things."""
KNOWN_SIZE = f"The wooden frame on the floor is {FRAME_M:g} meter wide and {FRAME_M:g} meter deep. "
"""Without something of known size, no distance can be estimated from one image."""
BIN_EDGE_M = 0.02
"""The least distance between a depth asked about and the ends of its bin."""


def _tabletop_candidates(table: TabletopTruth) -> list[tuple[VisibleSolid, Mapping[str, Hashable]]]:
    """Single things whose depth is at least `BIN_EDGE_M` from the ends of its bin.

    The last two bins share a range, so that each is asked less often: tables have few things beyond 9 m.
    """
    ranges = {name: name for name in TABLE_BINS} | {TABLE_BINS[-1]: TABLE_BINS[-2]}
    return [
        (solid, {"range": ranges[name], "bin": name, "kind": solid.kind, "bin of kind": (solid.kind, name)})
        for solid in table.placed_in_depth
        if (name := depth_bin(solid.nearest_m)) in ranges and BIN_EDGE_M <= solid.nearest_m % 1 <= 1 - BIN_EDGE_M
    ]


def _tabletop_item(turn: ItemSlot, solid: VisibleSolid, rng: np.random.Generator) -> Item:
    return absolute_depth_item(
        turn.source,
        solid.kind,
        solid.box,
        depth_m=solid.nearest_m,
        bins=TABLE_BINS,
        scene_type="indoor",
        known_size=KNOWN_SIZE,
    )


SIZES = {
    "range": len(TABLE_BINS) - 1,
    "bin": len(TABLE_BINS),
    "kind": len(KINDS),
    "bin of kind": len(TABLE_BINS) * len(KINDS),
}


# Items

DEPTH_RANGES = ((5, "0-5 m"), (10, "5-10 m"), (20, "10-20 m"), (float("inf"), "20 m and more"))
"""Upper ends, included, as in the released scorer; a depth counts as the middle of its bin."""


def absolute_depth_item(
    item_source: ItemSource,
    category: str,
    box: Sequence[float],
    *,
    depth_m: float,
    bins: Sequence[str],
    scene_type: SceneType,
    known_size: str = "",
) -> Item:
    """An item about the distance of a thing's closest point: one of `bins`, in order, as `items.depth_bin` writes them.

    `known_size` is a sentence before the question that gives the size of something in the image.
    """
    answer = depth_bin(depth_m)
    return ABSOLUTE_DEPTH.item(
        item_source,
        known_size + ABSOLUTE_DEPTH.question.format(red=UNNAMED if item_source.known else category),
        answer,
        bins,
        regions={"red": list(checked_box(item_source, box))},
        factors={
            "thing": category,
            "scene_type": scene_type,
            "depth_range": range_name(bin_middle(answer), DEPTH_RANGES),
        },
        measures={"depth_m": depth_m},
    )


CLOSENESS_BY_LOWER_EDGE = (0.0613, 0.2746, 0.0710)
"""Parabola from the lower edge of a box, as a share of the image's height, to one over the distance in metres: fitted
to 900 generated items of version 1, where it has 89 % of the bins right; with the cameras of version 2 17 %."""


def _by_boxes_only(item: Item) -> str | None:
    """The bin of the distance at which a thing on the floor has its lower edge there; None if no box is known."""
    if "red" not in item.regions or not item.options:
        return None
    lower_edge = float(item.regions["red"][3]) / item.query[0].height
    distance_m = 1 / float(np.polyval(CLOSENESS_BY_LOWER_EDGE, lower_edge))
    return min((option.text for option in item.options), key=lambda name: abs(bin_middle(name) - distance_m))


def _released_levels(question: str, answer: Any, options: Sequence[str]) -> Levels:
    middles = {option: bin_middle(option) for option in options}
    return Levels({"depth_range": range_name(middles[answer], DEPTH_RANGES)})


ABSOLUTE_DEPTH = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["absolute-depth"],
    options_wording=OPTION_LISTS["absolute-depth"],
    option_labels="letters",
    requires=("depth",),
    protocols=DEPTH_BIN_PROTOCOLS,
    subgroups={"scene_type": (), "depth_range": range_names(DEPTH_RANGES)},
    balanced_by=("thing", "answer"),
    boxes=("red",),
    is_named=is_generated,
    padded=True,
    boxes_only=_by_boxes_only,
    cheap_sight="a distance needs the size and the place of an object in the scene",
    meaning="the distance of an object from the camera",
    tabletop=asked_evenly(NAME, _tabletop_candidates, SIZES, _tabletop_item),
    released=ReleasedForm(folder="Absolute_depth", levels=_released_levels),
)
