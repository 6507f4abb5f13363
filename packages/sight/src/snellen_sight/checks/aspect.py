"""Circle or ellipse, in an image of 3:1."""

from __future__ import annotations

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import SightCheck, choice
from snellen_sight.drawing import png
from snellen_sight.likelihood import FINE, SightQuestion


def _aspect(rng: np.random.Generator, number: int) -> SightQuestion:
    is_circle, is_wide = number % 2 == 0, number // 2 % 2 == 0
    along, across = ("wide", "tall") if is_wide else ("tall", "wide")
    text = 'Is the black shape a circle, a wide ellipse or a tall ellipse? Reply with "circle", "wide" or "tall".'
    fine, squashed = ("circle", across) if is_circle else (along, "circle")
    image = png(drawing.ellipse(is_circle, is_wide))
    return choice("aspect", image, text, ("circle", "wide", "tall"), fine=fine, squashed=squashed)


ASPECT = SightCheck("aspect", _aspect, 4, 8, "proportions", {
    FINE: "proportions of images of 3:1 are kept", "squashed": "images of 3:1 are squashed to a square",
})  # fmt: skip
