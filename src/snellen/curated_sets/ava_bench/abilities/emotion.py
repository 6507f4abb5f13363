"""Emotion: faces of RAF-DB and ExpW, one of seven emotions (appendix A.2).

The box of a face is drawn if the dataset has one and the image shows more than the face. Both have boxes. Each of
several faces in an image of ExpW is a separate item; RAF-DB names one face per image, which may show others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from snellen.core.item import Box, Item
from snellen.curated_sets.ava_bench.selection.candidates import (
    OUTSIDE,
    Candidate,
    Curation,
    CurationContext,
    capped,
    lies_in,
    origin_of,
)
from snellen.curated_sets.ava_bench.selection.completeness import completeness
from snellen.curated_sets.rules import Caps
from snellen.datasets.sample import Annotation, Sample
from snellen.suites.ava_bench.abilities.emotion import NAME, emotion_item
from snellen.suites.ava_bench.items import EMOTIONS, ItemSource, box_area

DATASETS = ("RAF-DB", "ExpW")
NO_FACE = "image without a face"
UNKNOWN = "emotion not among the seven"
UNPLACED = "one of several faces, without a box"
TWO_EMOTIONS = "face labelled with two emotions"
TWICE = "second mention of a face"
EmotionsByBox = Mapping[Box | None, set[str | None]]


def find(scene: Sample, context: CurationContext) -> Iterator[Candidate]:
    """Faces that show one of the seven emotions, each identified by its box."""
    if not scene.annotations:
        context.ledger.drop(NAME, scene.source, NO_FACE, scene.record_id)
        return
    emotions: dict[Box | None, set[str | None]] = {}
    for face in scene.annotations:
        emotions.setdefault(face.box, set()).add(context.choices.emotion(scene.source, face.label))
    origin, accepted_boxes = origin_of(scene), set[Box | None]()
    for face in scene.annotations:
        if rule := _rule(scene, face, emotions, accepted_boxes):
            context.ledger.drop(NAME, scene.source, rule, f"{scene.record_id}: {face.label}")
            continue
        accepted_boxes.add(face.box)
        (emotion,) = emotions[face.box]
        yield Candidate(origin, str(emotion), "", {"emotion": emotion, "box": _box_to_draw(scene, face, context)})


def _rule(scene: Sample, face: Annotation, emotions: EmotionsByBox, accepted_boxes: set[Box | None]) -> str | None:
    """The rule that leaves a face out, None if it is kept."""
    if emotions[face.box].isdisjoint(EMOTIONS):
        return UNKNOWN
    if face.box is None and not is_alone(face, scene):
        return UNPLACED
    if face.box is not None and not lies_in(face.box, scene.size):
        return OUTSIDE
    if len(emotions[face.box]) > 1:
        return TWO_EMOTIONS
    return TWICE if face.box in accepted_boxes else None


def _box_to_draw(scene: Sample, face: Annotation, context: CurationContext) -> Box | None:
    """The box, unless it is the image itself."""
    if face.box is None or scene.size is None:
        return None
    share = box_area(face.box) / (scene.size[0] * scene.size[1])
    return None if is_alone(face, scene) and share >= context.rules.face_share else face.box


def select(candidates: Sequence[Candidate], context: CurationContext) -> list[Candidate]:
    """At most `rules.emotion_images` faces per emotion and dataset."""
    return capped(candidates, Caps(context.rules.fewest, context.rules.emotion_images), NAME, context)


def make_curated_item(candidate: Candidate, item_source: ItemSource, rng: np.random.Generator) -> Item:
    """An item `What emotion is being shown in the image?`, with the seven in the paper's order."""
    return emotion_item(item_source, candidate.truth["emotion"], candidate.truth["box"])


def is_alone(annotation: Annotation, scene: Sample) -> bool:
    """True if a thing is known to be the only one of its image."""
    return len(scene.annotations) == 1 and not completeness(scene).rule(annotation.label)


CURATION = Curation(name=NAME, datasets=DATASETS, find=find, select=select, make_item=make_curated_item)
