"""Length: the smallest difference in length that is noticed, as a Weber fraction."""

from __future__ import annotations

import math

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

WIDTHS, NARROWER = (2.0, 13.0), 0.6
"""Least and greatest width of a usual bar in pixels; the odd bar is narrower by this power of its ratio of lengths."""


def draw(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """Nine bars, all upright or all level, of which one is longer than the others.

    Each has a width of its own, uniform in its logarithm. The longer bar is narrower, so that neither ink
    nor width alone tells which it is.
    """
    ground, ink, polarity = contrasting(rng)
    patches, upright = list(patch_layout(rng)), rng.random() < 0.5
    base = float(rng.uniform(36, 42))
    plane = numbered(ground, ink, patches)
    widths = np.exp(rng.uniform(math.log(WIDTHS[0]), math.log(WIDTHS[1]), len(patches)))
    for number, (_, x, y) in enumerate(patches):
        ratio = 1 + stimulus.level / 100 * (number == stimulus.answer)
        half, half_width = base * ratio / 2, float(widths[number] / ratio**NARROWER) / 2
        w, h = (half_width, half) if upright else (half, half_width)
        rectangle(plane, x - w, y - h, x + w, y + h, ink)
    factors = {"polarity": polarity, "bars": "upright" if upright else "level"}
    return StimulusImage(image_of(plane), factors, {"base_px": round(base, 2), **shift_of(patches)})


LENGTH = Measure(
    task="length",
    quantity="longer_percent",
    unit="%",
    question=odd_question("Each patch has a bar. One bar is longer than the other eight, which are equally long."),
    question_for_people="Which bar is the longest?",
    levels=geometric(0.8, 80.0),
    control=100.0,
    draw=draw,
    sentence="needs a bar that is longer by {value}",
)
