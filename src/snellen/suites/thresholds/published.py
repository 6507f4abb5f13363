"""Thresholds of people as printed, and of reference observers as measured. They are no ceilings of the report.

People's thresholds are in angles or at a distance of the eye; the images have pixels. One minute of arc is
`PX_PER_ARCMIN` pixels only at the distance at which a person sees that many, so norms are printed beside nobody who was
not examined at a known distance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple


class Norm(NamedTuple):
    """A printed threshold of people: its task, the number and unit, what was asked, and the source."""

    task: str
    value: float
    unit: str
    conditions: str
    source: str


NORMS: tuple[Norm, ...] = (
    Norm("acuity", 1.0, "arcmin", "gap of a letter or ring at 20/20", "Levi, in Adler's Physiology of the Eye, ch. 33"),
    Norm("vernier", 5.0, "arcsec", "two abutting lines", "Watt, Morgan and Ward 1983, Vision Research 23"),
    Norm("orientation", 0.6, "degrees", "lines near the vertical or the horizontal", "PMID 2247953"),
)
"""Norms of the measures of this suite; other measures have own people only (docs/thresholds.md)."""


NOISE = 256.0
"""Standard deviation of the reference observer's noise in every pixel and channel, in grey levels."""
REFERENCE: Mapping[str, float] = {
    "acuity": 2.43,
    "vernier": 0.340,
    "contrast": 23.9,
    "colour-difference": 2.05,
    "orientation": 0.716,
    "length": 3.69,
}
"""Thresholds of a reference observer of this suite with noise, in the units of the tasks, on a canvas of 448 px.

It knows everything of an image but the answer. Its efficiency, against an observer that only the rounding of pixels
limits (standard deviation .29), is (.29 / 256)^2, about one in a million: subjects may well be better. Measured by
`python -m tests.helpers.reference_observers`; see docs/measurements/thresholds.md. An observer of numbers would know
where the dots are and need not count.
"""
SAME_REFERENCE: Mapping[str, str] = {"crowded-acuity": "acuity"}
"""Tasks with the reference observer of another: whoever knows the other rings can subtract them."""


def pixels(arcmin: float, distance_cm: float, px_per_cm: float) -> float:
    """The number of pixels of an angle in minutes of arc, seen straight ahead at a distance."""
    return 2 * distance_cm * math.tan(math.radians(arcmin / 60) / 2) * px_per_cm


def arcmin(pixels: float, distance_cm: float, px_per_cm: float) -> float:
    """The angle in minutes of arc of a number of pixels: the inverse of `pixels`."""
    return 2 * 60 * math.degrees(math.atan(pixels / px_per_cm / (2 * distance_cm)))
