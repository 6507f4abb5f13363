"""Localization and object: things of chosen categories that are alone in their image (appendix A.2).

Both ask about the same images and things.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from snellen.core.item import Item
from snellen.curated_sets.ava_bench.selection.candidates import (
    Candidate,
    Curation,
    CurationContext,
    capped,
    offered_names,
    origin_of,
)
from snellen.curated_sets.ava_bench.selection.completeness import completeness
from snellen.curated_sets.rules import Caps
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.localization import localization_item
from snellen.suites.ava_bench.abilities.object import object_item
from snellen.suites.ava_bench.items import ItemSource, box_area

DATASETS = ("Objects365", "LVIS", "iNaturalist-2021", "iNaturalist-2017", "DIOR")
NAME = "localization, object"
NOT_CHOSEN = "thing of a category that was not chosen"
SEVERAL = "several things of the category in the image"
NO_BOX = "thing without a box"
AREA = "box of the wrong size"


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Things of chosen categories that are alone in their image and neither too small nor too large."""
    categories, drop = context.choices.categories(scene.source), context.ledger.drop
    annotations = [annotation for annotation in scene.annotations if annotation.label in categories]
    if other_count := len(scene.annotations) - len(annotations):
        drop(NAME, scene.source, NOT_CHOSEN, scene.record_id, other_count)
    if not annotations:
        return
    known, origin = completeness(scene), None
    counts = Counter(categories[annotation.label].name for annotation in annotations)
    min_share, max_share = context.rules.thing_area
    for annotation in annotations:
        location = f"{scene.record_id}: {annotation.label}"
        if rule := known.rule(annotation.label):
            drop(NAME, scene.source, rule, location)
        elif counts[categories[annotation.label].name] > 1:
            drop(NAME, scene.source, SEVERAL, location)
        elif annotation.box is None or scene.size is None:
            drop(NAME, scene.source, NO_BOX, location)
        elif not min_share < (share := box_area(annotation.box) / (scene.size[0] * scene.size[1])) < max_share:
            drop(NAME, scene.source, AREA, f"{location}, {share:.4f} of the image")
        else:
            origin = origin or origin_of(scene)
            category = categories[annotation.label]
            truth = {"name": category.name, "box": annotation.box, "domain": category.domain}
            yield Candidate(origin, annotation.label, "", truth, share)


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """At most `rules.a_thing` images per category, with the names of the whole set, which small sets offer too."""
    selected = capped(candidates, Caps(context.rules.fewest, context.rules.a_thing), NAME, context)
    names = tuple(sorted({candidate.truth["name"] for candidate in selected}))
    return [replace(candidate, truth={**candidate.truth, "among": names}) for candidate in selected]


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item `Provide bounding box coordinate for …`."""
    return localization_item(item_source, candidate.truth["name"], candidate.truth["box"])


def make_object_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item `What is in the red bounding box in the image?`, with the names of the whole set."""
    name, names = offered_names(candidate, rng)
    return object_item(item_source, name, candidate.truth["box"], names)


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)
OBJECT_CURATION = replace(CURATION, make_item=make_object_item)
