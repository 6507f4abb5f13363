"""Localization: the box of the only thing of a chosen category in an image (appendix A.2).

Object asks about the same images and things: what is in the red box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from snellen.core.item import Item
from snellen.curation.rules import Caps
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.ability import Ability, ReleasedForm
from snellen.suites.ava_bench.curated.candidates import Candidate, Curation, CurationContext, capped, origin_of
from snellen.suites.ava_bench.curated.completeness import completeness
from snellen.suites.ava_bench.items import (
    BOX_SIZES,
    DIFFICULTIES,
    ItemSource,
    area_share,
    box_area,
    checked_box,
    range_name,
    range_names,
)
from snellen.suites.ava_bench.prompts import TABLE_1
from snellen.suites.ava_bench.scenes.tabletop_truth import TabletopTruth, asked_by_slot, sized
from snellen.suites.ava_bench.scoring import BOX_PROTOCOLS

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


CURATION = Curation(
    name="localization, object", datasets=DATASETS, find=find, select=select, make_item=make_curated_item
)


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
    figure="Figure 8b",
    curation=CURATION,
    tabletop=asked_by_slot(_ask_tabletop),
    released=ReleasedForm(folder="Localization"),
)
