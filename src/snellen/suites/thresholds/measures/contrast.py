"""Contrast: the smallest Michelson contrast of a grating that is noticed, by spatial frequency."""

from __future__ import annotations

import numpy as np

from snellen.suites.thresholds.measures.measure import (
    PLACES,
    RADIUS,
    Measure,
    Stimulus,
    StimulusImage,
    geometric,
    numbered,
    odd_question,
    patch_layout,
    shift_of,
)
from snellen_sight.figures import centres, image_of, paint, window

FREQUENCIES = {"1/32": 1 / 32, "1/16": 1 / 16, "1/8": 1 / 8, "1/4": 1 / 4}
"""Spatial frequencies in cycles per pixel; in the patch of 96 pixels these are 3 to 24 cycles."""


def draw(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """Nine circles on a uniform ground, one with a grating in it: a sinusoid that fades towards the edge.

    Contrast is (greatest - least) / (greatest + least) linear light at the grating's middle. All nine patches are
    rounded by the same noise.
    """
    ground = float(rng.uniform(0.18, 0.45))
    patches = list(patch_layout(rng))
    plane = numbered(ground, 0.0, patches)
    noisy = np.zeros(plane.shape[:2], np.bool_)
    angle, phase = rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi)
    frequency = FREQUENCIES[stimulus.variant]
    for number, (_, x, y) in enumerate(patches):
        part = window(plane, x, y, RADIUS + 4)
        across, down = (axis - centre for axis, centre in zip(centres(part), (x, y), strict=True))
        distance = np.hypot(across, down)
        noisy[part] |= distance < RADIUS
        if number == stimulus.answer:
            fade = np.where(distance < RADIUS, 0.5 + 0.5 * np.cos(np.pi * distance / RADIUS), 0.0)
            wave = np.cos(2 * np.pi * frequency * (across * np.cos(angle) + down * np.sin(angle)) + phase)
            plane[part] *= (1 + stimulus.level * fade * wave)[..., None]
        paint(plane, part, np.clip(1.1 - np.abs(distance - RADIUS - 2), 0.0, 1.0), 0.6 * ground)
    return StimulusImage(image_of(plane, noisy, rng), {}, {"ground": round(ground, 4), **shift_of(patches)})


CONTRAST = Measure(
    task="contrast",
    quantity="contrast_percent",
    unit="%",
    question=odd_question("Eight patches are plain grey. One patch has stripes in it."),
    question_for_people="Which patch has stripes?",
    answers=PLACES,
    levels=geometric(0.2, 60.0),
    control=95.0,
    draw=lambda stimulus, rng: draw(stimulus._replace(level=stimulus.level / 100), rng),
    sentence="needs a contrast of {value}, at the frequency that it sees best",
    variants=tuple(FREQUENCIES),
)
