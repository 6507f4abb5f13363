"""Orientation: the smallest tilt of one bar against eight others that is noticed."""

from __future__ import annotations

import math

import numpy as np

from snellen.suites.thresholds.measures.measure import (
    RADIUS,
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
from snellen_sight.figures import bar, coverage, image_of, paint, window

LENGTH, WIDTHS = 60.0, (3.0, 9.0)
"""Length of a bar, and least and greatest width, in pixels."""


def draw(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """Nine bars at any angle, of which one is turned by the level against the others.

    Each has a width of its own, uniform in its logarithm: what a square window cuts off of a bar tells nothing.
    """
    ground, ink, polarity = contrasting(rng)
    patches = list(patch_layout(rng))
    base, side = float(rng.uniform(0, 180)), 1 if rng.random() < 0.5 else -1
    plane = numbered(ground, ink, patches)
    widths = np.exp(rng.uniform(math.log(WIDTHS[0]), math.log(WIDTHS[1]), len(patches)))
    for number, (_, x, y) in enumerate(patches):
        degrees = base + (side * stimulus.level if number == stimulus.answer else 0.0)
        part = window(plane, x, y, RADIUS)
        paint(plane, part, coverage(bar(x, y, LENGTH, float(widths[number]), degrees), part), ink)
    return StimulusImage(image_of(plane), {"polarity": polarity}, {"base_degrees": round(base, 2), **shift_of(patches)})


ORIENTATION = Measure(
    task="orientation",
    quantity="tilt_degrees",
    unit="°",
    question=odd_question("Each patch has a bar. Eight bars are parallel. One bar is tilted against them."),
    question_for_people="Which bar is tilted against the others?",
    levels=geometric(0.25, 45.0),
    control=75.0,
    draw=draw,
    sentence="needs a tilt of {value}",
)
