"""Object: the category of the thing in the red box, among all names of the set (appendix A.2).

The images are those of localization.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from snellen.core.item import Item
from snellen.curation.draws import draw_options
from snellen.scoring.protocols import strict
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm
from snellen.suites.ava_bench.abilities.counting import COUNT_RANGES
from snellen.suites.ava_bench.items import (
    BOX_SIZES,
    DIFFICULTIES,
    ItemSource,
    area_share,
    checked_box,
    range_name,
    range_names,
)
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.scenes.table_contents import COUNTED, KINDS, SINGLES
from snellen.suites.ava_bench.scenes.tabletop_truth import ItemSlot, TabletopTruth, VisibleSolid, asked_evenly, sized
from snellen.suites.ava_bench.scoring import without_script

NAME = "object"


# Generated scenes


def _tabletop_candidates(table: TabletopTruth) -> list[tuple[VisibleSolid, Mapping[str, Hashable]]]:
    """A thing of each kind, all equally often, so that the names in other questions tell only which kinds are there.

    Of kinds with few things, the largest is often too small to be asked about, so ranges of counts are balanced.
    """
    counts = zip(table.table.counted, table.table.content.counts, strict=True)
    levels: dict[str, Mapping[str, Hashable]]
    levels = {kind: {"range": range_name(count, COUNT_RANGES)} for kind, count in counts}
    levels |= {solid.kind: {"alone": number} for number, solid in enumerate(table.singles)}
    return [(solid, {"kind": solid.kind, **levels[solid.kind]}) for solid in table.of_each_kind]


SIZES = {"kind": 3 * len(KINDS), "alone": 3 * (SINGLES + COUNTED), "range": 4 * (SINGLES + COUNTED)}
"""A range is of three counted kinds on four tables, so it is asked about three times while a single kind is four."""


def _tabletop_item(turn: ItemSlot, solid: VisibleSolid, rng: np.random.Generator) -> Item:
    names = draw_options(solid.kind, KINDS, len(KINDS), rng)
    return object_item(sized(turn.source, solid.box), solid.kind, solid.box, names)


# Items


def object_item(item_source: ItemSource, name: str, box: Sequence[float], names: Sequence[str]) -> Item:
    """An item about the thing in the red box: one of `names`, all of the set, in an order drawn for this item."""
    framed = checked_box(item_source, box)
    share = area_share(framed, item_source.image)
    return OBJECT.item(
        item_source,
        OBJECT.question,
        name,
        names,
        regions={"red": list(framed)},
        factors={"thing": name, "box_size": range_name(share, BOX_SIZES)},
        measures={"area_share": share},
    )


OBJECT = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["object"],
    options_wording=OPTION_LISTS["object"],
    requires=("object",),
    protocols=without_script(strict()),
    subgroups={"source": (), "box_size": range_names(BOX_SIZES), "difficulty": DIFFICULTIES},
    balanced_by=("answer", "difficulty"),
    boxes=("red",),
    padded=True,
    asks_inside_box=True,
    cheap_sight="an object is recognised by its shape and its parts",
    meaning="the category of an object",
    tabletop=asked_evenly(NAME, _tabletop_candidates, SIZES, _tabletop_item),
    released=ReleasedForm(folder="Recognition"),
)
