"""Patterns of a floor that no global image statistic distinguishes, only the arrangement of light and dark.

Half of each pattern is lighter than the floor's colour and half darker by the same amount, and all have the same length
of edges per square metre: stripes of width w have 1 / w, chequers of side s 2 / s, and disks that cover half of a
square grid of pitch g (radius g / sqrt(2 pi)) sqrt(2 pi) / g. Stripes of pitch g that turn by 90 degrees twice per g
have 2 sqrt(2) / g.
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
PERIODS: Mapping[str, float] = MappingProxyType(
    {"striped": 2.0, "chequered": 4.0, "dotted": math.sqrt(2 * math.pi), "zigzagged": 2 * math.sqrt(2)}
)
"""Period of each pattern along x and y, in stripe widths."""
PATTERNS = tuple(PERIODS)


def _striped(x: Array, y: Array) -> Mask:
    return x % 1 < 0.5


_IS_LIGHT: Mapping[str, Callable[[Array, Array], Mask]] = {
    "striped": _striped,
    "chequered": lambda x, y: _striped(x, y) ^ _striped(y, x),
    "dotted": lambda x, y: np.hypot(x % 1 - 0.5, y % 1 - 0.5) < 1 / math.sqrt(2 * math.pi),
    "zigzagged": lambda x, y: _striped(y + np.abs(x % 1 - 0.5), x),
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
