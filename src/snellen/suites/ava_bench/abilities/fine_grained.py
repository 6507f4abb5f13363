"""Fine-grained: thirty pictures each of 100 birds, 50 animals, fungi and plants, and 50 aircraft (appendix A.2).

Classes are drawn by the seed among those with enough pictures. Options are all classes of the group. Section 3.2.6 has
all aircraft and 50 of iNaturalist in all, which does not add up to its 300 classes; A.2 does.

Animals are the kingdom Animalia of iNaturalist, birds among them: A.2 draws "50 random classes" of it and excludes
none. Birds of CUB-200-2011 are a group of their own, so that no question offers both. Names are as A.2 has them
(`choices.species_name`): of CUB the class without its number (`Cerulean_Warbler`), of iNaturalist the last two words,
of aircraft the variant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from snellen.core.item import Item
from snellen.curation.draws import draw_options, grouped, shuffled
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.ability import Ability, Levels, ReleasedForm
from snellen.suites.ava_bench.candidates.candidates import Candidate, Curation, CurationContext, capped, origin_of
from snellen.suites.ava_bench.candidates.choices import species_name
from snellen.suites.ava_bench.candidates.classification import NOTHING, offered_names, only_class, with_names
from snellen.suites.ava_bench.candidates.rules import Caps
from snellen.suites.ava_bench.items import (
    ItemSource,
)
from snellen.suites.ava_bench.prompts import OPTION_LISTS, TABLE_1
from snellen.suites.ava_bench.released_scorers import (
    read_any_token,
)
from snellen.suites.ava_bench.scenes.display_scenes import SPECIES, TOWERS
from snellen.suites.ava_bench.scenes.display_truth import DisplayQuestions, DisplayTruth, crop_source
from snellen.suites.ava_bench.scoring import (
    choice_protocols,
)

NAME = "fine-grained"
BIRDS = "CUB-200-2011"
DATASETS = (BIRDS, "iNaturalist-2021", "FGVC-Aircraft")
DOMAINS: Mapping[str, str] = MappingProxyType({"animal": "Animal", "fungi": "Fungi", "plant": "Plant"})
"""Groups of iNaturalist, as Table 2 calls them."""
KINGDOM = "picture of a kingdom that is not asked about, or of none"
SHARED = "class whose name another class of the group has too"
NOT_DRAWN = "class that was not drawn"


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Pictures of one class that belongs to a group. Boxes do not matter, nor how many of the kind there are."""
    label = only_class(scene, str, NAME, context)
    if label is None:
        return
    group = context.choices.group(scene.source, str(scene.annotations[0].extra.get("kingdom", "")))
    if group is None:
        context.ledger.drop(NAME, scene.source, KINGDOM, f"{scene.record_id}: {label}")
    else:
        yield Candidate(origin_of(scene), label, group.group, NOTHING)


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """So many classes of every group, and so many pictures of each."""
    each = context.rules.species_pictures
    selected = [
        one
        for (source, group), mine in grouped(candidates, lambda one: (one.origin.source, one.bin)).items()
        for one in _of_group(source, group, mine, context)
    ]
    return with_names(
        capped(selected, Caps(each, each), NAME, context), lambda one: (one.origin.source, one.bin), NAME, context
    )


def _of_group(source: str, group: str, mine: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """All pictures of the classes that are drawn, which now know their names."""
    least = context.rules.species_pictures
    most = context.rules.species_birds if source == BIRDS else context.rules.species_others
    classes = grouped(mine, lambda one: one.label)
    few = {label for label, held in classes.items() if len(held) < least}
    named = Counter(species_name(source, label) for label in classes.keys() - few)
    shared = {label for label in classes.keys() - few if named[species_name(source, label)] > 1}
    able = sorted(classes.keys() - few - shared)
    others = set(shuffled(able, context.rng(NAME, "classes", source, group))[most:])
    for labels, rule in ((few, f"class of fewer than {least}"), (shared, SHARED), (others, NOT_DRAWN)):
        for label in sorted(labels):
            context.ledger.drop(NAME, source, rule, f"{group}: {label}", len(classes[label]))
    more = {"domain": DOMAINS[group]} if group in DOMAINS else {}
    return [
        replace(one, truth={"group": group, "name": species_name(source, label), **more})
        for label in able
        if label not in others
        for one in classes[label]
    ]


def make_curated_item(candidate: Candidate, source: ItemSource, rng: np.random.Generator) -> Item:
    """`What species of bird is in the image?`, with all classes of the group in an order drawn for the item."""
    return fine_grained_item(source, candidate.truth["group"], *offered_names(candidate, rng))


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)


# Generated scenes


def _ask_display(display: DisplayTruth, slot: int, source: ItemSource, rng: np.random.Generator) -> Item:
    name = display.display.content.species[slot]
    names = draw_options(name, SPECIES, len(SPECIES), rng)
    return fine_grained_item(crop_source(display, slot, source), tuple(TOWERS)[slot], name, names)


# Items


def fine_grained_item(source: ItemSource, group: str, name: str, names: Sequence[str]) -> Item:
    """Which species of `group` (`bird`) is in the picture: one of `names`, all classes of that group."""
    question = FINE_GRAINED.question.format(group=group)
    return FINE_GRAINED.item(source, question, name, names, factors={"group": group})


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
    subgroups={"group": ()},
    balanced_by=("group", "answer"),
    meaning="which species, model or other narrow kind something is",
    figure="Figure 26",
    curation=CURATION,
    display=DisplayQuestions(make_item=_ask_display, on_crops=True),
    released=ReleasedForm(folder="Fine-grained", levels=_released_levels),
)
