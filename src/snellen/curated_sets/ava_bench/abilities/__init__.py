"""The curations of AVA-Bench: how items of an ability are made from real datasets, by the ability's name."""

from __future__ import annotations

from snellen.curated_sets.ava_bench.abilities import emotion, fine_grained, image_classes
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.selection import abilities
from snellen.suites.ava_bench.selection.candidates import Curation

_OF_IMAGES = {
    "fine-grained": fine_grained.CURATION,
    "texture": image_classes.TEXTURE_CURATION,
    "action": image_classes.ACTION_CURATION,
    "emotion": emotion.CURATION,
    "scene": image_classes.SCENE_CURATION,
}
_ALL = {**abilities.CURATIONS, **_OF_IMAGES}
CURATIONS: dict[str, Curation] = {task: _ALL[task] for task in ABILITIES if task in _ALL}
"""In the order of the registry. Callers look them up on every call, so that one registered at run time takes part."""
