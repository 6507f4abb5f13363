"""Orientation: the direction that a thing faces, one of nine (appendix A.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from snellen.core.item import Item
from snellen.core.least_px import LEAST_PX
from snellen.scoring.protocols import strict
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm, level_of_answer
from snellen.suites.ava_bench.items import ORIENTATIONS, ItemSource
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.scenes.display_scenes import HEADINGS, TOYS
from snellen.suites.ava_bench.scenes.display_truth import DisplayQuestions, DisplayTruth
from snellen.suites.ava_bench.scoring import without_script

NAME = "orientation"


# Generated scenes


def _ask_display(display: DisplayTruth, slot: int, item_source: ItemSource, rng: np.random.Generator) -> Item:
    source = replace(item_source, measures={LEAST_PX: display.toy_px(TOYS[slot])})
    return orientation_item(source, TOYS[slot], display.display.content.directions[slot], HEADINGS)


# Items


def orientation_item(
    item_source: ItemSource, category: str, orientation: str, orientations: Sequence[str] = ORIENTATIONS
) -> Item:
    """An item about the direction that a thing faces, one of the nine, or of those in `orientations`."""
    return ORIENTATION.item(
        item_source,
        ORIENTATION.question.format(category=category),
        orientation,
        orientations,
        factors={"thing": category, "orientation": orientation},
    )


ORIENTATION = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["orientation"],
    options_wording=OPTION_LISTS["orientation"],
    requires=("orientation",),
    protocols=without_script(strict()),
    subgroups={"source": (), "orientation": ORIENTATIONS},
    balanced_by=("thing", "answer"),
    cheap_sight="the direction of an object shows in its parts",
    meaning="the direction that an object faces",
    display=DisplayQuestions(make_item=_ask_display),
    released=ReleasedForm(folder="Orientation", levels=level_of_answer("orientation")),
)
