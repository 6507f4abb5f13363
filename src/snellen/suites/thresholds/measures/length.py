"""Length: the smallest difference in length that is noticed, as a Weber fraction."""

from __future__ import annotations

import numpy as np

from snellen.suites.thresholds.measures.measure import (
    PLACES,
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

WIDTH = 5.0
"""Width of a bar in pixels."""


def draw(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """Nine bars, all upright or all level, of which one is longer than the others."""
    ground, ink, polarity = contrasting(rng)
    patches, upright = list(patch_layout(rng)), rng.random() < 0.5
    base = float(rng.uniform(36, 42))
    plane = numbered(ground, ink, patches)
    for number, (_, x, y) in enumerate(patches):
        half = base * (1 + stimulus.level / 100 * (number == stimulus.answer)) / 2
        w, h = (WIDTH / 2, half) if upright else (half, WIDTH / 2)
        rectangle(plane, x - w, y - h, x + w, y + h, ink)
    factors = {"polarity": polarity, "bars": "upright" if upright else "level"}
    return StimulusImage(image_of(plane), factors, {"base_px": round(base, 2), **shift_of(patches)})


LENGTH = Measure(
    task="length",
    quantity="longer_percent",
    unit="%",
    question=odd_question("Each patch has a bar. One bar is longer than the other eight, which are equally long."),
    question_for_people="Which bar is the longest?",
    answers=PLACES,
    levels=geometric(0.8, 80.0),
    control=120.0,
    draw=draw,
    sentence="needs a bar that is longer by {value}",
)
