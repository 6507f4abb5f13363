"""Emotion: faces of RAF-DB and ExpW, one of seven emotions (appendix A.2).

The box of a face is drawn where the dataset has one and the picture shows more than the face. ExpW has boxes, and each
of several faces in a picture is an item of its own; of RAF-DB no boxes are read, and its pictures show one person each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from snellen.core.item import Box, Item
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench import items as make
from snellen.suites.ava_bench.curated.candidates import Ability, Asker, Candidate, Curating, capped, origin_of
from snellen.suites.ava_bench.curated.classification import OUTSIDE, lies_in
from snellen.suites.ava_bench.curated.rules import Caps
from snellen.suites.ava_bench.items import Shown

NAME = "emotion"
SOURCES = ("RAF-DB", "ExpW")
NO_FACE = "picture without a face"
UNKNOWN = "emotion that is none of the seven"
UNPLACED = "one of several faces, and no box tells which"
TWO_EMOTIONS = "face that is said to show two emotions"
TWICE = "second mention of a face"
Said = Mapping[Box | None, set[str | None]]


def look(scene: Sample, at: Curating) -> Iterator[Candidate]:
    """Faces that show one of the seven, each told from the others by its box."""
    if not scene.annotations:
        at.ledger.drop(NAME, scene.source, NO_FACE, scene.record_id)
        return
    said: dict[Box | None, set[str | None]] = {}
    for face in scene.annotations:
        said.setdefault(face.box, set()).add(at.choices.emotion(scene.source, face.label))
    origin, seen = origin_of(scene), set[Box | None]()
    for face in scene.annotations:
        if rule := _rule(scene, face, said, seen):
            at.ledger.drop(NAME, scene.source, rule, f"{scene.record_id}: {face.label}")
            continue
        seen.add(face.box)
        (emotion,) = said[face.box]
        yield Candidate(origin, str(emotion), "", {"emotion": emotion, "box": _drawn(scene, face, at)})


def _rule(scene: Sample, face: Annotation, said: Said, seen: set[Box | None]) -> str | None:
    """Why a face is left out; None where it is not."""
    alone = len(scene.annotations) == 1 and not scene.lost
    if said[face.box].isdisjoint(make.EMOTIONS):
        return UNKNOWN
    if face.box is None and not alone:
        return UNPLACED
    if face.box is not None and not lies_in(face.box, scene.size):
        return OUTSIDE
    if len(said[face.box]) > 1:
        return TWO_EMOTIONS
    return TWICE if face.box in seen else None


def _drawn(scene: Sample, face: Annotation, at: Curating) -> Box | None:
    """The box, unless it is the picture itself."""
    if face.box is None or scene.size is None:
        return None
    share = make.box_area(face.box) / (scene.size[0] * scene.size[1])
    alone = len(scene.annotations) == 1 and not scene.lost
    return None if alone and share >= at.rules.face_share else face.box


def choose(found: Sequence[Candidate], at: Curating) -> list[Candidate]:
    """At most so many faces of an emotion and dataset."""
    return capped(found, Caps(at.rules.fewest, at.rules.emotion_pictures), NAME, at)


def make_item_maker(task: str, chosen: Sequence[Candidate], at: Curating) -> Asker:
    """`What emotion is being shown in the image?`, with the seven in the paper's order."""

    def item(one: Candidate, of: Shown, rng: np.random.Generator) -> Item:
        return make.emotion_item(of, one.truth["emotion"], one.truth["box"])

    return item


ABILITY = Ability((NAME,), SOURCES, look, choose, make_item_maker)
