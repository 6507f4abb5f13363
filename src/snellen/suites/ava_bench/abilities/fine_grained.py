"""Fine-grained: the species or model of a thing, among all classes of its group (appendix A.2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from snellen.core.item import Item
from snellen.curation.draws import draw_options
from snellen.suites.ava_bench.abilities.ability import Ability, Levels, ReleasedForm
from snellen.suites.ava_bench.items import DIFFICULTIES, ItemSource
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.released_scorers import read_any_token
from snellen.suites.ava_bench.scenes.close_ups import SPECIES, TOWERS, UPPER
from snellen.suites.ava_bench.scenes.display_truth import DisplayQuestions, DisplayTruth, close_up_source
from snellen.suites.ava_bench.scoring import choice_protocols

NAME = "fine-grained"


# Generated scenes


def _ask_display(display: DisplayTruth, slot: int, item_source: ItemSource, rng: np.random.Generator) -> Item:
    content = display.display.content.towers[slot]
    name = content.species
    names = draw_options(name, SPECIES, len(SPECIES), rng)
    source = replace(item_source, factors={"difficulty": content.species_difficulty})
    source = close_up_source(display, slot, source, display.tower_px(slot, UPPER))
    return fine_grained_item(source, tuple(TOWERS)[slot], name, names)


# Items


def fine_grained_item(item_source: ItemSource, group: str, name: str, names: Sequence[str]) -> Item:
    """An item about the species of `group` (`bird`) in the image: one of `names`, all classes of that group."""
    question = FINE_GRAINED.question.format(group=group)
    return FINE_GRAINED.item(item_source, question, name, names, factors={"group": group})


_GROUP = re.compile(r"What species of (.+?) is in the image")


def _released_levels(question: str, answer: Any, options: Sequence[str]) -> Levels:
    match = _GROUP.search(question)
    return Levels({"group": match[1]} if match else {})


FINE_GRAINED = Ability(
    name=NAME,
    kind="choice",
    question=TABLE_1["fine-grained"],
    options_wording=OPTION_LISTS["fine-grained"],
    requires=("kind",),
    protocols=choice_protocols(read_any_token),
    subgroups={"group": (), "difficulty": DIFFICULTIES},
    balanced_by=("group", "answer", "difficulty"),
    cheap_sight="species differ in the shape of their parts",
    meaning="the species, model or other fine-grained category of an object",
    display=DisplayQuestions(make_item=_ask_display, on_close_ups=True),
    released=ReleasedForm(folder="Fine-grained", levels=_released_levels),
)
