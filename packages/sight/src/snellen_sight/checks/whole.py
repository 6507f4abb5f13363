"""The gap of a ring that is larger than a tile."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import SightCheck, choice
from snellen_sight.directions import DIRECTIONS, RING_QUESTION
from snellen_sight.drawing import SIDE, png
from snellen_sight.likelihood import FINE, SightQuestion


def _ring(rng: np.random.Generator, number: int) -> SightQuestion:
    is_large, direction = number % 5 in (1, 2, 4), int(rng.integers(8))
    side, gap_px = (drawing.LONG, 160.0) if is_large else (SIDE, 50.0)
    image = png(drawing.ring(side, gap_px, direction))
    question = choice("whole", image, RING_QUESTION, DIRECTIONS, fine=DIRECTIONS[direction])
    split = (frozenset(DIRECTIONS),) if is_large else question.expected[FINE]
    return replace(question, expected={**question.expected, "split": split})


WHOLE = SightCheck("whole", _ring, 5, 9, "large figures", {
    FINE: "a figure of 800 px is seen as a whole",
    "split": "a figure of 800 px is not seen as a whole, one of 250 px is: tiles arrive without an overview",
})  # fmt: skip
