"""Vernier acuity: the smallest offset of two lines, end to end, that is noticed."""

from __future__ import annotations

import numpy as np

from snellen.suites.thresholds.measures.measure import (
    Measure,
    Stimulus,
    StimulusImage,
    contrasting,
    geometric,
    numbered,
    odd_question,
    patch_layout,
    shift_of,
)
from snellen_sight.figures import image_of, rectangle

WIDTH, LENGTH, DISTANCE = 3.0, 34.0, 4.0
"""Width and length of a line and the distance between the two, in pixels."""


def draw(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """Nine pairs of lines, upright or level; the two of one pair are offset by the level."""
    ground, ink, polarity = contrasting(rng)
    patches, upright = list(patch_layout(rng)), rng.random() < 0.5
    side = 1 if rng.random() < 0.5 else -1
    plane = numbered(ground, ink, patches)
    for number, (_, x, y) in enumerate(patches):
        offset = side * stimulus.level / 2 if number == stimulus.answer else 0.0
        for sign in (-1, 1):
            aside, start = sign * offset - WIDTH / 2, DISTANCE / 2 if sign > 0 else -DISTANCE / 2 - LENGTH
            ends = (aside, start, aside + WIDTH, start + LENGTH)
            x0, y0, x1, y1 = ends if upright else (ends[1], ends[0], ends[3], ends[2])
            rectangle(plane, x + x0, y + y0, x + x1, y + y1, ink)
    return StimulusImage(
        image_of(plane), {"polarity": polarity, "lines": "upright" if upright else "level"}, shift_of(patches)
    )


VERNIER = Measure(
    task="vernier",
    quantity="offset_px",
    unit="px",
    question=odd_question(
        "Each patch has two lines, end to end. In eight patches they are aligned. In one patch they are offset."
    ),
    question_for_people="In which patch are the two lines not aligned?",
    levels=geometric(0.05, 10.0),
    control=18.0,
    draw=draw,
    sentence="needs an offset of {value}",
)
