"""Contrast: the smallest Michelson contrast of a grating that is noticed, by spatial frequency."""

from __future__ import annotations

import numpy as np

from snellen.core.colour import srgb_to_linear
from snellen.suites.thresholds.measures.measure import (
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
from snellen_sight.figures import centres, encoded, image_of, paint, window

FREQUENCIES = {"1/32": 1 / 32, "1/16": 1 / 16, "1/8": 1 / 8, "1/4": 1 / 4}
"""Spatial frequencies in cycles per pixel; in the patch of 96 pixels these are 3 to 24 cycles."""


OFFSET = 14 / 255
"""The greatest difference of a patch's grey from the ground, as a share of the range of sRGB values."""


def amplitude(grey: float, contrast: float) -> float:
    """The amplitude around `grey`, in sRGB values of 0 to 1, at which linear light has a Michelson contrast.

    Exact where neither end is in the linear part of sRGB (below 0.04), as for all levels of the bank.
    """
    ratio: float = ((1 + contrast) / (1 - contrast)) ** (1 / 2.4)
    return (grey + 0.055) * (ratio - 1) / (ratio + 1)


def draw(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """Nine circles, each with a grey of its own, one with a grating in it: a sinusoid that fades towards the edge.

    Contrast is (greatest - least) / (greatest + least) linear light at the grating's middle. The sinusoid is one of
    sRGB values, which subjects get: their mean tells nothing. All nine patches are rounded by the same noise.
    """
    ground = float(rng.uniform(0.12, 0.24))
    patches = list(patch_layout(rng))
    plane = numbered(ground, 0.0, patches)
    noisy = np.zeros(plane.shape[:2], np.bool_)
    angle, phase = rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi)
    frequency, offsets = FREQUENCIES[stimulus.variant], rng.uniform(-OFFSET, OFFSET, len(patches))
    for number, (_, x, y) in enumerate(patches):
        part = window(plane, x, y, RADIUS + 4)
        across, down = (axis - centre for axis, centre in zip(centres(part), (x, y), strict=True))
        distance = np.hypot(across, down)
        inside = distance < RADIUS
        noisy[part] |= inside
        grey = float(encoded(np.array(ground))) / 255 + offsets[number]
        values = np.full(distance.shape, grey)
        if number == stimulus.answer:
            fade = 0.5 + 0.5 * np.cos(np.pi * distance / RADIUS)
            wave = np.cos(2 * np.pi * frequency * (across * np.cos(angle) + down * np.sin(angle)) + phase)
            values += amplitude(grey, stimulus.level) * fade * wave
        plane[part][inside] = srgb_to_linear(values[inside])[:, None]
        paint(plane, part, np.clip(1.1 - np.abs(distance - RADIUS - 2), 0.0, 1.0), 0.6 * ground)
    return StimulusImage(image_of(plane, noisy, rng), {}, {"ground": round(ground, 4), **shift_of(patches)})


CONTRAST = Measure(
    task="contrast",
    quantity="contrast_percent",
    unit="%",
    question=odd_question("Each patch is grey. Eight patches are plain. One patch has stripes in it."),
    question_for_people="Which patch has stripes?",
    levels=geometric(0.2, 60.0),
    control=95.0,
    draw=lambda stimulus, rng: draw(stimulus._replace(level=stimulus.level / 100), rng),
    sentence="needs a contrast of {value}, at the frequency that it sees best",
    variants=tuple(FREQUENCIES),
)
