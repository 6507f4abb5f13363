"""What the things of a kind are made of, such that many of them have one colour and others do not."""

from __future__ import annotations

import numpy as np

from snellen.stimuli.scenes import COLOURS, Material
from snellen.stimuli.scenes.composites import MATERIAL_VARIANTS
from snellen.suites.ava_bench.scenes.scenes import dealt

TABLE_MATERIALS: tuple[Material, ...] = tuple(material for material in MATERIAL_VARIANTS if material.kind != "glass")
"""What things are made of; little things of glass could not be counted."""
FIRST, SECOND = (0.55, 0.75), 0.25
"""Shares of a group in its first colour, and in its second; the rest is of any material.

Were the first share larger, whoever counts all things of the kind would hardly be wrong about those of the colour; were
it smaller, none would be as many as eleven. All are ours.
"""


def group_materials(count: int, first: str, rng: np.random.Generator) -> list[Material]:
    """Materials for `count` things of a kind in a random order: most of colour `first`, a few of another one.

    Of two things or more at least one is of another colour. Materials of a colour come as evenly as their number
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
