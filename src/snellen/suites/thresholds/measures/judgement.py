"""Judgements with yes and no: whether two circles touch, and whether an upright bar is shorter than a level one.

An accuracy would mix a shifted criterion with a lack of precision, so these tasks have two numbers: the level at which
yes and no are equally frequent, and the spread of what is judged (`scoring.equality`). The circles are those of "Vision
language models are blind" (Rahmanzadehgervi et al. 2024); upright bars look longer to people (Fick 1851).
"""

from __future__ import annotations

import numpy as np

from snellen.suites.thresholds.measures.measure import (
    YES_OR_NO,
    Measure,
    Stimulus,
    StimulusImage,
    contrasting,
    linear,
    random_shift,
)
from snellen_sight.figures import Shape, canvas, coverage, image_of, paint, rectangle, window

BAR_WIDTH = 5.0
"""Width of a bar in pixels."""


def _outline(x: float, y: float, radius: float, width: float) -> Shape:
    return lambda across, down: np.abs(np.hypot(across - x, down - y) - radius + width / 2) - width / 2


def draw_circles(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """The outlines of two equal circles in any direction; the level is the gap between them in diameters."""
    ground, ink, polarity = contrasting(rng)
    plane = canvas(stimulus.side, ground)
    dx, dy = random_shift(rng)
    radius, width, angle = float(rng.uniform(36, 48)), float(rng.uniform(2, 4)), float(rng.uniform(0, np.pi))
    away = radius * (1 + stimulus.level)
    for sign in (-1, 1):
        x = stimulus.side / 2 + dx + sign * away * float(np.cos(angle))
        y = stimulus.side / 2 + dy + sign * away * float(np.sin(angle))
        region = window(plane, x, y, radius + 2)
        paint(plane, region, coverage(_outline(x, y, radius, width), region), ink)
    measures = {"diameter_px": round(2 * radius, 2), "shift_x": dx, "shift_y": dy}
    return StimulusImage(image_of(plane), {"polarity": polarity}, measures)


def draw_bars(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """An upright and a level bar side by side; the level is how much longer the upright one is, in percent."""
    ground, ink, polarity = contrasting(rng)
    plane = canvas(stimulus.side, ground)
    dx, dy = random_shift(rng)
    base, is_left = float(rng.uniform(90, 120)), rng.random() < 0.5
    sign = -1 if is_left else 1
    upright, y = stimulus.side / 2 + dx + sign * 95, stimulus.side / 2 + dy
    other, half = stimulus.side / 2 + dx - sign * 95, base * (1 + stimulus.level / 100) / 2
    rectangle(plane, upright - BAR_WIDTH / 2, y - half, upright + BAR_WIDTH / 2, y + half, ink)
    rectangle(plane, other - base / 2, y - BAR_WIDTH / 2, other + base / 2, y + BAR_WIDTH / 2, ink)
    factors = {"polarity": polarity, "upright": "left" if is_left else "right"}
    return StimulusImage(image_of(plane), factors, {"base_px": round(base, 2), "shift_x": dx, "shift_y": dy})


TOUCHING = Measure(
    task="touching",
    quantity="gap_diameters",
    unit="diameters",
    question="The image shows two circles. Do they touch or overlap? Reply with yes or no.",
    question_for_people="Do the circles touch or overlap?",
    answers=YES_OR_NO,
    levels=linear(-0.2, 0.4),
    control=1.0,
    control_yes=-0.5,
    most_yes=0.0,
    draw=draw_circles,
    sentence="calls circles touching up to a gap of {value}",
    negative_sentence="calls circles touching only from an overlap of {value}",
)
SAME_LENGTH = Measure(
    task="same-length",
    quantity="upright_longer_percent",
    unit="%",
    question="The image shows an upright and a level bar. Is the upright bar shorter? Reply with yes or no.",
    question_for_people="Is the upright bar shorter than the level one?",
    answers=YES_OR_NO,
    levels=linear(-30.0, 30.0),
    control=80.0,
    control_yes=-60.0,
    most_yes=0.0,
    draw=draw_bars,
    sentence="calls an upright bar as long as a level one if it is longer by {value}",
    negative_sentence="calls an upright bar as long as a level one if it is shorter by {value}",
)
