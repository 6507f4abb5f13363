"""Orientation: the direction that a thing faces, from EgoOrientBench and CURE-OR (appendix A.2).

EgoOrientBench names the thing of an image; it has eight of the nine orientations, CURE-OR five, including `top`. No
page has the names of CURE-OR's hundred things as text: its numbers are the classes, and its questions ask about "the
object" unless the user's own `choices` name it. Only its images without a challenge are taken, on two backgrounds by
three devices (listed in `choices`), so that an orientation of a thing has six at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from snellen.core.item import Item
from snellen.curated_sets.ava_bench.selection.candidates import (
    Candidate,
    Curation,
    CurationContext,
    capped_by_source,
    origin_of,
)
from snellen.datasets.own_images import OWN
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench.abilities.orientation import NAME, orientation_item
from snellen.suites.ava_bench.items import ItemSource

NAMED, NUMBERED = "EgoOrientBench", "CURE-OR"
DATASETS = (NAMED, NUMBERED)
OBJECT = "object"
"""The name of a thing without a name."""
NOTHING_THERE = "image without a thing"
NOT_TAKEN = "image whose background, device or challenge was not chosen"
NAMELESS = "thing without a label"
UNKNOWN = "orientation not among the nine, or missing"
TWO_WAYS = "thing labelled with two orientations"
TWICE = "second mention of a thing"


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Things with one labelled orientation. An image may have several of different names."""
    if not scene.annotations or not context.choices.takes(scene.source, scene.attributes):
        rule = NOT_TAKEN if scene.annotations else NOTHING_THERE
        context.ledger.drop(NAME, scene.source, rule, scene.record_id, max(1, len(scene.annotations)))
        return
    labelled_orientations = [
        (_format_name(annotation.label), _read_orientation(scene, annotation.extra.get("orientation"), context))
        for annotation in scene.annotations
    ]
    orientations: dict[str, set[str | None]] = {}
    for name, orientation in labelled_orientations:
        orientations.setdefault(name, set()).add(orientation)
    origin, accepted_names = origin_of(scene), set[str]()
    for name, orientation in labelled_orientations:
        if orientation is None or not name:
            context.ledger.drop(NAME, scene.source, NAMELESS if orientation else UNKNOWN, f"{scene.record_id}: {name}")
        elif len(orientations[name]) > 1 or name in accepted_names:
            rule = TWICE if len(orientations[name]) == 1 else TWO_WAYS
            context.ledger.drop(NAME, scene.source, rule, f"{scene.record_id}: {name}")
        else:
            accepted_names.add(name)
            object_name = context.choices.oriented_thing(scene.source, name) or OBJECT
            yield Candidate(origin, name, orientation, {"thing": object_name, "orientation": orientation})


def _read_orientation(scene: Sample, word: object, context: CurationContext) -> str | None:
    """One of the nine orientations, None for anything else."""
    return context.choices.orientation(scene.source, word) if isinstance(word, str) else None


def _format_name(label: str) -> str:
    """A name as a question writes it: spaces for underscores."""
    return " ".join(label.replace("_", " ").split())


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """The candidates within each dataset's bounds on images per orientation and orientations per thing."""
    caps = {
        NAMED: context.rules.orientation,
        NUMBERED: context.rules.orientation_cure_or,
        OWN: context.rules.orientation,
    }
    return capped_by_source(candidates, caps, NAME, context)


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item `What is the orientation of the toy plane in the image?`, with the nine in the paper's order."""
    return orientation_item(item_source, candidate.truth["thing"], candidate.truth["orientation"])


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)
