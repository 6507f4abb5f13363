"""Number: the smallest difference in the number of dots that is noticed, as a Weber fraction.

Dots are counted, and may be judged by their size, area or spread. As in the design of DeWind, Adams, Platt and Brannon
(2015, Cognition 142) these vary apart from number: every patch has its own size of dots and its own spread. All
patches have their ink from one distribution, so that the dots of the odd patch are smaller, within the sizes of others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from snellen.suites.thresholds.measures.measure import (
    Measure,
    Stimulus,
    StimulusImage,
    contrasting,
    numbered,
    odd_question,
    patch_layout,
    shift_of,
)
from snellen_sight.figures import dots, image_of

BASE = 20
"""Dots of a usual patch."""
MORE = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 29, 35)
CONTROL = 60
"""Further dots of the odd patch by level, and in controls."""


RADII, REACHES, TRIES = (1.2, 3.6), (34, 44), 40
"""Radii of dots and of the patches that they lie in, in pixels, and places that are tried for each dot."""


def scattered(count: int, reach: float, distance: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Points (count, 2) within `reach` of 0, at least `distance` apart, or as far as there is room."""
    angles, lengths = rng.uniform(0, 2 * np.pi, (count, TRIES)), reach * np.sqrt(rng.uniform(0, 1, (count, TRIES)))
    tries, points = lengths * np.exp(1j * angles), np.full(count, 1e9 + 0j)
    for number in range(count):
        gaps = np.abs(tries[number, :, None] - points[:number]).min(1, initial=np.inf)
        far = gaps >= distance
        points[number] = tries[number, np.argmax(far if far.any() else gaps)]
    return np.stack([points.real, points.imag], 1)


def draw(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """Nine patches of dots, of which one has more than the others."""
    ground, ink, polarity = contrasting(rng)
    patches = list(patch_layout(rng))
    plane, points, radii = numbered(ground, ink, patches), list[NDArray[np.float64]](), list[NDArray[np.float64]]()
    for number, (_, x, y) in enumerate(patches):
        is_odd = number == stimulus.answer
        count = BASE + round(BASE * stimulus.level / 100) if is_odd else BASE
        radius = float(np.exp(rng.uniform(*np.log(RADII)))) * (BASE / count) ** 0.4
        reach = float(rng.uniform(*REACHES))
        points.append(np.array([x, y]) + scattered(count, reach, 2 * radius + 1, rng))
        radii.append(np.full(count, radius))
    dots(plane, np.concatenate(points), np.concatenate(radii), ink)
    return StimulusImage(image_of(plane), {"polarity": polarity}, shift_of(patches))


NUMBER = Measure(
    task="number",
    quantity="more_percent",
    unit="%",
    question=odd_question(
        "Each patch has dots. One patch has more dots than the other eight, which have equally many."
    ),
    question_for_people="Which patch has the most dots?",
    levels=tuple(100 * more / BASE for more in MORE),
    control=100 * CONTROL / BASE,
    draw=draw,
    sentence="needs {value} more dots",
)
