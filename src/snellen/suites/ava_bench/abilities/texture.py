"""Texture: close views of surfaces, 120 to 480 images per texture (appendix A.2).

KTH-TIPS has 81 images per material, too few for that rule. KTH-TIPS2-b continues its materials, so `choices` makes the
two one pool: their images of one name are counted together, and their options are the names of both. DTD has exactly
120 images per texture, so one image discarded by hand removes its whole texture, if the minimum stays as printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from snellen.core.item import Item
from snellen.curation.draws import draw_options, grouped, shuffled
from snellen.datasets.sample import Sample
from snellen.scoring.protocols import strict
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm, level_of_answer
from snellen.suites.ava_bench.curated.candidates import Candidate, Curation, CurationContext, origin_of
from snellen.suites.ava_bench.curated.classification import NOTHING, offered_names, only_class, with_names
from snellen.suites.ava_bench.items import DIFFICULTIES, ItemSource
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.scenes.close_ups import TEXTURES
from snellen.suites.ava_bench.scenes.display_truth import DisplayQuestions, DisplayTruth, close_up_source
from snellen.suites.ava_bench.scoring import without_script

NAME = "texture"
DATASETS = ("DTD", "Kylberg", "KTH-TIPS", "KTH-TIPS2-b")
DISCARDED = "image discarded by hand"


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Images of one texture that has a name, except those discarded by hand."""
    if scene.record_id in context.choices.discarded(scene.source):
        context.ledger.drop(NAME, scene.source, DISCARDED, scene.record_id)
        return
    name = only_class(scene, lambda label: context.choices.texture(scene.source, label), NAME, context)
    if name is not None:
        yield Candidate(origin_of(scene), name, "", NOTHING)


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """The bounded number of images per texture, over all datasets of its pool, drawn by the seed."""
    min_images, max_images = context.rules.texture.minimum, context.rules.texture.maximum

    def pool_of(candidate: Candidate) -> str:
        return context.choices.texture_pool(candidate.origin.source)

    selected: list[Candidate] = []
    for (pool, name), class_candidates in grouped(
        candidates, lambda candidate: (pool_of(candidate), candidate.label)
    ).items():
        if len(class_candidates) < min_images:
            _drop(class_candidates, f"fewer than {min_images} of a texture", context)
            continue
        order = shuffled(class_candidates, context.rng(NAME, "capped", pool, name))
        _drop(order[max_images:], f"more than {max_images} of a texture", context)
        selected += order[:max_images]
    return with_names(selected, pool_of, NAME, context)


def _drop(candidates: Sequence[Candidate], rule: str, context: CurationContext) -> None:
    for source, source_candidates in grouped(candidates, lambda candidate: candidate.origin.source).items():
        context.ledger.drop(NAME, source, rule, source_candidates[0].label, len(source_candidates))


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item `What is the texture attribute of image?`, with all textures of the pool in a drawn order."""
    return texture_item(item_source, *offered_names(candidate, rng))


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)


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
    name=NAME,
    kind="choice",
    question=TABLE_1["texture"],
    options_wording=OPTION_LISTS["texture"],
    requires=("texture",),
    protocols=without_script(strict()),
    subgroups={"source": (), "difficulty": DIFFICULTIES},
    balanced_by=("answer", "difficulty"),
    cheap_sight="a texture is a pattern of fine detail; a thumbnail has its mean colours only",
    meaning="the texture or material of a surface",
    curation=CURATION,
    display=DisplayQuestions(make_item=_ask_display, on_close_ups=True),
    released=ReleasedForm(folder="Texture", levels=level_of_answer("texture")),
)
