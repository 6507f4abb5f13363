"""The colour at an edge of a JPEG file with an orientation flag."""

from __future__ import annotations

import numpy as np

from snellen_sight import drawing
from snellen_sight.checks.check import COLOUR_ALONE, SightCheck, choice, listed
from snellen_sight.drawing import STABLE
from snellen_sight.likelihood import FINE, SightQuestion

EDGES = ("top", "right", "bottom", "left")


def _orientation(rng: np.random.Generator, number: int) -> SightQuestion:
    colours, edge = [str(colour) for colour in rng.permutation(STABLE)], int(rng.integers(4))
    flag = (6, 8, 3)[number % 3]
    # An image whose pixels are stored a quarter turn to the left has its top on the left.
    moved = {6: 1, 3: 2, 8: 3}[flag]
    text = f"Which colour is the band along the {EDGES[edge]} edge of the image: {listed(STABLE)}? {COLOUR_ALONE}"
    image = drawing.flagged(drawing.framed(colours), flag)
    across = edge if edge % 2 == 0 else (edge + 2) % 4
    return choice(
        "orientation", image, text, STABLE, fine=colours[edge], ignored=colours[(edge + moved) % 4],
        twice=colours[(edge - moved) % 4], mirrored=colours[across], turned=colours[(edge + 2) % 4],
    )  # fmt: skip


ORIENTATION = SightCheck("orientation", _orientation, 4, 12, "orientation flags", {
    FINE: "orientation flags of JPEG files are applied",
    "ignored": "orientation flags of JPEG files are ignored: photographs from phones arrive turned",
    "twice": "orientation flags of JPEG files are applied twice", "mirrored": "images arrive mirrored",
    "turned": "images arrive upside down",
}, needs_colours=True)  # fmt: skip
