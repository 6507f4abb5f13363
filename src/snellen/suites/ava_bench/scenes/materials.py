"""Materials for the things of a kind, such that many of them share one colour and others do not."""

from __future__ import annotations

import numpy as np

from snellen.stimuli.scenes import COLOURS, Material
from snellen.stimuli.scenes.composites import MATERIAL_VARIANTS
from snellen.suites.ava_bench.scenes.scenes import dealt

TABLE_MATERIALS: tuple[Material, ...] = tuple(material for material in MATERIAL_VARIANTS if material.kind != "glass")
"""Materials of things; small things of glass could not be counted."""
FIRST, SECOND = (0.55, 0.75), 0.25
"""Shares of a group in its first and its second colour; the rest is of any material.

With a larger first share, counting all things of the kind would be nearly right for the colour; with a smaller one, no
colour would reach eleven things. All are ours.
"""


def group_materials(count: int, first: str, rng: np.random.Generator) -> list[Material]:
    """Materials for `count` things of a kind in a random order: most of colour `first`, a few of another one.

    Of two things or more at least one has another colour. Materials of a colour are as equally frequent as their number
    allows.
    """
    second = str(rng.choice([colour for colour in COLOURS if colour != first]))
    many = max(1, min(count - 1, round(float(rng.uniform(*FIRST)) * count)))
    few = min(count - many, max(1, round(SECOND * count)))
    materials = [
        *dealt(_coloured(first), many, rng),
        *dealt(_coloured(second), few, rng),
        *dealt(TABLE_MATERIALS, count - many - few, rng),
    ]
    return [materials[int(n)] for n in rng.permutation(len(materials))]


def _coloured(colour: str) -> list[Material]:
    return [material for material in TABLE_MATERIALS if material.colour == colour]
