"""Nearer localization: the box of the nearer of two things, each the only one of its kind in the image shown.

A composite task of ours, of localization and relative depth. The question names the nearer one first or second
by turns.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.score import Metric
from snellen.suites.ava_bench.abilities.ability import Ability, FirstPartAlone
from snellen.suites.ava_bench.abilities.localization import LOCALIZATION
from snellen.suites.ava_bench.abilities.relative_depth import RELATIVE_DEPTH, depth_gap
from snellen.suites.ava_bench.items import (
    BOX_SIZES,
    MIN_DEPTH_GAP_M,
    ItemSource,
    SceneType,
    area_share,
    checked_box,
    range_name,
    range_names,
)
from snellen.suites.ava_bench.prompts import COMPOSITE_QUESTIONS
from snellen.suites.ava_bench.scenes.scenes import dealt, share_of
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.tabletop_truth import (
    ItemSlot,
    TabletopQuestions,
    TabletopTruth,
    VisibleSolid,
    evenly_chosen,
)
from snellen.suites.ava_bench.scoring import LOCATED, without_script

NAME = "nearer-localization"


# Generated scenes

SolidPair = tuple[VisibleSolid, VisibleSolid]
"""Two things, the nearer one first."""


def tabletop_pairs(table: TabletopTruth) -> list[tuple[SolidPair, Mapping[str, Hashable]]]:
    """Pairs of things, each the only one of its kind, that are half a metre or more apart in depth."""
    candidates = list[tuple[SolidPair, Mapping[str, Hashable]]]()
    for near, far in combinations(sorted(table.singles, key=lambda solid: solid.nearest_m), 2):
        if far.nearest_m - near.nearest_m < MIN_DEPTH_GAP_M:
            continue
        near_share, far_share = (share_of(solid.box, table.table.shot.camera) for solid in (near, far))
        levels = {
            "size": range_name(near_share, BOX_SIZES),
            "larger": near_share > far_share,
            "nearer": near.kind,
            "farther": far.kind,
        }
        candidates.append(((near, far), levels))
    return candidates


def _tabletop_items(turns: Sequence[ItemSlot], rng: np.random.Generator) -> Iterator[Item]:
    # Most nearer things also look larger: pairs for which this is not true weigh as much as kinds.
    sizes = {"size": len(BOX_SIZES), "larger": len(KINDS), "nearer": len(KINDS), "farther": len(KINDS)}
    pairs = evenly_chosen(NAME, turns, tabletop_pairs, sizes, rng)
    near_first = dealt((True, False), len(turns), rng)
    for turn, (near, far), first_is_near in zip(turns, pairs, near_first, strict=True):
        first, second = (near, far) if first_is_near else (far, near)
        yield nearer_localization_item(
            turn.source,
            (first.kind, second.kind),
            (first.box, second.box),
            (first.nearest_m, second.nearest_m),
            "indoor",
        )


def tabletop_capacity(table: TabletopTruth) -> int:
    """The number of items that a table can serve."""
    return len(tabletop_pairs(table))


# Items


def nearer_localization_item(
    item_source: ItemSource,
    categories: tuple[str, str],
    boxes: tuple[Sequence[float], Sequence[float]],
    depths_m: tuple[float, float],
    scene_type: SceneType,
) -> Item:
    """An item about the nearer of two things, each the only one of its kind; no box is drawn.

    `categories`, `boxes` and `depths_m` are in the order in which the question names the two; it should be random.
    """
    if categories[0].casefold() == categories[1].casefold():
        raise SnellenError(
            f"ava-bench item {item_source.handle}: both things are called {categories[0]!r}, so the question is "
            f"ambiguous; leave the pair out"
        )
    gap = depth_gap(item_source, depths_m)
    order = (0, 1) if gap > 0 else (1, 0)
    nearer, farther = (checked_box(item_source, boxes[n]) for n in order)
    near_category, far_category = (categories[n] for n in order)
    share = area_share(nearer, item_source.image)
    return NEARER_LOCALIZATION.item(
        item_source,
        NEARER_LOCALIZATION.question.format(first=categories[0], second=categories[1]),
        nearer,
        wrong_answers=([0.0, 0.0, float(item_source.image.width), float(item_source.image.height)], list(farther)),
        regions={"box": list(nearer), "farther": list(farther)},
        factors={
            "scene_type": scene_type,
            "thing": near_category,
            "reference": far_category,
            "box_size": range_name(share, BOX_SIZES),
            "named": ("first", "second")[order[0]],
        },
        measures={"area_share": share, "depth_gap_m": abs(gap)},
    )


def _boxes_either(item: Item, metric: Metric) -> float:
    return (metric.score(item, item.answer) + metric.score(item, item.regions["farther"])) / 2


NEARER_LOCALIZATION = Ability(
    name=NAME,
    kind="box",
    question=COMPOSITE_QUESTIONS["nearer-localization"],
    requires=(*LOCALIZATION.requires, *RELATIVE_DEPTH.requires),
    protocols=without_script(LOCATED),
    subgroups={"source": (), "box_size": range_names(BOX_SIZES)},
    balanced_by=("thing", "box_size", "named"),
    padded=True,
    parts=(LOCALIZATION, RELATIVE_DEPTH),
    first_part_alone=FirstPartAlone(description="boxes either of the two", score=_boxes_either),
    tabletop=TabletopQuestions(make_items=_tabletop_items, capacity=tabletop_capacity),
)
