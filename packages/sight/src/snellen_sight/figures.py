"""Flat figures drawn with exact coverage in linear light.

A canvas holds linear light, 0 to 1, of pixels with their centres at half-integers. What covers a pixel in part adds its
share of the pixel's area. Shapes are functions of x and y (pixels) that are negative inside, and nowhere further from 0
than the distance from the edge: pixels, and blocks within them, farther from it than their own half diagonal are wholly
in or out, and only the others are sampled. Rectangles along the axes have a closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Plane: TypeAlias = NDArray[np.float64]
Shape: TypeAlias = Callable[[Any, Any], Any]
Window: TypeAlias = tuple[slice, slice]
SAMPLES, MANY = 16, 400
"""Samples along each side of a pixel on an edge; half as many for a shape with more than `MANY` such pixels."""
HALF_DIAGONAL = 0.7072
BLOCKS = 4
"""Blocks of samples along each side of such a pixel; only blocks that an edge may touch are sampled."""


def canvas(side: int, light: float | NDArray[Any], channels: int = 1) -> Plane:
    """A uniform square canvas, (side, side, channels)."""
    return _uniform(np.broadcast_to(np.asarray(light, np.float64), (channels,)), (side, side, channels))


def _uniform(colour: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """An array (height, width, channels) of one colour. Whole rows are copied, much faster than single pixels."""
    height, width, channels = shape
    row = np.tile(colour, width)
    return np.broadcast_to(row, (height, len(row))).copy().reshape(height, width, channels)


def window(plane: Plane, x: float, y: float, reach: float) -> Window:
    """The pixels within `reach` of a point along both axes."""
    height, width = plane.shape[:2]
    rows = slice(max(0, int(np.floor(y - reach))), min(height, int(np.ceil(y + reach))))
    return rows, slice(max(0, int(np.floor(x - reach))), min(width, int(np.ceil(x + reach))))


def centres(region: Window) -> tuple[Plane, Plane]:
    """x (1, w) and y (h, 1) of the pixel centres of a window."""
    rows, columns = region
    y = np.arange(rows.start, rows.stop, dtype=np.float64)[:, None] + np.float64(0.5)
    return np.arange(columns.start, columns.stop, dtype=np.float64)[None, :] + np.float64(0.5), y


def _offsets(samples: int) -> Plane:
    return np.asarray((np.arange(samples) + 0.5) / samples - 0.5, np.float64)


def coverage(shape: Shape, region: Window) -> Plane:
    """The share of each pixel of a window that a shape covers."""
    x, y = centres(region)
    distance = shape(x, y)
    covered = (distance < 0).astype(np.float64)
    rows, columns = np.nonzero(np.abs(distance) < HALF_DIAGONAL)
    samples = SAMPLES if len(rows) <= MANY else SAMPLES // 2
    middles = _offsets(BLOCKS)
    across, down = x[0, columns][:, None, None] + middles, y[rows, 0][:, None, None] + middles[:, None]
    distance = shape(across, down)
    shares = (distance < 0).astype(np.float64)
    pixels, lower, right = np.nonzero(np.abs(distance) < HALF_DIAGONAL / BLOCKS)
    offsets = _offsets(samples).reshape(BLOCKS, -1)
    across, down = x[0, columns[pixels]][:, None] + offsets[right], y[rows[pixels], 0][:, None] + offsets[lower]
    shares[pixels, lower, right] = (shape(across[:, None, :], down[:, :, None]) < 0).mean((1, 2))
    covered[rows, columns] = shares.mean((1, 2))
    return np.asarray(covered)


def paint(plane: Plane, region: Window, covered: Plane, light: float | NDArray[Any]) -> None:
    """Lay light over a window, as far as it is covered."""
    share = covered[..., None]
    plane[region] = plane[region] * (1 - share) + share * np.asarray(light, np.float64)


def rectangle(plane: Plane, x0: float, y0: float, x1: float, y1: float, light: float | NDArray[Any]) -> None:
    """Draw a rectangle along the axes; the coverage of each pixel is exact."""
    x, y = (np.arange(n, dtype=np.float64) for n in (plane.shape[1], plane.shape[0]))
    across, down = (
        np.clip(np.minimum(edge + 1, end) - np.maximum(edge, start), 0.0, 1.0)
        for edge, start, end in ((x, x0, x1), (y, y0, y1))
    )
    region = slice(int(max(0, np.floor(y0))), int(np.ceil(y1))), slice(int(max(0, np.floor(x0))), int(np.ceil(x1)))
    paint(plane, region, (down[region[0], None] * across[None, region[1]]).astype(np.float64), light)


def bar(x: float, y: float, length: float, width: float, degrees: float) -> Shape:
    """A bar around a point, turned counterclockwise from the vertical."""
    sine, cosine = np.sin(np.radians(degrees)), np.cos(np.radians(degrees))

    def distance(across: Any, down: Any) -> Any:
        dx, dy = across - x, down - y
        along, aside = dx * sine + dy * cosine, dx * cosine - dy * sine
        return np.maximum(np.abs(along) - length / 2, np.abs(aside) - width / 2)

    return distance


def disc(x: float, y: float, radius: float) -> Shape:
    """A disc."""
    return lambda across, down: np.hypot(across - x, down - y) - radius


def landolt(x: float, y: float, gap_px: float, direction: int) -> Shape:
    """A Landolt ring five gaps wide; the gap is at `direction` times 45 degrees, counterclockwise from the right."""
    angle = direction * np.pi / 4
    sine, cosine = np.sin(angle), np.cos(angle)

    def distance(across: Any, down: Any) -> Any:
        dx, dy = across - x, y - down
        ring = np.abs(np.hypot(dx, dy) - 2 * gap_px) - gap_px / 2
        cut = np.maximum(np.abs(dy * cosine - dx * sine) - gap_px / 2, -(dx * cosine + dy * sine))
        return np.maximum(ring, -cut)

    return distance


def dots(plane: Plane, points: NDArray[np.float64], radii: NDArray[np.float64], light: float) -> None:
    """Draw discs at points (n, 2), none of which overlap, all at once."""
    reach = int(np.ceil(radii.max())) + 1
    steps = np.arange(-reach, reach + 1)
    columns = np.floor(points[:, :1]).astype(np.int64) + steps
    rows = np.floor(points[:, 1:]).astype(np.int64) + steps
    dx, dy = columns + 0.5 - points[:, :1], rows + 0.5 - points[:, 1:]
    beyond = np.hypot(dx[:, None, :], dy[:, :, None]) - radii[:, None, None]
    covered = (beyond < 0).astype(np.float64)
    dot, down, across = np.nonzero(np.abs(beyond) < HALF_DIAGONAL)
    offsets = _offsets(SAMPLES // 2)
    squares = (dy[dot, down, None] + offsets)[:, :, None] ** 2 + (dx[dot, across, None] + offsets)[:, None, :] ** 2
    covered[dot, down, across] = (squares < (radii**2)[dot, None, None]).mean((1, 2))
    share = np.zeros(plane.shape[:2], np.float64)
    np.add.at(share, (rows[:, :, None], columns[:, None, :]), covered)
    paint(plane, (slice(None), slice(None)), np.minimum(share, 1.0), light)


@lru_cache(maxsize=64)
def _numeral(text: str, size: int) -> Plane:
    font = ImageFont.load_default(size)
    left, top, right, bottom = font.getbbox(text)
    image = Image.new("L", (int(right - left), int(bottom - top)))
    ImageDraw.Draw(image).text((-left, -top), text, 255, font)
    return np.asarray(image, np.float64) / np.float64(255)


def numeral(plane: Plane, text: str, x: float, y: float, size: int, light: float) -> None:
    """Write a numeral with its middle near a point."""
    mask = _numeral(text, size)
    top, left = round(y - mask.shape[0] / 2), round(x - mask.shape[1] / 2)
    paint(plane, (slice(top, top + mask.shape[0]), slice(left, left + mask.shape[1])), mask, light)


def encoded(linear: Plane) -> Plane:
    """sRGB values, 0 to 255 and not rounded, of linear light (IEC 61966-2-1)."""
    curved = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055)
    return np.asarray(255 * curved, np.float64)


def image_of(
    plane: Plane, noisy: NDArray[np.bool_] | None = None, rng: np.random.Generator | None = None
) -> Image.Image:
    """The image of a canvas, grey or in colour, of which nothing is drawn in the corner.

    Pixels in `noisy` (side, side) are rounded up or down at random, so that their mean is exact below one grey level:
    noisy-bit dithering (Allard and Faubert 2008, Behavior Research Methods 40).
    """
    ground = plane[0, 0]
    pixels = _uniform(np.floor(encoded(ground) + 0.5).astype(np.uint8), plane.shape)
    is_drawn = np.logical_or.reduce([plane[..., channel] != light for channel, light in enumerate(ground)])
    if noisy is not None:
        is_drawn |= noisy
    drawn = np.flatnonzero(is_drawn)
    levels = encoded(np.clip(plane.reshape(-1, plane.shape[2])[drawn], 0.0, 1.0))
    rounding: Any = 0.5
    if noisy is not None and rng is not None:
        rounding = np.where(noisy.reshape(-1)[drawn, None], rng.random(levels.shape), 0.5)
    pixels.reshape(-1, plane.shape[2])[drawn] = np.clip(np.floor(levels + rounding), 0, 255)
    return Image.fromarray(pixels[..., 0] if plane.shape[2] == 1 else pixels)
