"""The letters of two to four images, in order."""

from __future__ import annotations

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import SightCheck
from snellen_sight.drawing import png
from snellen_sight.likelihood import FINE, SightQuestion

LETTERS = tuple("CEFHKLPRTUXZ")


def _letters(rng: np.random.Generator, number: int) -> SightQuestion:
    count = 2 + number % 3
    sent = [str(letter) for letter in rng.permutation(LETTERS)[:count]]
    sequences = {
        FINE: sent, "reversed": sent[::-1], "first": sent[:1], "last": sent[-1:],
        "second missing": [sent[0], *sent[2:]], "first two": sent[:2],
    }  # fmt: skip
    text = (
        "Each image shows one capital letter. Write the letters of all images in the order in which the images were "
        "given, separated by commas, and nothing else."
    )
    images = tuple(png(drawing.letter(letter)) for letter in sent)
    expected = {name: tuple(frozenset({letter}) for letter in letters) for name, letters in sequences.items()}
    return SightQuestion("several images", images, text, LETTERS, expected)


ORDER = SightCheck("several images", _letters, 3, 5, "several images", {
    FINE: "four images arrive in order", "reversed": "several images arrive in reverse order",
    "first": "only the first of several images arrives", "last": "only the last of several images arrives",
    "second missing": "the second of several images does not arrive",
    "first two": "only the first two of several images arrive",
})  # fmt: skip
