"""Which colour fills the whole image."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import COLOUR_ALONE, SightCheck, choice, listed
from snellen_sight.drawing import RGB, png
from snellen_sight.likelihood import FINE, SightQuestion

COLOURS_IN_TURN = ("red", "yellow", "green", "blue", "cyan", "magenta")
_EXCHANGED = {"red": "blue", "blue": "red", "yellow": "cyan", "cyan": "yellow"}
_ROTATED = {"red": "green", "green": "blue", "blue": "red", "yellow": "cyan", "cyan": "magenta", "magenta": "yellow"}
_INVERTED = {"red": "cyan", "cyan": "red", "blue": "yellow", "yellow": "blue", "green": "magenta", "magenta": "green"}


def _colours(rng: np.random.Generator, number: int) -> SightQuestion:
    colour, before = COLOURS_IN_TURN[number % 6], COLOURS_IN_TURN[(number - 1) % 6]
    text = f"Which colour fills the whole image: {listed(tuple(RGB))}? {COLOUR_ALONE}"
    question = choice(
        "colours", png(drawing.filled(colour)), text, tuple(RGB),
        fine=colour, exchanged=_EXCHANGED.get(colour, colour), inverted=_INVERTED[colour], grey="grey", previous=before,
        rotated=_ROTATED[colour], unrotated=next(name for name, to in _ROTATED.items() if to == colour),
    )  # fmt: skip
    further = {"grey": (frozenset({"grey", "black", "white"}),)}
    if number == 0:
        further["previous"] = (frozenset(RGB),)
    return replace(question, expected={**question.expected, **further})


COLOURS = SightCheck("colours", _colours, 6, 14, "colours", {
    FINE: "hues arrive as they are",
    "exchanged": "red and blue arrive exchanged",
    "inverted": "colours arrive inverted", "grey": "colours arrive as shades of grey",
    "rotated": "red, green and blue arrive as green, blue and red",
    "unrotated": "red, green and blue arrive as blue, red and green",
}, {"previous": "the replies are about the image of the call before"})  # fmt: skip
