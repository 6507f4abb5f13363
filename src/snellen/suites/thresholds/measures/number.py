"""Number: the smallest difference in the number of dots that is noticed, as a Weber fraction.

Dots are counted, and may be judged by their size, area or spread. As in the design of DeWind, Adams, Platt and Brannon
(2015, Cognition 142) these vary apart from number: every patch has its own size of dots and its own spread, and in half
of the images the dots of the odd patch have the same area together as those of the others, in half the same size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from snellen.suites.thresholds.measures.measure import (
    PLACES,
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


def scattered(count: int, reach: float, distance: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Points (count, 2) within `reach` of 0, at least `distance` apart, or as far as there is room."""
    points = np.full((count, 2), 1e9)
    for number in range(count):
        angles, lengths = rng.uniform(0, 2 * np.pi, 40), reach * np.sqrt(rng.uniform(0, 1, 40))
        tries = np.stack([lengths * np.cos(angles), lengths * np.sin(angles)], 1)
        gaps = np.sqrt(((tries[:, None] - points[None, :number]) ** 2).sum(2)).min(1, initial=np.inf)
        far = np.flatnonzero(gaps >= distance)
        points[number] = tries[far[0] if len(far) else int(np.argmax(gaps))]
    return points


def draw(stimulus: Stimulus, rng: np.random.Generator) -> StimulusImage:
    """Nine patches of dots, of which one has more than the others."""
    ground, ink, polarity = contrasting(rng)
    patches = list(patch_layout(rng))
    plane, points, radii = numbered(ground, ink, patches), list[NDArray[np.float64]](), list[NDArray[np.float64]]()
    same_area = rng.random() < 0.5
    for number, (_, x, y) in enumerate(patches):
        is_odd = number == stimulus.answer
        count = BASE + round(BASE * stimulus.level / 100) if is_odd else BASE
        radius = float(rng.uniform(2.1, 2.7)) * (np.sqrt(BASE / count) if same_area else 1.0)
        reach = float(rng.uniform(38, 44))
        points.append(np.array([x, y]) + scattered(count, reach, 2 * radius + 1, rng))
        radii.append(np.full(count, radius))
    dots(plane, np.concatenate(points), np.concatenate(radii), ink)
    return StimulusImage(
        image_of(plane), {"polarity": polarity, "equal": "total area" if same_area else "size"}, shift_of(patches)
    )


NUMBER = Measure(
    task="number",
    quantity="more_percent",
    unit="%",
    question=odd_question(
        "Each patch has dots. One patch has more dots than the other eight, which have equally many."
    ),
    question_for_people="Which patch has the most dots?",
    answers=PLACES,
    levels=tuple(100 * more / BASE for more in MORE),
    control=100 * CONTROL / BASE,
    draw=draw,
    sentence="needs {value} more dots",
)
