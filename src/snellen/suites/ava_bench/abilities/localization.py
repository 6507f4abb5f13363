"""Localization: the box of the only thing of a chosen category in an image (appendix A.2).

Object asks about the same images and things: what is in the red box.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from snellen.core.item import Item
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
from snellen.suites.ava_bench.prompts import TABLE_1
from snellen.suites.ava_bench.scenes.tabletop_truth import TabletopTruth, asked_by_slot, sized
from snellen.suites.ava_bench.scoring import BOX_PROTOCOLS

# Generated scenes


def _ask_tabletop(table: TabletopTruth, slot: int, item_source: ItemSource, rng: np.random.Generator) -> Item:
    solid = table.solids[slot]
    return localization_item(sized(item_source, solid.box), solid.kind, solid.box)


# Items


def localization_item(item_source: ItemSource, category: str, box: Sequence[float]) -> Item:
    """An item about the only thing of a category. `box` is [x1, y1, x2, y2] in pixels of the stored image."""
    target = checked_box(item_source, box)
    share = area_share(target, item_source.image)
    return LOCALIZATION.item(
        item_source,
        LOCALIZATION.question.format(category=category),
        target,
        wrong_answers=([0.0, 0.0, float(item_source.image.width), float(item_source.image.height)],),
        regions={"box": list(target)},
        factors={"thing": category, "box_size": range_name(share, BOX_SIZES)},
        measures={"area_share": share},
    )


LOCALIZATION = Ability(
    name="localization",
    kind="box",
    question=TABLE_1["localization"],
    requires=("location",),
    protocols=BOX_PROTOCOLS,
    subgroups={"source": (), "box_size": range_names(BOX_SIZES), "difficulty": DIFFICULTIES},
    balanced_by=("thing", "box_size", "difficulty"),
    padded=True,
    cheap_sight="a box needs the edges of one object among others",
    meaning="the location of an object in the image",
    tabletop=asked_by_slot(_ask_tabletop),
    released=ReleasedForm(folder="Localization"),
)
