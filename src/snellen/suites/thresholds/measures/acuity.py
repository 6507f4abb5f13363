"""Acuity: the smallest gap of a Landolt ring whose direction is recognised, alone and among other rings.

The ring is that of ISO 8596: five gaps wide, its stroke one gap. The crowded one stands among four others, whose gaps
are elsewhere, at a distance of one gap.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from snellen.suites.thresholds.measures.measure import (
    SIDE,
    Measure,
    Stimulus,
    StimulusImage,
    contrasting,
    geometric,
    random_shift,
)
from snellen_sight.directions import DIRECTIONS, DIRECTIONS_IN_WORDS, RING_QUESTION
from snellen_sight.figures import canvas, coverage, image_of, landolt, paint, window

SPACING = 6.0
"""Distance of the flanking rings' centres, in gaps."""


def draw(stimulus: Stimulus, rng: np.random.Generator, flankers: bool) -> StimulusImage:
    """A ring near the middle, alone or between four others."""
    ground, ink, polarity = contrasting(rng)
    plane, gap = canvas(stimulus.side, ground), stimulus.level
    dx, dy = random_shift(rng)
    x, y, shift = stimulus.side / 2 + dx, stimulus.side / 2 + dy, {"shift_x": dx, "shift_y": dy}
    rings = [(x, y, stimulus.answer)]
    if flankers:
        away = SPACING * gap
        others = [int(d) for d in rng.permutation([d for d in range(8) if d != stimulus.answer])[:4]]
        places = ((x - away, y), (x + away, y), (x, y - away), (x, y + away))
        rings += [(*place, direction) for place, direction in zip(places, others, strict=True)]
    for ring_x, ring_y, direction in rings:
        part = window(plane, ring_x, ring_y, 2.5 * gap + 1)
        paint(plane, part, coverage(landolt(ring_x, ring_y, gap, direction), part), ink)
    return StimulusImage(image_of(plane), {"polarity": polarity}, shift)


ACUITY = Measure(
    task="acuity",
    quantity="gap_px",
    unit="px",
    question=RING_QUESTION,
    question_for_people="On which side of the ring is the gap?",
    answers=DIRECTIONS,
    levels=geometric(0.5, 32.0),
    control=56.0,
    draw=partial(draw, flankers=False),
    sentence="needs a gap of {value}",
    canvases=(SIDE, 1024, 2048),
)
CROWDED = Measure(
    task="crowded-acuity",
    quantity="gap_px",
    unit="px",
    question=(
        "The image shows five rings, each with a gap. Look at the ring in the middle of the other four. In which "
        f"direction from its middle is its gap: {DIRECTIONS_IN_WORDS}? Reply with the direction alone."
    ),
    question_for_people="On which side of the middle ring is the gap?",
    answers=DIRECTIONS,
    levels=geometric(0.5, 20.0),
    control=22.0,
    draw=partial(draw, flankers=True),
    sentence="needs a gap of {value} between four other rings",
)
