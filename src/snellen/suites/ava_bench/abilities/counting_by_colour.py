"""Counting by colour: the number of things of a kind that have a colour while others of the kind do not.

A composite task of ours, of counting and colour, only for rendered images: no dataset has the colours of the things
that it counts. It asks about the images of the other abilities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import replace

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.least_px import LEAST_PX
from snellen.core.score import Metric
from snellen.stimuli.scenes import COLOURS
from snellen.suites.ava_bench.abilities.ability import Ability, FirstPartAlone
from snellen.suites.ava_bench.abilities.colour import COLOUR
from snellen.suites.ava_bench.abilities.counting import COUNT_RANGES, COUNTING
from snellen.suites.ava_bench.items import MAX_COUNT, ItemSource, range_name, range_names
from snellen.suites.ava_bench.prompts import COMPOSITE_QUESTIONS
from snellen.suites.ava_bench.scenes.table_contents import KINDS, plural
from snellen.suites.ava_bench.scenes.tabletop_scenes import Table
from snellen.suites.ava_bench.scenes.tabletop_truth import ItemSlot, TabletopTruth, asked_evenly
from snellen.suites.ava_bench.scoring import COUNTED, without_script

NAME = "counting-by-colour"

# Generated scenes

COUNTS = 20
"""The approximate number of different counts of things of one colour."""
ColouredGroup = tuple[str, str, int]
"""A kind, a colour, and the number of things of that kind in it."""


def coloured_groups(table: Table) -> list[ColouredGroup]:
    """The number of things of each counted kind per colour that others of the kind do not have.

    Things of other kinds also have the colour: otherwise the kind would not matter.
    """
    colours = [solid.material.colour for solid in table.shot.scene.solids]  # the rod, the last one, has none
    counts, of_colour = Counter(zip(table.kinds, colours, strict=False)), Counter(colours)
    return [
        (kind, colour, counts[kind, colour])
        for kind in table.counted
        for colour in COLOURS
        if 0 < counts[kind, colour] < min(table.count(kind), of_colour[colour])
    ]


def _tabletop_candidates(table: TabletopTruth) -> list[tuple[ColouredGroup, Mapping[str, Hashable]]]:
    return [
        (
            (kind, colour, count),
            {"range": range_name(count, COUNT_RANGES), "count": count, "kind": kind, "colour": colour},
        )
        for kind, colour, count in coloured_groups(table.table)
    ]


def _tabletop_item(turn: ItemSlot, group: ColouredGroup, rng: np.random.Generator) -> Item:
    table, (kind, colour, count) = turn.table.table, group
    source = replace(turn.source, measures={LEAST_PX: table.least_px(kind, colour)})
    return counting_by_colour_item(source, colour, plural(kind), count, table.count(kind))


# Ranges weigh as much as kinds: otherwise a table's only large group might be skipped because of its kind.
SIZES = {"range": len(KINDS), "count": COUNTS, "kind": len(KINDS), "colour": len(COLOURS)}


# Items


def counting_by_colour_item(item_source: ItemSource, colour_name: str, category: str, count: int, of_kind: int) -> Item:
    """An item about the number of a category (in the plural) with a colour, 1 to 40, among `of_kind` of any colour.

    Raises SnellenError if all of them have the colour, since it would not have to be seen.
    """
    if not 1 <= count <= min(MAX_COUNT, of_kind - 1):
        raise SnellenError(
            f"ava-bench item {item_source.handle}: {count} {colour_name} things among {of_kind} {category}; "
            f"1 to {MAX_COUNT} must have the colour, and others must not; leave it out"
        )
    return COUNTING_BY_COLOUR.item(
        item_source,
        COUNTING_BY_COLOUR.question.format(colour=colour_name, category=category),
        count,
        wrong_answers=(count + 1, of_kind),
        factors={"thing": category, "colour": colour_name, "count_range": range_name(count, COUNT_RANGES)},
        measures={"count": float(count), "of_kind": float(of_kind)},
    )


def _counts_all_colours(item: Item, metric: Metric) -> float:
    return metric.score(item, int(item.measures["of_kind"]))


COUNTING_BY_COLOUR = Ability(
    name=NAME,
    kind="integer",
    question=COMPOSITE_QUESTIONS["counting-by-colour"],
    requires=(*COUNTING.requires, *COLOUR.requires),
    protocols=without_script(COUNTED),
    subgroups={"source": (), "count_range": range_names(COUNT_RANGES)},
    balanced_by=("thing", "count_range"),
    parts=(COUNTING, COLOUR),
    first_part_alone=FirstPartAlone(description="counts things of all colours", score=_counts_all_colours),
    tabletop=asked_evenly(NAME, _tabletop_candidates, SIZES, _tabletop_item),
)
