"""The colour at an end of an image of 3:1."""

from __future__ import annotations

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import COLOUR_ALONE, SightCheck, choice, listed
from snellen_sight.drawing import STABLE, png
from snellen_sight.likelihood import FINE, SightQuestion


def _ends(rng: np.random.Generator, number: int) -> SightQuestion:
    is_wide, is_end = number % 2 == 0, number // 2 % 2 == 1
    near, far = ([str(colour) for colour in rng.permutation(STABLE)[:3]] for _ in range(2))
    if near[2] == far[2]:
        far = far[1:] + far[:1]
    colours = [*near, *far[::-1]]
    side = (("left", "right") if is_wide else ("top", "bottom"))[is_end]
    text = (
        f"The image has bands of colour from {'left to right' if is_wide else 'top to bottom'}. Which colour is the "
        f"band at the {side} end: {listed(STABLE)}? {COLOUR_ALONE}"
    )
    outermost, second, third = far if is_end else near
    image = png(drawing.bands(colours, is_wide))
    return choice("crop", image, text, STABLE, fine=outermost, narrow=second, centre=third)


CROP = SightCheck("crop", _ends, 4, 9, "the ends of long images", {
    FINE: "the ends of images of 3:1 arrive", "narrow": "the ends of images of 3:1 are cut off",
    "centre": "only the middle of images of 3:1 arrives: they are cropped to a square",
}, needs_colours=True)  # fmt: skip
