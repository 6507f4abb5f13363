"""Localization and object: pictures with one thing of a chosen category (appendix A.2).

Both ask about the same pictures and things: where the thing is, and what is in the red box.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from snellen.core.item import Item
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.curated.candidates import (
    Ability,
    Asker,
    Candidate,
    Curating,
    capped,
    origin_of,
)
from snellen.suites.ava_bench.curated.classification import offered_names
from snellen.suites.ava_bench.curated.rules import Caps
from snellen.suites.ava_bench.items import Shown

TASKS = ("localization", "object")
SOURCES = ("Objects365", "LVIS", "iNaturalist-2021", "DIOR")
NAME = ", ".join(TASKS)
LOST = "annotations of the picture were of no use, so that its things are not all known"
NOT_CHOSEN = "thing of a category that is not among the chosen ones"
SEVERAL = "several things of the category in the picture"
GROUP = "a group of things in one box"
NO_BOX = "thing without a box"
AREA = "box of the wrong size"


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """Things of chosen categories that are alone in their picture and neither too small nor too large."""
    chosen, drop = at.choices.chosen(scene.source), at.ledger.drop
    mine = [thing for thing in scene.annotations if thing.label in chosen]
    if others := len(scene.annotations) - len(mine):
        drop(NAME, scene.source, NOT_CHOSEN, scene.record_id, others)
    if not mine:
        return
    if scene.lost:
        drop(NAME, scene.source, LOST, scene.record_id, len(mine))
        return
    counts, origin = Counter(thing.label for thing in mine), None
    least, most = at.rules.thing_area
    for thing in mine:
        where = f"{scene.record_id}: {thing.label}"
        if counts[thing.label] > 1:
            drop(NAME, scene.source, SEVERAL, where)
        elif thing.extra.get("iscrowd"):
            drop(NAME, scene.source, GROUP, where)
        elif thing.box is None or scene.size is None:
            drop(NAME, scene.source, NO_BOX, where)
        elif not least < (share := make.box_area(thing.box) / (scene.size[0] * scene.size[1])) < most:
            drop(NAME, scene.source, AREA, f"{where}, {share:.4f} of the picture")
        else:
            origin = origin or origin_of(scene)
            told = chosen[thing.label]
            truth = {"name": told.name, "box": thing.box, "domain": told.domain}
            yield Candidate(origin, thing.label, "", truth, share)


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """At most so many pictures a category. All know the names of the whole set, which a small set offers, too."""
    kept = capped(found, Caps(at.rules.fewest, at.rules.a_thing), NAME, at)
    names = tuple(sorted({one.truth["name"] for one in kept}))
    return [replace(one, truth={**one.truth, "among": names}) for one in kept]


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """`localization` asks for the box, `object` for the name among those of the whole set."""

    def item(one: Candidate, of: Shown, rng: np.random.Generator) -> Item:
        if task == "localization":
            return make.localization_item(of, one.truth["name"], one.truth["box"])
        name, names = offered_names(one, rng)
        return make.object_item(of, name, one.truth["box"], names)

    return item


ABILITY = Ability(TASKS, SOURCES, look, choose, make_item_maker)
