"""What the things of a kind are made of, such that many of them have one colour and others do not."""

from __future__ import annotations

import numpy as np

from snellen.stimuli.scenes import COLOURS, Material
from snellen.stimuli.scenes.composites import MATERIAL_VARIANTS
from snellen.suites.ava_bench.scenes.scenes import dealt

STUFFS: tuple[Material, ...] = tuple(one for one in MATERIAL_VARIANTS if one.kind != "glass")
"""What things are made of; little things of glass could not be counted."""
FIRST, SECOND = (0.55, 0.75), 0.25
"""Shares of a group in its first colour, and in its second; the rest is of any stuff.

Were the first share larger, whoever counts all things of the kind would hardly be wrong about those of the colour; were
it smaller, none would be as many as eleven. All are ours.
"""


def group_stuffs(count: int, first: str, rng: np.random.Generator) -> list[Material]:
    """Stuffs for `count` things of a kind in a random order: most of colour `first`, a few of another one.

    Of two things or more at least one is of another colour. Stuffs of a colour come as evenly as their number allows.
    """
    second = str(rng.choice([colour for colour in COLOURS if colour != first]))
    many = max(1, min(count - 1, round(float(rng.uniform(*FIRST)) * count)))
    few = min(count - many, max(1, round(SECOND * count)))
    found = [
        *dealt(_coloured(first), many, rng),
        *dealt(_coloured(second), few, rng),
        *dealt(STUFFS, count - many - few, rng),
    ]
    return [found[int(n)] for n in rng.permutation(len(found))]


def _coloured(colour: str) -> list[Material]:
    return [one for one in STUFFS if one.colour == colour]
