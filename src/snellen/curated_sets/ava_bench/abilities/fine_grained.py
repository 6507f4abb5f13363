"""Fine-grained: thirty images each of 100 birds, 50 animals, fungi and plants, and 50 aircraft (appendix A.2).

Classes are drawn by the seed among those with enough images. Options are all classes of the group. Section 3.2.6 has
all aircraft and 50 of iNaturalist in total, which does not add up to its 300 classes; A.2 does.

Animals are the kingdom Animalia of iNaturalist, including birds: A.2 draws "50 random classes" of it and excludes none.
Birds of CUB-200-2011 are a separate group, so that no question offers both. Names are as in A.2 (`species_name`): of
CUB the class without its number (`Cerulean_Warbler`), of iNaturalist the last two words, of aircraft the variant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from snellen.core.item import Item
from snellen.curated_sets.ava_bench.classification import NOTHING, only_class, with_names
from snellen.curated_sets.ava_bench.selection.candidates import (
    Candidate,
    Curation,
    CurationContext,
    capped,
    offered_names,
    origin_of,
)
from snellen.curated_sets.rules import Caps
from snellen.curation.draws import grouped, shuffled
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.fine_grained import NAME, fine_grained_item
from snellen.suites.ava_bench.items import ItemSource

BIRDS = "CUB-200-2011"
DATASETS = (BIRDS, "iNaturalist-2021", "FGVC-Aircraft")
DOMAINS: Mapping[str, str] = {"animal": "Animal", "fungi": "Fungi", "plant": "Plant"}
"""Groups of iNaturalist, as Table 2 calls them."""
KINGDOM = "image of another kingdom, or of none"
SHARED = "class with the name of another class of the group"
NOT_DRAWN = "class that was not drawn"


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Images of one class that belongs to a group, whatever their boxes and the number of things."""
    label = only_class(scene, str, NAME, context)
    if label is None:
        return
    group = context.choices.group(scene.source, str(scene.annotations[0].extra.get("kingdom", "")))
    if group is None:
        context.ledger.drop(NAME, scene.source, KINGDOM, f"{scene.record_id}: {label}")
    else:
        yield Candidate(origin_of(scene), label, group.group, NOTHING)


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """The wanted number of classes per group and of images per class, drawn by the seed."""
    per_class = context.rules.species_images
    selected = [
        candidate
        for (source, group), group_candidates in grouped(
            candidates, lambda candidate: (candidate.origin.source, candidate.bin)
        ).items()
        for candidate in _select_classes(source, group, group_candidates, context)
    ]
    return with_names(
        capped(selected, Caps(per_class, per_class), NAME, context),
        lambda candidate: (candidate.origin.source, candidate.bin),
        NAME,
        context,
    )


def _select_classes(
    source: str, group: str, candidates: Sequence[Candidate], context: CurationContext
) -> list[Candidate]:
    """All images of the classes drawn, with the class names."""
    min_images = context.rules.species_images
    max_classes = context.rules.species_birds if source == BIRDS else context.rules.species_others
    classes = grouped(candidates, lambda candidate: candidate.label)
    rare = {label for label, class_candidates in classes.items() if len(class_candidates) < min_images}
    name_counts = Counter(species_name(source, label) for label in classes.keys() - rare)
    shared = {label for label in classes.keys() - rare if name_counts[species_name(source, label)] > 1}
    eligible = sorted(classes.keys() - rare - shared)
    unused = set(shuffled(eligible, context.rng(NAME, "classes", source, group))[max_classes:])
    for labels, rule in ((rare, f"class of fewer than {min_images}"), (shared, SHARED), (unused, NOT_DRAWN)):
        for label in sorted(labels):
            context.ledger.drop(NAME, source, rule, f"{group}: {label}", len(classes[label]))
    domain = {"domain": DOMAINS[group]} if group in DOMAINS else {}
    return [
        replace(candidate, truth={"group": group, "name": species_name(source, label), **domain})
        for label in eligible
        if label not in unused
        for candidate in classes[label]
    ]


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item `What species of bird is in the image?`, with all classes of the group in an order drawn for the item."""
    return fine_grained_item(item_source, candidate.truth["group"], *offered_names(candidate, rng))


def species_name(source: str, label: str) -> str:
    """The name of a fine-grained class in questions (appendix A.2).

    For CUB-200-2011 the label without its number (`Cerulean_Warbler`, as printed), for iNaturalist the last two words,
    for aircraft the label.
    """
    if source == "CUB-200-2011":
        return re.sub(r"^\d+\.", "", label)
    return " ".join(label.split()[-2:]) if source == "iNaturalist-2021" else label


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)
