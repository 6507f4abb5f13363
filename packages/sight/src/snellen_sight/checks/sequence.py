"""One letter per call: calls one after another, at once, and after an earlier turn with another image."""

from __future__ import annotations

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import SightCheck
from snellen_sight.checks.order import LETTERS
from snellen_sight.drawing import SightFile, png
from snellen_sight.likelihood import FINE, SightQuestion

IN_TURN, AT_ONCE, AFTER_A_TURN = range(4), range(4, 10), range(10, 12)
TEXT = "The image shows one capital letter. Which one is it? Reply with the letter alone."
"""The same in all calls, so that a cache of replies by their words is found."""


def letter_of(number: int) -> str:
    """The letter of the n-th call; all differ."""
    return LETTERS[number * 5 % len(LETTERS)]


def _sequence(rng: np.random.Generator, number: int) -> SightQuestion:
    own, before, first = letter_of(number), letter_of(number - 1), letter_of(0)
    others = frozenset(letter_of(other) for other in AT_ONCE)
    expected = dict.fromkeys((FINE, "before", "cached", "mixed", "turn"), frozenset({own}))
    expected["cached"] = frozenset({first})
    expected["before"] = frozenset({before}) if number else frozenset(LETTERS)
    earlier: tuple[tuple[SightFile, str, str], ...] = ()
    if number in AT_ONCE:
        expected["before"] = others - {own} | {letter_of(AT_ONCE[0] - 1)}
        expected["mixed"] = others
    elif number in AFTER_A_TURN:
        turned = letter_of(number - 5)
        earlier = ((png(drawing.letter(turned)), TEXT, turned),)
        expected["turn"] = frozenset({turned})
        expected["before"] = frozenset({before, turned})
    image = png(drawing.letter(own))
    return SightQuestion("sequence", (image,), TEXT, LETTERS, {k: (v,) for k, v in expected.items()}, earlier=earlier)


SEQUENCE = SightCheck("sequence", _sequence, 12, 12, "images of several calls", {
    FINE: "each call gets its own image, one after another and at once",
    "before": "each answer is about the image of the call before",
    "cached": "calls with the same words get the same reply, whatever their image",
    "mixed": "calls that are made at once get each other's images",
    "turn": "after an earlier turn, the answer is about the image of that turn",
})  # fmt: skip
