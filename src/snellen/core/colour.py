"""Conversion from sRGB to CIE L*a*b*, in which distances approximate perceived differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

_XYZ_OF_RGB = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
"""CIE XYZ of linear sRGB (primaries of ITU-R BT.709, white D65)."""
_RGB_OF_XYZ = np.linalg.inv(_XYZ_OF_RGB)
_D65 = np.array([0.95047, 1.0, 1.08883])
"""XYZ of the white point, 2 degree observer."""


def srgb_to_linear(shares: ArrayLike) -> NDArray[np.float64]:
    """Linear light, 0 to 1, of sRGB values as shares of their range (IEC 61966-2-1)."""
    curved = np.asarray(shares, np.float64)
    return np.where(curved > 0.04045, ((np.maximum(curved, 0.04045) + 0.055) / 1.055) ** 2.4, curved / 12.92)


def srgb_to_lab(srgb: ArrayLike) -> NDArray[np.float64]:
    """L*, a* and b* (..., 3) of sRGB colours (..., 3), 0 to 255 each; D65, 2 degree observer.

    L* is 0 to 100; a* and b* of sRGB are between -108 and 99. sRGB is linearised by IEC 61966-2-1, the rest is
    CIE 15:2004, section 8.2.1, with its bounds as the usual decimals 0.008856 and 7.787.
    """
    shares = srgb_to_linear(np.asarray(srgb, np.float64) / 255) @ _XYZ_OF_RGB.T / _D65
    x, y, z = np.moveaxis(np.where(shares > 0.008856, np.cbrt(shares), 7.787 * shares + 16 / 116), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def lab_to_linear(lab: ArrayLike) -> NDArray[np.float64]:
    """Linear sRGB (..., 3) of L*, a* and b* (..., 3), the inverse of `srgb_to_lab`; outside 0 to 1 if not in sRGB."""
    lightness, a, b = np.moveaxis(np.asarray(lab, np.float64), -1, 0)
    y = (lightness + 16) / 116
    roots = np.stack([y + a / 500, y, y - b / 200], axis=-1)
    shares = np.where(roots > 0.206893, roots**3, (roots - 16 / 116) / 7.787)
    return np.asarray((shares * _D65) @ _RGB_OF_XYZ.T, np.float64)
