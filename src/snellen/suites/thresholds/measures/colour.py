"""Colour: the smallest difference of two colours that is noticed, in CIEDE2000."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from snellen.core.colour import lab_to_linear
from snellen.scoring.metrics import ciede2000
from snellen.suites.thresholds.measures.measure import (
    Measure,
    Stimulus,
    StimulusImage,
    geometric,
    numbered,
    odd_question,
    patch_layout,
    shift_of,
)
from snellen_sight.figures import centres, coverage, disc, encoded, image_of, paint, window

CENTRES = {
    "grey": (61.65, 0.11, 0.04),
    "red": (44.38, 36.91, 23.33),
    "yellow": (86.65, -6.92, 47.15),
    "green": (56.09, -32.13, 0.44),
    "blue": (35.60, 4.83, -30.18),
}
"""L*, a* and b* of the five colour centres of the CIE (Robertson 1978, Color Research & Application 3)."""
DIRECTIONS, RADIUS, STEPS = 8, 36.0, 30
"""Directions in the plane of a* and b*, radius of a patch in pixels, and halvings of a distance that is sought."""


@lru_cache(maxsize=1024)
def colour_at(centre: str, direction: int, difference: float) -> NDArray[np.float64] | None:
    """The colour (L*, a*, b*) at a CIEDE2000 difference from a centre, in a direction of the plane of a* and b*.

    None if sRGB does not have it.
    """
    start, angle = np.array(CENTRES[centre]), 2 * np.pi * direction / DIRECTIONS
    step = np.array([0.0, np.cos(angle), np.sin(angle)])
    base = _srgb(start)

    def distance(length: float) -> float:
        return ciede2000(base, _srgb(start + length * step))

    low, high = 0.0, 1.0
    while distance(high) < difference:
        high *= 2
        if not _is_displayable(start + high * step / 2):
            return None
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if distance(middle) < difference else (low, middle)
    end = start + high * step
    return end if _is_displayable(end) else None


def _is_displayable(lab: NDArray[np.float64]) -> bool:
    linear = lab_to_linear(lab)
    return bool((linear >= 0).all() and (linear <= 1).all())


def _srgb(lab: NDArray[np.float64]) -> list[float]:
    return [float(value) for value in encoded(np.clip(lab_to_linear(lab), 0, 1))]


def draw(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """Nine discs on grey, of which one differs by the level. All are rounded by the same noise."""
    patches = list(patch_layout(rng))
    pairs = [(centre, direction) for centre in CENTRES for direction in range(DIRECTIONS)]
    for index in rng.permutation(len(pairs)):
        centre, direction = pairs[int(index)]
        if (other := colour_at(centre, direction, stimulus.level)) is not None:
            break
    else:
        raise ValueError(f"no colour of sRGB is {stimulus.level:g} away from any centre: lower the level")
    ends = [lab_to_linear(np.array(CENTRES[centre])), lab_to_linear(other)]
    usual, odd = ends if rng.random() < 0.5 else ends[::-1]
    light = float(rng.uniform(0.1, 0.6))
    plane = numbered([light] * 3, 0.0 if light > 0.18 else 1.0, patches)
    noisy = np.zeros(plane.shape[:2], np.bool_)
    for number, (_, x, y) in enumerate(patches):
        part = window(plane, x, y, RADIUS + 1)
        paint(plane, part, coverage(disc(x, y, RADIUS), part), odd if number == stimulus.answer else usual)
        across, down = centres(part)
        noisy[part] |= np.hypot(across - x, down - y) < RADIUS + 1
    return StimulusImage(
        image_of(plane, noisy, rng),
        {"centre": centre},
        {"direction_degrees": 360.0 / DIRECTIONS * direction, **shift_of(patches)},
    )


COLOUR = Measure(
    task="colour-difference",
    quantity="ciede2000",
    unit="ΔE",
    question=odd_question("Eight patches have the same colour. One patch has another colour."),
    question_for_people="Which patch has another colour?",
    levels=geometric(0.25, 30.0),
    control=40.0,
    draw=draw,
    sentence="needs a difference of colour of {value} (CIEDE2000)",
)
