"""Appearance of materials, dome and film, in numpy: colours, wood grain, the map of the dome, the tone curve.

All values are ours, chosen by eye on renders; colours are linear RGB reflectances.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from snellen.core.colour import srgb_to_linear
from snellen.stimuli.scenes.model import Colour, Dome, Shape, Vec3
from snellen.stimuli.scenes.shapes import patches
from snellen.stimuli.scenes.vectors import Array

RUBBER_RGB: dict[Colour, Vec3] = {
    "red": (0.62, 0.035, 0.03),
    "yellow": (0.75, 0.50, 0.03),
    "blue": (0.03, 0.10, 0.55),
    "green": (0.04, 0.36, 0.07),
    "purple": (0.28, 0.05, 0.45),
}
METAL_RGB: dict[Colour, Vec3] = {
    "red": (0.80, 0.10, 0.08),
    "yellow": (0.90, 0.66, 0.12),
    "blue": (0.10, 0.24, 0.82),
    "green": (0.12, 0.62, 0.18),
    "purple": (0.48, 0.14, 0.70),
}
_EARLY_WOOD = np.array([0.56, 0.33, 0.145])
_LATE_WOOD = np.array([0.235, 0.105, 0.038])
_SHOULDER = 0.6
_STRIP_PX = 16
"""Rows of a texture painted at a time."""
_PRIMES = 374761393, 668265263, 2147483647


def wood_colour(points: Array) -> Array:
    """Linear RGB (..., 3) of solid wood at points (..., 3) of a unit primitive: rings around a tilted trunk, fibres."""
    tilt = np.array([[0.98, 0.0, 0.17], [0.0, 1.0, 0.0], [-0.17, 0.0, 0.98]])
    trunk = points @ tilt.T + np.array([0.55, 0.33, 0.0])
    warp = trunk * np.array([1.6, 1.6, 0.45])
    drift = 0.55 * _noise(warp * 1.3, 1) + 0.16 * _noise(warp * 3.1, 2)
    ring = ((np.hypot(trunk[..., 0], trunk[..., 1]) + 0.22 * drift) * 11.0) % 1.0
    late = np.where(ring < 0.75, (ring / 0.75) ** 2.2, (1 - ring) / 0.25)
    coarse = _noise(trunk * np.array([25.0, 25.0, 1.0]), 4)
    fine = _noise(trunk * np.array([60.0, 60.0, 2.2]), 3)
    share = np.clip(0.10 + 0.62 * late + 0.28 * (coarse - 0.5), 0, 1)[..., None]
    return np.asarray(((1 - share) * _EARLY_WOOD + share * _LATE_WOOD) * (0.80 + 0.36 * fine)[..., None])


def _noise(points: Array, seed: int) -> Array:
    """Smooth value noise in [0, 1] on the integer lattice, (...,) for points (..., 3)."""
    corners, weights = [], []
    for axis in range(3):
        corner = np.floor(points[..., axis])
        inside = points[..., axis] - corner
        inside = inside * inside * (3 - 2 * inside)
        corners.append(corner.astype(np.int64))
        weights.append((1 - inside, inside))
    low = [corner.min() for corner in corners]
    size = [corner.max() - start + 2 for corner, start in zip(corners, low, strict=True)]
    # There are far fewer corners than points, so each is hashed once.
    axes = np.ogrid[tuple(slice(start, start + length) for start, length in zip(low, size, strict=True))]
    hashed = sum((axis * prime for axis, prime in zip(axes, _PRIMES, strict=True)), np.int64(seed * 144665))
    key = np.asarray(hashed) & 0xFFFFFFFF
    key = ((key ^ (key >> 13)) * 1274126177) & 0xFFFFFFFF
    values = (((key ^ (key >> 16)) & 0xFFFFFF) / 0xFFFFFF).ravel()
    steps = size[1] * size[2], size[2], 1
    place = sum((corner - start) * step for corner, start, step in zip(corners, low, steps, strict=True))
    total = np.zeros(points.shape[:-1])
    for x, y, z in np.ndindex(2, 2, 2):
        value = values[place + (x * steps[0] + y * steps[1] + z)]
        total += value * (weights[0][x] * weights[1][y] * weights[2][z])
    return total


@functools.cache
def wood_texture(shape: Shape, side_px: int = 512) -> NDArray[np.float32]:
    """The wood of a unit primitive painted on its texture (side, side, 3); row 0 is v = 0."""
    texture = np.zeros((side_px, side_px, 3), np.float32)
    for patch in patches(shape):
        tile_left, bottom, width, height = patch.tile
        columns, rows = (
            np.arange(int(start * side_px), min(int(np.ceil((start + size) * side_px)) + 1, side_px))
            for start, size in ((tile_left, width), (bottom, height))
        )
        for strip in np.array_split(rows, -(-len(rows) // _STRIP_PX)):  # strips that fit into the cache are faster
            across, along = ((columns + 0.5) / side_px - tile_left) / width, ((strip + 0.5) / side_px - bottom) / height
            points, _ = patch.surface(*np.meshgrid(np.clip(across, 0, 1), np.clip(along, 0, 1)))
            texture[strip[0] : strip[-1] + 1, columns[0] : columns[-1] + 1] = wood_colour(points)
    return texture


@functools.lru_cache(maxsize=8)
def dome_map(dome: Dome) -> NDArray[np.float32]:
    """Latitude-longitude radiance (128, 256, 3); row 0 is the zenith, columns run from azimuth 0 (world +x)."""
    polar, azimuth = (np.arange(128) + 0.5) / 128 * 180, (np.arange(256) + 0.5) / 256 * 360
    elevation = 90 - polar[:, None]
    rise = np.sin(np.radians(elevation)).clip(0, 1)[..., None]
    sky = (1 - rise) * np.array(dome.horizon_linear_rgb) + rise * np.array(dome.zenith_linear_rgb)
    for box in dome.softboxes:
        sideways = np.abs((azimuth[None] - box.azimuth_deg + 180) % 360 - 180)
        upwards = np.abs(elevation - box.elevation_deg)
        edge = _step(box.half_width_deg - sideways) * _step(box.half_height_deg - upwards)
        sky = sky + (box.radiance * edge)[..., None]
    return np.broadcast_to(sky, (128, 256, 3)).astype(np.float32)


def _step(inside_deg: Array) -> Array:
    """A soft step over about two degrees."""
    return np.asarray(1 / (1 + np.exp(-np.clip(inside_deg * 4 / 3, -50, 50))))


@functools.cache
def level_thresholds() -> Array:
    """The linear radiances (255,) from which an 8-bit sRGB level is 1, 2, … 255; ascending.

    The tone curve is sRGB (IEC 61966-2-1), linear to 0.6, then an exponential shoulder that never clips. Rounded to
    twelve significant digits, so that differences between libraries vanish.
    """
    linear = srgb_to_linear((np.arange(1, 256) - 0.5) / 255)
    over = (np.maximum(linear, _SHOULDER) - _SHOULDER) / (1 - _SHOULDER)
    return np.array(
        [float(f"{level:.12g}") for level in np.where(over > 0, _SHOULDER - (1 - _SHOULDER) * np.log1p(-over), linear)]
    )


def develop(linear: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Linear radiance (h, w, 3) as 8-bit sRGB, by comparisons instead of arithmetic, so that all processors agree."""
    return np.asarray(np.searchsorted(level_thresholds(), np.fmax(linear, 0), side="right"), np.uint8)
