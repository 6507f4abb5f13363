"""The directions of gaps, and how they are asked for."""

from __future__ import annotations

DIRECTIONS = ("right", "upper right", "top", "upper left", "left", "lower left", "bottom", "lower right")
"""Directions of a gap, counterclockwise from the right."""
DIRECTIONS_IN_WORDS = f"{', '.join(DIRECTIONS[:-1])}, or {DIRECTIONS[-1]}"
RING_QUESTION = (
    "The image shows a ring with a gap. In which direction from the middle of the ring is the gap: "
    f"{DIRECTIONS_IN_WORDS}? Reply with the direction alone."
)
