"""Relative depth: the closer of two things (section 3.2.5, appendix A.2)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm, is_generated
from snellen.suites.ava_bench.items import MIN_DEPTH_GAP_M, ItemSource, SceneType, box_area, checked_box
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1, UNNAMED
from snellen.suites.ava_bench.released_scorers import read_equal
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.tabletop_truth import (
    ItemSlot,
    TabletopQuestions,
    TabletopTruth,
    VisibleSolid,
    evenly_chosen,
)
from snellen.suites.ava_bench.scoring import choice_protocols

NAME = "relative-depth"


# Generated scenes

SolidPair = tuple[VisibleSolid, VisibleSolid]


def _tabletop_candidates(table: TabletopTruth) -> list[tuple[SolidPair, Mapping[str, Hashable]]]:
    """Pairs of things, each the only one of its kind, half a metre or more apart."""
    candidates = list[tuple[SolidPair, Mapping[str, Hashable]]]()
    for red, blue in permutations(table.placed_in_depth, 2):
        near, far = sorted((red, blue), key=lambda solid: solid.nearest_m)
        if far.nearest_m - near.nearest_m >= MIN_DEPTH_GAP_M:
            cues = near.box[3] > far.box[3], box_area(near.box) > box_area(far.box)
            levels = {"answer": NEARER[near is blue], "nearer": near.kind, "farther": far.kind, "red": red.kind}
            candidates.append(((red, blue), {**levels, "lower": cues[0], "larger": cues[1], "cues": cues}))
    return candidates


def tabletop_capacity(table: TabletopTruth) -> int:
    """The number of items that a table can serve."""
    return len(_tabletop_candidates(table)) // 2


def _tabletop_items(turns: Sequence[ItemSlot], rng: np.random.Generator) -> Iterator[Item]:
    # In half of the pairs the nearer thing ends higher in the image, and in half it is smaller: these cues weigh most.
    cues = dict.fromkeys(("lower", "larger", "cues"), 3 * len(KINDS))
    sizes = {"answer": len(KINDS), "nearer": len(KINDS), "farther": len(KINDS), "red": len(KINDS), **cues}
    pairs = evenly_chosen(NAME, turns, _tabletop_candidates, sizes, rng)
    for turn, (red, blue) in zip(turns, pairs, strict=True):
        yield relative_depth_item(
            turn.source, (red.kind, blue.kind), (red.box, blue.box), (red.nearest_m, blue.nearest_m), "indoor"
        )


# Items

NEARER = ("red", "blue")


def relative_depth_item(
    item_source: ItemSource,
    categories: tuple[str, str],
    boxes: tuple[Sequence[float], Sequence[float]],
    depths_m: tuple[float, float],
    scene_type: SceneType,
) -> Item:
    """An item about the closer of two things. All pairs are red first, blue second; depths differ by 0.5 m or more."""
    gap = depth_gap(item_source, depths_m)
    red, blue = (UNNAMED, UNNAMED) if item_source.known else categories
    return RELATIVE_DEPTH.item(
        item_source,
        RELATIVE_DEPTH.question.format(red=red, blue=blue),
        NEARER[gap < 0],
        NEARER,
        regions={name: list(checked_box(item_source, box)) for name, box in zip(NEARER, boxes, strict=True)},
        factors={"scene_type": scene_type, "thing": categories[0], "reference": categories[1]},
        measures={"depth_gap_m": abs(gap)},
    )


def depth_gap(item_source: ItemSource, depths_m: tuple[float, float]) -> float:
    """The metres by which the second is farther than the first. Raises SnellenError for less than half a metre."""
    gap = depths_m[1] - depths_m[0]
    if abs(gap) < MIN_DEPTH_GAP_M:
        raise SnellenError(
            f"ava-bench item {item_source.handle}: depths of {depths_m[0]:g} m and {depths_m[1]:g} m are too "
            f"similar; leave out pairs that differ by less than {MIN_DEPTH_GAP_M} m"
        )
    return gap


def _by_boxes_only(item: Item) -> str | None:
    """The box that ends lower in the image, as things on one floor do if they are nearer; None if none is known."""
    if not set(NEARER) <= item.regions.keys():
        return None
    return max(NEARER, key=lambda name: float(item.regions[name][3]))


RELATIVE_DEPTH = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["relative-depth"],
    options_wording=OPTION_LISTS["relative-depth"],
    requires=("depth",),
    protocols=choice_protocols(read_equal),
    subgroups={"scene_type": ()},
    balanced_by=("answer", "nearer", "farther"),
    boxes=("red", "blue"),
    is_named=is_generated,
    padded=True,
    boxes_only=_by_boxes_only,
    cheap_sight="an order in depth needs the places of two objects in the scene",
    meaning="which of two objects is closer to the camera",
    tabletop=TabletopQuestions(make_items=_tabletop_items, capacity=tabletop_capacity),
    released=ReleasedForm(folder="Relative_depth"),
)
