"""Object: the category of the thing in the red box, among all names of the set (appendix A.2).

The images and things are those of localization.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from snellen.core.item import Item
from snellen.curation.draws import draw_options
from snellen.scoring.protocols import strict
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm
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
from snellen.suites.ava_bench.scenes.scenes import SLOTS
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.tabletop_truth import TabletopTruth, asked_by_slot, sized
from snellen.suites.ava_bench.scoring import without_script

# Generated scenes


def _ask_tabletop(table: TabletopTruth, slot: int, item_source: ItemSource, rng: np.random.Generator) -> Item:
    # The images of localization, as in the paper, but in another order: few sets ask both about one thing.
    solid = table.solids[(slot + 1) % SLOTS]
    names = draw_options(solid.kind, KINDS, len(KINDS), rng)
    return object_item(sized(item_source, solid.box), solid.kind, solid.box, names)


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
    name="object",
    kind="choice",
    question=TABLE_1["object"],
    options_wording=OPTION_LISTS["object"],
    requires=("object",),
    protocols=without_script(strict()),
    subgroups={"source": (), "box_size": range_names(BOX_SIZES), "difficulty": DIFFICULTIES},
    balanced_by=("answer", "box_size", "difficulty"),
    boxes=("red",),
    padded=True,
    asks_inside_box=True,
    cheap_sight="an object is recognised by its shape and its parts",
    meaning="the category of an object",
    tabletop=asked_by_slot(_ask_tabletop),
    released=ReleasedForm(folder="Recognition"),
)
