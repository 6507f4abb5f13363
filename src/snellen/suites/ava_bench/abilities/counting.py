"""Counting: the number of things of a category, 1 to 40 (appendix A.2)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.least_px import LEAST_PX
from snellen.suites.ava_bench.abilities.ability import Ability, Levels, ReleasedForm
from snellen.suites.ava_bench.items import MAX_COUNT, ItemSource, range_name, range_names
from snellen.suites.ava_bench.prompts import TABLE_1
from snellen.suites.ava_bench.scenes.table_contents import KINDS, plural
from snellen.suites.ava_bench.scenes.tabletop_truth import ItemSlot, TabletopTruth, asked_evenly
from snellen.suites.ava_bench.scoring import COUNT_PROTOCOLS

NAME = "counting"


# Generated scenes


def _tabletop_candidates(table: TabletopTruth) -> list[tuple[str, Mapping[str, Hashable]]]:
    """The counted kinds of a table."""
    return [
        (kind, {"range": name, "kind": kind, "kind of range": (kind, name), "count": count})
        for kind, count in zip(table.table.counted, table.table.content.counts, strict=True)
        for name in (range_name(count, COUNT_RANGES),)
    ]


def _tabletop_item(turn: ItemSlot, kind: str, rng: np.random.Generator) -> Item:
    table = turn.table.table
    source = replace(turn.source, measures={LEAST_PX: table.least_px(kind)})
    return counting_item(source, plural(kind), table.count(kind))


# Ranges weigh as much as kinds.
SIZES = {"range": len(KINDS), "kind": len(KINDS), "kind of range": len(KINDS), "count": 1}


# Items

COUNT_RANGES = ((5, "1-5"), (10, "6-10"), (20, "11-20"), (MAX_COUNT, "21-40"))
"""Upper ends, included, as in the released scorer."""


def counting_item(item_source: ItemSource, category: str, count: int, question: str = "") -> Item:
    """An item about the number of things of a category (in the plural), 1 to 40. VQAv2 keeps its own `question`."""
    if not 1 <= count <= MAX_COUNT:
        raise SnellenError(
            f"ava-bench item {item_source.handle}: {count} things to count; leave out counts that are not 1 to 40"
        )
    return COUNTING.item(
        item_source,
        question or COUNTING.question.format(category=category),
        count,
        wrong_answers=(count + 1,),
        factors={"thing": category, "count_range": range_name(count, COUNT_RANGES)},
        measures={"count": float(count)},
    )


def _released_levels(question: str, answer: Any, options: Sequence[str]) -> Levels:
    count_range = f"{MAX_COUNT + 1} and more" if answer > MAX_COUNT else range_name(answer, COUNT_RANGES)
    return Levels({"count_range": count_range}, {"count": float(answer)})


COUNTING = Ability(
    name=NAME,
    kind="integer",
    question=TABLE_1["counting"],
    requires=("number",),
    protocols=COUNT_PROTOCOLS,
    subgroups={"source": (), "count_range": range_names(COUNT_RANGES)},
    balanced_by=("thing", "count_range"),
    cheap_sight="a count needs every single object",
    meaning="the number of objects of a kind",
    tabletop=asked_evenly(NAME, _tabletop_candidates, SIZES, _tabletop_item),
    released=ReleasedForm(folder="Counting", levels=_released_levels),
)
