"""The quarter with narrow coloured stripes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import SightCheck, choice, listed
from snellen_sight.drawing import png
from snellen_sight.likelihood import FINE, SightQuestion

QUARTERS = ("upper left", "upper right", "lower left", "lower right")
STRIPES = (8.7, 12.4, 52.0)
"""Amplitudes in levels of Cr: faint, clear and strong. JPEG at quality 30, whose step is 20.6, removes the faint ones
alone."""


def _stripes(rng: np.random.Generator, number: int) -> SightQuestion:
    strength, quarter = (0, 1, 2, 0, 1, 0, 1, 2)[number] if number < 8 else number % 2, int(rng.integers(4))
    text = (
        f"One quarter of the image has narrow coloured stripes, the rest is plain grey. Which quarter: "
        f"{listed(QUARTERS)}? Reply with the quarter alone."
    )
    image = png(drawing.striped(quarter, STRIPES[strength]))
    question = choice("compression", image, text, QUARTERS, fine=QUARTERS[quarter])
    fine, guessed = question.expected[FINE], (frozenset(QUARTERS),)
    expected = {FINE: fine, "removed": guessed if strength == 0 else fine, "weak": guessed if strength < 2 else fine}
    return replace(question, expected=expected)


COMPRESSION = SightCheck("compression", _stripes, 8, 14, "compression", {
    FINE: "no strong lossy compression",
    "removed": "lossy compression: stripes that JPEG removes at quality 30 are missing, stronger ones arrive",
}, {"weak": "only strong stripes are seen"})  # fmt: skip
