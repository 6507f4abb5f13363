"""The completeness of annotations: one rule for all abilities that count things or ask for the only one of a class.

An image may have more things of a class than are listed if the dataset did not annotate all of them (LVIS), annotates
several as one group (COCO, Objects365) or as indistinguishable (CrowdHuman), or has unusable annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from snellen.datasets.sample import NOT_EXHAUSTIVE_FIELD, Sample

LOST = "image with unusable annotations, so that not all things are known"
NOT_EXHAUSTIVE = "thing of a class of which not all are annotated in the image"
CROWD = "thing of a class of which some are annotated as a group in the image"
IGNORED = "image with things annotated as indistinguishable"


@dataclass(frozen=True)
class Completeness:
    """Rules by label for classes with possibly unlisted things; `image` is the rule for all classes, if any."""

    image: str
    labels: Mapping[str, str]

    def rule(self, label: str) -> str:
        """The rule that leaves a class out, empty if all its things are known."""
        return self.image or self.labels.get(label, "")


def completeness(scene: Sample) -> Completeness:
    """The completeness of an image's classes."""
    names = scene.attributes.get(NOT_EXHAUSTIVE_FIELD, ())
    labels = {str(name): NOT_EXHAUSTIVE for name in names} if isinstance(names, tuple) else {}
    labels |= {annotation.label: CROWD for annotation in scene.annotations if annotation.extra.get("iscrowd")}
    ignored = any(annotation.extra.get("ignore") for annotation in scene.annotations)
    return Completeness(LOST if scene.lost else IGNORED if ignored else "", labels)
