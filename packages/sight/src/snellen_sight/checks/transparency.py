"""The colour around a disc in a transparent PNG file."""

from __future__ import annotations

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import COLOUR_ALONE, SightCheck, choice, listed
from snellen_sight.drawing import STABLE, png
from snellen_sight.likelihood import FINE, SightQuestion


def _transparency(rng: np.random.Generator, number: int) -> SightQuestion:
    hidden = ("green", "magenta")[number % 2]
    text = f"The image shows a grey disc. Which colour is the background around it: {listed(STABLE)}? {COLOUR_ALONE}"
    image = png(drawing.transparent(hidden))
    return choice("transparency", image, text, STABLE, fine="white", black="black", hidden=hidden)


TRANSPARENCY = SightCheck("transparency", _transparency, 3, 9, "transparency", {
    FINE: "transparent areas arrive white", "black": "transparent areas arrive black: dark drawings vanish",
    "hidden": "transparency is ignored: the colours that it hides arrive",
}, needs_colours=True)  # fmt: skip
