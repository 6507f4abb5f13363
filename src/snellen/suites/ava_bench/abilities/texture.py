"""Texture: close views of surfaces (appendix A.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from snellen.core.item import Item
from snellen.curation.draws import draw_options
from snellen.scoring.protocols import strict
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm, level_of_answer
from snellen.suites.ava_bench.items import DIFFICULTIES, ItemSource
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.scenes.close_ups import TEXTURES
from snellen.suites.ava_bench.scenes.display_truth import DisplayQuestions, DisplayTruth, close_up_source
from snellen.suites.ava_bench.scoring import without_script

# Generated scenes


def _ask_display(display: DisplayTruth, slot: int, item_source: ItemSource, rng: np.random.Generator) -> Item:
    content = display.display.content.towers[slot]
    textures = draw_options(content.texture, TEXTURES, len(TEXTURES), rng)
    source = replace(item_source, factors={"difficulty": content.texture_difficulty})
    return texture_item(close_up_source(display, slot, source, display.stripe_px(slot)), content.texture, textures)


# Items


def texture_item(item_source: ItemSource, texture: str, textures: Sequence[str]) -> Item:
    """An item about the texture that fills the image: one of `textures`, the whole pool of the source, shuffled."""
    return TEXTURE.item(item_source, TEXTURE.question, texture, textures, factors={"texture": texture})


TEXTURE = Ability(
    name="texture",
    kind="choice",
    question=TABLE_1["texture"],
    options_wording=OPTION_LISTS["texture"],
    requires=("texture",),
    protocols=without_script(strict()),
    subgroups={"source": (), "difficulty": DIFFICULTIES},
    balanced_by=("answer", "difficulty"),
    cheap_sight="a texture is a pattern of fine detail; a thumbnail has its mean colours only",
    meaning="the texture or material of a surface",
    display=DisplayQuestions(make_item=_ask_display, on_close_ups=True),
    released=ReleasedForm(folder="Texture", levels=level_of_answer("texture")),
)
