"""Orientation: which way a thing faces, of EgoOrientBench and CURE-OR (appendix A.2).

EgoOrientBench names the thing of a picture; it has eight of the nine orientations, CURE-OR five, `top` among them. No
page has the names of CURE-OR's hundred things as text: its numbers are the classes, and its questions ask of "the
object" unless the user's own `choices` name it. Its pictures are those without a challenge, on two backgrounds by three
devices (`choices` has which), so that an orientation of a thing has six at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from snellen.core.item import Item
from snellen.datasets.sample import Sample
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.curated.candidates import (
    Ability,
    Asker,
    Candidate,
    Curating,
    capped_by_source,
    origin_of,
)
from snellen.suites.ava_bench.items import Shown

NAME = "orientation"
NAMED, NUMBERED = "EgoOrientBench", "CURE-OR"
SOURCES = (NAMED, NUMBERED)
OBJECT = "object"
"""What a thing without a name is called."""
NOTHING_THERE = "picture without a thing"
NOT_TAKEN = "picture whose background, device or challenge is not among the chosen ones"
NAMELESS = "thing without a label"
UNKNOWN = "orientation that is none of the nine, or not told"
TWO_WAYS = "thing that is said to face two ways"
TWICE = "second mention of a thing"


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """Things of which one orientation is told. A picture may have several of different names."""
    if not scene.annotations or not at.choices.takes(scene.source, scene.attributes):
        rule = NOT_TAKEN if scene.annotations else NOTHING_THERE
        at.ledger.drop(NAME, scene.source, rule, scene.record_id, max(1, len(scene.annotations)))
        return
    told = [(_tidy(thing.label), _way(scene, thing.extra.get("orientation"), at)) for thing in scene.annotations]
    ways: dict[str, set[str | None]] = {}
    for name, way in told:
        ways.setdefault(name, set()).add(way)
    origin, seen = origin_of(scene), set[str]()
    for name, way in told:
        if way is None or not name:
            at.ledger.drop(NAME, scene.source, NAMELESS if way else UNKNOWN, f"{scene.record_id}: {name}")
        elif len(ways[name]) > 1 or name in seen:
            rule = TWICE if len(ways[name]) == 1 else TWO_WAYS
            at.ledger.drop(NAME, scene.source, rule, f"{scene.record_id}: {name}")
        else:
            seen.add(name)
            asked = at.choices.oriented_thing(scene.source, name) or OBJECT
            yield Candidate(origin, name, way, {"thing": asked, "orientation": way})


def _way(scene: Sample, word: object, at: Curating) -> str | None:
    """One of the nine; None for what is none of them."""
    return at.choices.orientation(scene.source, word) if isinstance(word, str) else None


def _tidy(label: str) -> str:
    """A name as a question writes it: blanks for underscores."""
    return " ".join(label.replace("_", " ").split())


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """So many pictures of an orientation of a thing, and so many orientations of the thing, by dataset."""
    caps = {NAMED: at.rules.orientation, NUMBERED: at.rules.orientation_cure_or}
    return capped_by_source(found, caps, NAME, at)


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """`What is the orientation of the toy plane in the image?`, with the nine in the paper's order."""

    def item(one: Candidate, of: Shown, rng: np.random.Generator) -> Item:
        return make.orientation_item(of, one.truth["thing"], one.truth["orientation"])

    return item


ABILITY = Ability((NAME,), SOURCES, look, choose, make_item_maker)
