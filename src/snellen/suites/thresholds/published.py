"""Thresholds of people as printed, with the conditions under which they hold. They are no ceilings of the report.

People's thresholds are in angles or at a distance of the eye; the images have pixels. One minute of arc is
`PX_PER_ARCMIN` pixels only at the distance at which a person sees that many, so norms are printed beside nobody who was
not examined at a known distance.
"""

from __future__ import annotations

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


def pixels(arcmin: float, distance_cm: float, px_per_cm: float) -> float:
    """The number of pixels of an angle in minutes of arc, seen straight ahead at a distance."""
    import math

    return 2 * distance_cm * math.tan(math.radians(arcmin / 60) / 2) * px_per_cm
