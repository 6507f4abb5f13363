"""Regions of an image with different sample counts, and the merging of its sharp and coarse parts, in numpy.

Solids and the floor around them are drawn pixel by pixel; smooth floor farther away in blocks of 4 x 4.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import NDArray

REGIONS_VERSION = "regions 4"
"""Changes if the same samples by region would give another image, also by coarser meshes."""
SURFACES_VERSION = "surfaces 2"
"""Changes if the same samples of a whole image would give another one, because surfaces are built differently."""
LAMP_VERSION = "lamp 2"
"""Changes if a scene with a single light would give another image."""
BLOCK_PX = 4
NEAR_SHARE, NEAR_PX = 1 / 15, (20, 24)
"""Floor within this distance of a solid is drawn pixel by pixel: contact shadows and caustics are sharp there.

A share of the height, within so many pixels.
"""
MIRROR_PX = 4
"""Pixels by which a crop is mirrored on each side before it is denoised."""
_EDGE_PX = 2
"""Pixels this near to a solid count as solid, since the denoiser uses them to draw its outline."""
_FEATHER_PX = 10
_GRID_PX = 16
"""Sizes of mirrored crops are multiples of this; the denoiser would pad them to it."""
Mask = NDArray[np.bool_]
Image = NDArray[np.float32]


@dataclasses.dataclass(frozen=True)
class Regions:
    """Masks (height, width) of glass, other solids and floor near them; of blocks of farther floor (rows, columns).

    Each pixel is in one of the first three, or its block is in the last.
    """

    glass: Mask
    solid: Mask
    floor: Mask
    far: Mask

    @property
    def near(self) -> Mask:
        """The pixels drawn one by one."""
        return self.glass | self.solid | self.floor


def find_regions(floor_share: Image, glass_share: Image, *, is_smooth: bool = True) -> Regions:
    """Regions from the shares (height, width) of a pixel's rays that first hit the floor, and first hit glass.

    A floor with a pattern is nowhere smooth.
    """
    height, width = floor_share.shape
    glass = grown(glass_share > 0, _EDGE_PX)
    solid = grown(floor_share < 1, _EDGE_PX) & ~glass
    far = (blocks(grown(floor_share < 1, near_px(height)).astype(np.float32)) == 0) & is_smooth
    near = np.repeat(np.repeat(~far, BLOCK_PX, axis=0), BLOCK_PX, axis=1)[:height, :width]
    return Regions(glass, solid, near & ~glass & ~solid, far)


def near_px(height: int) -> int:
    """Distance from a solid within which floor is drawn pixel by pixel, in an image so many pixels high."""
    return min(max(math.ceil(NEAR_SHARE * height), NEAR_PX[0]), NEAR_PX[1])


def crop(mask: Mask) -> tuple[slice, slice]:
    """Rows and columns that contain a non-empty mask, in one of few sizes."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return _span(rows[0], rows[-1] + 1, len(mask)), _span(columns[0], columns[-1] + 1, mask.shape[1])


def _span(low: int, high: int, length: int) -> slice:
    mirrored = high - low + 2 * MIRROR_PX
    size = min(length, -(-mirrored // _GRID_PX) * _GRID_PX - 2 * MIRROR_PX)
    start = int(np.clip((low + high - size) // 2, 0, length - size))
    return slice(start, start + size)


def grown(mask: Mask, margin_px: int) -> Mask:
    """The mask with all pixels at most so many rows and columns away."""
    side = 2 * margin_px + 1
    for _ in range(2):
        mask, reach = np.pad(mask, ((margin_px, margin_px), (0, 0))), 1
        while reach < side:
            step = min(reach, side - reach)
            mask, reach = mask[step:] | mask[:-step], reach + step
        mask = mask.T
    return mask


def near_weight(mask: Mask) -> Image:
    """1 inside, 0 outside, and a slope of `_FEATHER_PX` pixels just inside the border."""
    half = _FEATHER_PX // 2
    side = 2 * half + 1
    counts = (~grown(~mask, half)).astype(np.uint8)
    for _ in range(2):
        padded = np.pad(counts, ((half, half), (0, 0)), "edge")
        counts = sum((padded[row : row + len(counts)] for row in range(1, side)), padded[: len(counts)]).T
    return np.asarray(counts / np.float32(side**2), np.float32)


def blocks(image: Image) -> Image:
    """Means over blocks of an image (height, width) or (height, width, channels); partial ones repeat the border."""
    rows, columns = image.shape[:2]
    whole = np.pad(image, ((0, -rows % BLOCK_PX), (0, -columns % BLOCK_PX), *((0, 0),) * (image.ndim - 2)), "edge")
    total = np.zeros_like(whole[::BLOCK_PX, ::BLOCK_PX])
    for row, column in np.ndindex(BLOCK_PX, BLOCK_PX):
        total += whole[row::BLOCK_PX, column::BLOCK_PX]
    return np.asarray(total / BLOCK_PX**2, np.float32)


def enlarged(coarse: Image, height: int, width: int) -> Image:
    """Blocks (rows, columns, channels) as pixels (height, width, channels), interpolated between block centres."""
    for axis, length in enumerate((height, width)):
        last = coarse.shape[axis] - 1
        middle = np.clip((np.arange(length) + 0.5) / BLOCK_PX - 0.5, 0, last)
        low = np.floor(middle).astype(int)
        share = np.expand_dims((middle - low).astype(np.float32), (1 - axis, 2))
        coarse = coarse.take(low, axis) * (1 - share) + coarse.take(np.minimum(low + 1, last), axis) * share
    return coarse
