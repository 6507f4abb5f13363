"""The shade of a plain image, and the quarter that changes smoothly: contrast, gamma and the number of colours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import SightCheck, choice, listed
from snellen_sight.checks.compression import QUARTERS
from snellen_sight.drawing import png
from snellen_sight.likelihood import FINE, SightQuestion

NAMES = ("white", "light grey", "grey", "dark grey", "black")
_FLAT = {"white": "light grey", "black": "dark grey"}


def _shades(rng: np.random.Generator, number: int) -> SightQuestion:
    if number % 2:
        quarter = int(rng.integers(4))
        text = (
            "Each quarter of the image goes from dark to light. One does so smoothly, the others in visible steps. "
            f"Which quarter is smooth: {listed(QUARTERS)}? Reply with the quarter alone."
        )
        right = dict.fromkeys((FINE, "flat", "dark", "light", "stepped"), QUARTERS[quarter])
        question = choice("shades", png(drawing.gradients(quarter)), text, QUARTERS, **right)
        return replace(question, expected={**question.expected, "stepped": (frozenset(QUARTERS),)})
    shade = ("grey", "white", "black")[number // 2 % 3]
    text = f"The image is plain. Which shade is it: {listed(NAMES)}? Reply with the shade alone."
    dark, light = ({"grey": f"{word} grey"}.get(shade, shade) for word in ("dark", "light"))
    return choice(
        "shades", png(drawing.filled(shade)), text, NAMES,
        fine=shade, flat=_FLAT.get(shade, shade), dark=dark, light=light, stepped=shade,
    )  # fmt: skip


SHADES = SightCheck("shades", _shades, 6, 10, "shades", {
    FINE: "white, grey and black arrive as such, and smooth changes without steps",
}, {
    "flat": "white is named light grey and black dark grey, as with less contrast",
    "dark": "grey is named dark grey, as with another gamma",
    "light": "grey is named light grey, as with another gamma",
    "stepped": "smooth changes are not told from steps, as with few colours",
})  # fmt: skip
