"""Pointing: the smallest disc that is hit, among squares of the same area and contrast.

A disc is hit by a point within it, however small it is: a hit counted from some pixels around a tiny disc would be a
threshold of its own. The smallest one has a radius of 1.5 px, more than what replies in thousandths and clicks round
to. With errors of the standard deviation s along both axes and no bias, a disc of diameter d is hit with the
probability 1 - 2^-((d / 2.355 s)^2): the threshold is 2.355 s, and the slope of the Weibull function is 2.
"""

from __future__ import annotations

import math

import numpy as np

from snellen.suites.thresholds.measures.measure import Measure, Stimulus, StimulusImage, contrasting, geometric
from snellen_sight.figures import canvas, coverage, disc, image_of, paint, rectangle, window

ECCENTRICITIES = {"near": (0.0, 75.0), "middle": (75.0, 150.0), "far": (150.0, math.inf)}
"""Least and greatest distance of the disc from the middle of the canvas, in pixels."""
SQUARES, APART, MARGIN = 6, 4.0, 2.0
"""The number of squares, and the least distance in pixels between figures, and of figures from the edge."""
TRIES = 200


def places(stimulus: Stimulus, rng: np.random.Generator) -> list[tuple[float, float]]:
    """The middle of the disc, then those of the squares, in pixels."""
    near, far = ECCENTRICITIES[stimulus.variant]
    edge, pitch = stimulus.level / 2 + MARGIN, stimulus.level + APART
    while True:
        middles = list[tuple[float, float]]()
        for _ in range(TRIES):
            x, y = (round(float(place), 3) for place in rng.uniform(edge, stimulus.side - edge, 2))
            away = math.hypot(x - stimulus.side / 2, y - stimulus.side / 2)
            is_free = all(max(abs(x - left), abs(y - top)) >= pitch for left, top in middles)
            if is_free and (middles or near <= away < far):
                middles.append((x, y))
            if len(middles) > SQUARES:
                return middles


def draw(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """The disc, whose diameter is the level, and the squares."""
    ground, ink, polarity = contrasting(rng)
    (x, y), *squares = places(stimulus, rng)
    plane, radius = canvas(stimulus.side, ground), stimulus.level / 2
    region = window(plane, x, y, radius + 1)
    paint(plane, region, coverage(disc(x, y, radius), region), ink)
    half = radius * math.sqrt(math.pi) / 2
    for left, top in squares:
        rectangle(plane, left - half, top - half, left + half, top + half, ink)
    measures = {
        "radius_px": radius,
        "shift_x": round(x - stimulus.side / 2, 3),
        "shift_y": round(y - stimulus.side / 2, 3),
    }
    return StimulusImage(image_of(plane), {"polarity": polarity, "eccentricity": stimulus.variant}, measures)


POINTING = Measure(
    task="pointing",
    quantity="disc_px",
    unit="px",
    question="The image shows one disc among squares. Where is the middle of the disc?",
    question_for_people="Click on the middle of the disc.",
    answers=(),
    levels=geometric(3.0, 96.0),
    control=112.0,
    draw=draw,
    sentence="hits discs of {value} in diameter",
    variants=tuple(ECCENTRICITIES),
)
