"""The curations of AVA-Bench: how items of an ability are made from annotated images, by the ability's name."""

from __future__ import annotations

from snellen.curated_sets.ava_bench.abilities import (
    absolute_depth,
    colour,
    counting,
    emotion,
    fine_grained,
    image_classes,
    localization,
    nearer_localization,
    ocr,
    orientation,
    relative_depth,
    spatial,
)
from snellen.curated_sets.ava_bench.selection.candidates import Curation
from snellen.suites.ava_bench.abilities import ABILITIES

_ALL = {
    "localization": localization.CURATION,
    "counting": counting.CURATION,
    "spatial": spatial.CURATION,
    "orientation": orientation.CURATION,
    "absolute-depth": absolute_depth.CURATION,
    "relative-depth": relative_depth.CURATION,
    "object": localization.OBJECT_CURATION,
    "fine-grained": fine_grained.CURATION,
    "colour": colour.CURATION,
    "texture": image_classes.TEXTURE_CURATION,
    "ocr": ocr.CURATION,
    "action": image_classes.ACTION_CURATION,
    "emotion": emotion.CURATION,
    "scene": image_classes.SCENE_CURATION,
    "nearer-localization": nearer_localization.CURATION,
}
CURATIONS: dict[str, Curation] = {task: _ALL[task] for task in ABILITIES if task in _ALL}
"""In the order of the registry. Callers look them up on every call, so that one registered at run time takes part."""
