"""Spatial reasoning: the position of one thing relative to another (appendix A.2)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import permutations

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm, level_of_answer
from snellen.suites.ava_bench.items import ItemSource, checked_box
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.released_scorers import read_first_token
from snellen.suites.ava_bench.scenes.scenes import clear
from snellen.suites.ava_bench.scenes.table_contents import KINDS
from snellen.suites.ava_bench.scenes.tabletop_truth import ItemSlot, TabletopTruth, VisibleSolid, asked_evenly
from snellen.suites.ava_bench.scoring import choice_protocols

NAME = "spatial"
POSITIONS = ("Left above", "Left below", "Right above", "Right below")
"""Section A.2; section 3.2.3 writes top-left, top-right, bottom-left, bottom-right."""


# Generated scenes

SolidPair = tuple[VisibleSolid, VisibleSolid]


def _tabletop_candidates(table: TabletopTruth) -> list[tuple[SolidPair, Mapping[str, Hashable]]]:
    """Pairs of single things (appendix A.2), to be asked without boxes, too."""
    return [
        ((red, blue), {"position": relative_position(red.box, blue.box), "red": red.kind, "blue": blue.kind})
        for red, blue in permutations(table.singles, 2)
        if clear(red.box, blue.box)
    ]


def _tabletop_item(turn: ItemSlot, pair: SolidPair, rng: np.random.Generator) -> Item:
    red, blue = pair
    return spatial_item(turn.source, red.kind, blue.kind, red.box, blue.box)


SIZES = {"position": len(POSITIONS), "red": len(KINDS), "blue": len(KINDS)}


# Items


def spatial_item(
    item_source: ItemSource, red: str, blue: str, red_box: Sequence[float], blue_box: Sequence[float]
) -> Item:
    """An item about the position of the red box (the target) relative to the blue one (the reference)."""
    boxes = {"red": list(checked_box(item_source, red_box)), "blue": list(checked_box(item_source, blue_box))}
    answer = position(item_source, red_box, blue_box)
    return SPATIAL.item(
        item_source,
        SPATIAL.question.format(red=red, blue=blue),
        answer,
        POSITIONS,
        regions=boxes,
        factors={"thing": red, "reference": blue, "position": answer},
    )


def position(item_source: ItemSource, red: Sequence[float], blue: Sequence[float]) -> str:
    """The position of the red box relative to the blue one, one of `POSITIONS`.

    Raises SnellenError for boxes that share a column or row of pixels, which the paper leaves out (appendix A.2).
    """
    (rx1, ry1, rx2, ry2), (bx1, by1, bx2, by2) = red, blue
    if (rx1 < bx2 and bx1 < rx2) or (ry1 < by2 and by1 < ry2):
        raise SnellenError(
            f"ava-bench item {item_source.handle}: boxes {list(red)} and {list(blue)} share columns or rows, so none "
            f"of the four positions is right; leave the pair out"
        )
    return relative_position(red, blue)


def relative_position(red: Sequence[float], blue: Sequence[float]) -> str:
    """The position of a red box that shares neither rows nor columns of pixels with the blue one."""
    return f"{'Left' if red[2] <= blue[0] else 'Right'} {'above' if red[3] <= blue[1] else 'below'}"


def _by_boxes_only(item: Item) -> str | None:
    """The position of the centre of the red box relative to that of the blue one; None if no box is known."""
    if not {"red", "blue"} <= item.regions.keys():
        return None
    red, blue = (item.regions[name] for name in ("red", "blue"))
    is_left, is_above = red[0] + red[2] < blue[0] + blue[2], red[1] + red[3] < blue[1] + blue[3]
    return f"{'Left' if is_left else 'Right'} {'above' if is_above else 'below'}"


SPATIAL = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["spatial"],
    options_wording=OPTION_LISTS["spatial"],
    option_labels="letters",
    requires=("layout",),
    protocols=choice_protocols(read_first_token),
    subgroups={"source": (), "position": POSITIONS},
    balanced_by=("thing", "reference", "answer"),
    boxes=("red", "blue"),
    is_named=lambda item: True,  # things are the only ones of their class in an image (appendix A.2)
    boxes_reveal_answer=True,
    boxes_only=_by_boxes_only,
    cheap_sight="a relation needs the positions of two objects",
    meaning="the relative position of two objects in the image (left, right, above, below)",
    tabletop=asked_evenly(NAME, _tabletop_candidates, SIZES, _tabletop_item),
    released=ReleasedForm(folder="Spatial", levels=level_of_answer("position")),
)
