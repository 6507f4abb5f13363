"""Are all things of a class known in an image? One rule for all abilities that count things or ask for the only one.

Where a dataset says that it did not mark all of a class (LVIS), marks several as one group (COCO, Objects365), marks
some as not to be told apart (CrowdHuman), or where annotations were of no use to its reader, more of the class may be
in the image than are listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from snellen.datasets.sample import NOT_EXHAUSTIVE_FIELD, Annotation, Sample

LOST = "annotations of the image were of no use, so that its things are not all known"
NOT_EXHAUSTIVE = "thing of a class of which not all are marked in the image"
CROWD = "thing of a class of which some are marked as a group in the image"
IGNORED = "things of the image are marked as not told apart"


@dataclass(frozen=True)
class Completeness:
    """Which classes of an image may have more things than are listed, by label, and why; `image`: all of them."""

    image: str
    labels: Mapping[str, str]

    def rule(self, label: str) -> str:
        """The rule by which a class is left out; empty where all its things are known."""
        return self.image or self.labels.get(label, "")


def completeness(scene: Sample) -> Completeness:
    """What is known of the classes of an image."""
    names = scene.attributes.get(NOT_EXHAUSTIVE_FIELD, ())
    labels = {str(name): NOT_EXHAUSTIVE for name in names} if isinstance(names, tuple) else {}
    labels |= {annotation.label: CROWD for annotation in scene.annotations if annotation.extra.get("iscrowd")}
    ignored = any(annotation.extra.get("ignore") for annotation in scene.annotations)
    return Completeness(LOST if scene.lost else IGNORED if ignored else "", labels)


def is_alone(annotation: Annotation, scene: Sample) -> bool:
    """Whether a thing is known to be the only one that the dataset would mark in its image."""
    return len(scene.annotations) == 1 and not completeness(scene).rule(annotation.label)
