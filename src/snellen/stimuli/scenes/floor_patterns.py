"""Patterns of a floor that no global image statistic distinguishes, only the arrangement of light and dark.

Half of each pattern is lighter than the floor's colour and half darker by the same amount, and all have the same length
of edges per square metre: stripes of width w have 1 / w, chequers of side s 2 / s, and disks that cover half of a
square grid of pitch g (radius g / sqrt(2 pi)) sqrt(2 pi) / g. Stripes of pitch g that turn by 90 degrees twice per g
have 2 sqrt(2) / g. Crosses, rings, pairs of shifted bricks and the lines of a grid cover half of a square grid,
too, and their perimeter is the length of edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

PLAIN = "plain"
STRIPE_M = 0.3
"""Default width of a stripe."""
CONTRAST = 0.6
"""Default share of the floor's colour by which a pattern is lighter and darker."""
CROSS = 0.8, 0.8 - math.sqrt(0.8**2 - 0.5)
"""Length and width of the bars of a cross, in periods."""
RING = math.sqrt(0.45**2 - 0.5 / math.pi), 0.45
"""Inner and outer radius of a ring, in periods."""
BRICK = 0.8, 0.25 / 0.8
"""Length and height of a brick, of which there are two per period, in periods."""
PERIODS: Mapping[str, float] = MappingProxyType(
    {
        "striped": 2.0,
        "chequered": 4.0,
        "dotted": math.sqrt(2 * math.pi),
        "zigzagged": 2 * math.sqrt(2),
        "crossed": 4 * CROSS[0],
        "ringed": 2 * math.pi * sum(RING),
        "bricked": 4 * sum(BRICK),
        "grid": 2 * math.sqrt(2),
    }
)
"""Period of each pattern along x and y, in stripe widths."""
PATTERNS = tuple(PERIODS)


def _striped(x: Array, y: Array) -> Mask:
    return x % 1 < 0.5


def _crossed(x: Array, y: Array) -> Mask:
    across, along = abs(x % 1 - 0.5), abs(y % 1 - 0.5)
    return (np.maximum(across, along) < CROSS[0] / 2) & (np.minimum(across, along) < CROSS[1] / 2)


def _ringed(x: Array, y: Array) -> Mask:
    radius = np.hypot(x % 1 - 0.5, y % 1 - 0.5)
    return (radius > RING[0]) & (radius < RING[1])


def _bricked(x: Array, y: Array) -> Mask:
    shifted = x + 0.5 * _striped(y, x)
    return (abs(shifted % 1 - 0.5) < BRICK[0] / 2) & (abs(y % 0.5 - 0.25) < BRICK[1] / 2)


_IS_LIGHT: Mapping[str, Callable[[Array, Array], Mask]] = {
    "striped": _striped,
    "chequered": lambda x, y: _striped(x, y) ^ _striped(y, x),
    "dotted": lambda x, y: np.hypot(x % 1 - 0.5, y % 1 - 0.5) < 1 / math.sqrt(2 * math.pi),
    "zigzagged": lambda x, y: _striped(y + np.abs(x % 1 - 0.5), x),
    "crossed": _crossed,
    "ringed": _ringed,
    "bricked": _bricked,
    "grid": lambda x, y: np.maximum(abs(x % 1 - 0.5), abs(y % 1 - 0.5)) > math.sqrt(0.125),
}


def period_m(pattern: str, stripe_m: float) -> float:
    """Period in metres along x and y of a pattern with as much edge as stripes of this width."""
    return PERIODS[pattern] * stripe_m


def pattern_factor(pattern: str, stripe_m: float, x_m: Array, y_m: Array, contrast: float = CONTRAST) -> Array:
    """Factor on the floor's colour at points of the floor: 1 for a plain floor, else 1 + or - `contrast`."""
    if pattern == PLAIN:
        return np.ones(np.shape(x_m))
    period = period_m(pattern, stripe_m)
    return np.where(_IS_LIGHT[pattern](np.asarray(x_m) / period, np.asarray(y_m) / period), 1 + contrast, 1 - contrast)
