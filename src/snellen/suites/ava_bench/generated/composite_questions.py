"""What composite tasks ask about a picture of many solids (`tables`): things by colour, and the nearer of two.

No picture is made for them: they ask about those of the other tasks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from snellen.core.item import Item
from snellen.stimuli.scenes import COLOURS
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.generated.scenes import dealt, share_of
from snellen.suites.ava_bench.generated.tabletop_questions import Seen, TableAsked, Turn, evenly_chosen
from snellen.suites.ava_bench.generated.tabletop_scenes import KINDS, Table, plural
from snellen.suites.ava_bench.items import BOX_SIZES, COUNT_RANGES, MIN_DEPTH_GAP_M

ANSWERS = 20
"""About how many different counts of things of one colour come up."""
Coloured = tuple[str, str, int]
"""A kind, a colour, and how many things of that kind have it."""
Pair = tuple[Seen, Seen]
"""Two things, the nearer one first."""


def capacity(task: str, asked: TableAsked) -> int:
    """How many items of a composite task a table can serve."""
    return len(coloured(asked.table) if task == "counting-by-colour" else pairs(asked))


def composite_items(task: str, turns: Sequence[Turn], rng: np.random.Generator) -> Iterator[Item]:
    """The items of a composite task about tables of one split, as level as `asked_tables.table_items` makes others.

    Raises SnellenError where a table is to serve more than its `capacity`.
    """
    return (_counting_by_colour if task == "counting-by-colour" else _nearer_localization)(turns, rng)


def coloured(table: Table) -> list[Coloured]:
    """How many things of each counted kind have each colour, where others of the kind have not.

    Things of other kinds in the colour are there too: without them the kind would not matter.
    """
    colours = [solid.material.colour for solid in table.shot.scene.solids]
    held, in_all = Counter(zip(table.kinds, colours, strict=True)), Counter(colours)
    return [
        (kind, colour, held[kind, colour])
        for kind in table.counted
        for colour in COLOURS
        if 0 < held[kind, colour] < min(table.count(kind), in_all[colour])
    ]


def _counting_by_colour(turns: Sequence[Turn], rng: np.random.Generator) -> Iterator[Item]:
    def levels(one: Coloured) -> Mapping[str, Hashable]:
        kind, colour, count = one
        return {"range": _range(count, COUNT_RANGES), "count": count, "kind": kind, "colour": colour}

    # Ranges weigh as much as kinds: else a table's only large group would be left for the sake of its kind.
    sizes = {"range": len(KINDS), "count": ANSWERS, "kind": len(KINDS), "colour": len(COLOURS)}
    chosen = evenly_chosen("counting-by-colour", turns, lambda asked: coloured(asked.table), levels, sizes, rng)
    for (asked, _, of), (kind, colour, count) in zip(turns, chosen, strict=True):
        yield make.counting_by_colour_item(of, colour, plural(kind), count, asked.table.count(kind))


def _range(value: float, ranges: Sequence[tuple[float, str]]) -> str:
    return next(name for most, name in ranges if value <= most)


def pairs(asked: TableAsked) -> list[Pair]:
    """Two things, each alone in its kind, that are half a metre or more apart in depth."""
    singles = sorted(asked.seen[: len(asked.table.singles)], key=lambda one: one.nearest_m)
    return [(near, far) for near, far in combinations(singles, 2) if far.nearest_m - near.nearest_m >= MIN_DEPTH_GAP_M]


def _nearer_localization(turns: Sequence[Turn], rng: np.random.Generator) -> Iterator[Item]:
    def levels(pair: Pair) -> Mapping[str, Hashable]:
        near, far = (share_of(one.box, turns[0][0].table.shot.camera) for one in pair)
        size = _range(near, BOX_SIZES)
        return {"size": size, "larger": near > far, "nearer": pair[0].kind, "farther": pair[1].kind}

    # Most of what is nearer looks larger too: pairs of which that is not true weigh as much as kinds.
    sizes = {"size": len(BOX_SIZES), "larger": len(KINDS), "nearer": len(KINDS), "farther": len(KINDS)}
    chosen = evenly_chosen("nearer-localization", turns, pairs, levels, sizes, rng)
    first = dealt((True, False), len(turns), rng)
    for (_, _, of), (near, far), near_first in zip(turns, chosen, first, strict=True):
        one, other = (near, far) if near_first else (far, near)
        yield make.nearer_localization_item(
            of, (one.kind, other.kind), (one.box, other.box), (one.nearest_m, other.nearest_m), "indoor"
        )
