"""Two hand-made encoders, each blind by construction: one to shape and place, one to hue.

If one of them answers a question well, the question needs no more than what it sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snellen.core.colour import srgb_to_lab
from snellen.subjects.encoders.encoder import Floats, TextSide

if TYPE_CHECKING:
    from PIL import Image

PATCH_CELL = 16
"""Side of the cells of patch features in pixels of the square of `side`; outlines use half of it."""


@dataclass(frozen=True)
class _HandMade:
    """Common parts of hand-made encoders, which have no text side. A change that changes features raises `VERSION`."""

    name: ClassVar[str]
    VERSION: ClassVar[int] = 1
    text: ClassVar[TextSide | None] = None

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings that affect features: all fields except the batch size."""
        fields = {key: value for key, value in vars(self).items() if key != "batch"}
        return fields | {"encoder": self.name, "version": self.VERSION}

    @property
    def attributes(self) -> Mapping[str, str]:
        """Attributes for comparisons."""
        return {"family": "made by hand", "supervision": "none", "parameters": "0", "licence": "Apache-2.0"}


@dataclass(frozen=True)
class ColourHistogram(_HandMade):
    """The colours of an image and their proportions, without place or shape.

    CIELAB joint histogram of the coloured pixels (hue x chroma x lightness) with a lightness histogram of the grey
    ones. A pixel counts as coloured by the position of its chroma between `grey_below` and `coloured_above` (CIELAB
    units), so that a grey floor, shadows and highlights stay out of the coloured part. That part is divided by the
    coloured area, so that object size does not matter. Square roots make the dot product the Bhattacharyya coefficient.
    d = 12 * 2 * 3 + 8 = 80.
    """

    name: ClassVar[str] = "colour-histogram"

    batch: int = 32
    side: int = 128
    hues: int = 12
    chromas: int = 2
    lights: int = 3
    greys: int = 8
    grey_below: float = 8.0
    coloured_above: float = 16.0
    grey_share: float = 0.2

    def features(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, 80), rows of length one, non-negative."""
        return np.stack([self._histogram(image) for image in images]).astype(np.float32)

    @property
    def patch_settings(self) -> Mapping[str, Any]:
        """All settings that affect patch features."""
        return {**self.settings, "patches": 1, "cell": PATCH_CELL}

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, 8, 8, 80), a histogram of each cell of the image squeezed to a square."""
        return np.stack([self._cells(image) for image in images]).astype(np.float32)

    def _cells(self, image: Image.Image) -> NDArray[np.float64]:
        from PIL import Image

        square = image.convert("RGB").resize((self.side, self.side), Image.Resampling.BOX)
        count = self.side // PATCH_CELL
        rows = [np.split(row, count, axis=1) for row in np.split(srgb_to_lab(np.asarray(square)), count)]
        return np.stack([[self._of_pixels(cell) for cell in row] for row in rows])

    def _histogram(self, image: Image.Image) -> NDArray[np.float64]:
        from PIL import Image

        small = image.convert("RGB")
        small.thumbnail((self.side, self.side), Image.Resampling.BOX)
        return self._of_pixels(srgb_to_lab(np.asarray(small)))

    def _of_pixels(self, lab: NDArray[np.float64]) -> NDArray[np.float64]:
        lightness, a, b = lab.reshape(-1, 3).T
        chroma, hue = np.hypot(a, b), np.mod(np.arctan2(b, a) / (2 * np.pi), 1.0)
        coloured = np.clip((chroma - self.grey_below) / (self.coloured_above - self.grey_below), 0.0, 1.0)
        joint = np.zeros(self.hues * self.chromas * self.lights)
        for hue_bin, hue_part in _shares(hue * self.hues, self.hues, around=True):
            for chroma_bin, chroma_part in _shares(chroma / 80.0 * (self.chromas - 1), self.chromas):
                for light_bin, light_part in _shares(lightness / 100.0 * (self.lights - 1), self.lights):
                    place = (hue_bin * self.chromas + chroma_bin) * self.lights + light_bin
                    np.add.at(joint, place, coloured * hue_part * chroma_part * light_part)
        grey = np.zeros(self.greys)
        for light_bin, light_part in _shares(lightness / 100.0 * (self.greys - 1), self.greys):
            np.add.at(grey, light_bin, (1.0 - coloured) * light_part)
        # A thousandth of the image: smaller specks do not count as coloured objects.
        joint /= max(float(joint.sum()), 0.001 * len(lightness))
        grey /= max(float(grey.sum()), 0.001 * len(lightness))
        both = np.sqrt(np.concatenate([(1.0 - self.grey_share) * joint, self.grey_share * grey]))
        return np.asarray(both / max(float(np.linalg.norm(both)), 1e-12), dtype=np.float64)


@dataclass(frozen=True)
class Hog(_HandMade):
    """Histograms of oriented gradients (Dalal and Triggs 2005): outlines on a grid, without colour.

    The image is converted to grey (ITU-R 601 luma) and squeezed to a square of `side` pixels. Directions are unsigned
    and blocks are normalised (L2-Hys, clipped at 0.2), so that neither hue nor contrast matters. No smoothing in cells.
    d = 7 * 7 blocks of 2 * 2 cells of 9 directions = 1764.
    """

    name: ClassVar[str] = "hog"
    VERSION: ClassVar[int] = 2  # 1 was scikit-image's, whose sums are single-precision

    batch: int = 32
    side: int = 128
    cell: int = 16
    directions: int = 9

    def features(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, 1764), each block of length at most one."""
        return np.stack([self._blocks(image, self.cell).ravel() for image in images]).astype(np.float32)

    @property
    def patch_settings(self) -> Mapping[str, Any]:
        """All settings that affect patch features."""
        return {**self.settings, "patches": 1, "cell": PATCH_CELL // 2}

    def patches(self, images: Sequence[Image.Image]) -> Floats:
        """Images -> float32 (n, 15, 15, 36), a block of 2 * 2 cells of 8 pixels every 8 pixels."""
        blocks = np.stack([self._blocks(image, PATCH_CELL // 2) for image in images])
        return blocks.reshape(*blocks.shape[:3], -1).astype(np.float32)

    def _blocks(self, image: Image.Image, cell: int) -> NDArray[np.float64]:
        """(rows, columns, 2, 2, directions), each block of length at most one."""
        from PIL import Image

        grey = image.convert("RGB").convert("L").resize((self.side, self.side), Image.Resampling.BICUBIC)
        cells = _directions_of_cells(np.asarray(grey, np.float64), cell, self.directions)
        blocks = np.lib.stride_tricks.sliding_window_view(cells, (2, 2), axis=(0, 1)).transpose(0, 1, 3, 4, 2)
        return _block_unit(np.minimum(_block_unit(blocks), 0.2))


def _directions_of_cells(grey: NDArray[np.float64], cell: int, directions: int) -> NDArray[np.float64]:
    """(rows, columns, directions): mean gradient strength per direction, over cells of `cell` pixels per side."""
    down, across = np.zeros_like(grey), np.zeros_like(grey)
    down[1:-1], across[:, 1:-1] = grey[2:] - grey[:-2], grey[:, 2:] - grey[:, :-2]
    direction = (np.degrees(np.arctan2(down, across)) % 180 // (180 / directions)).astype(np.intp) % directions
    row, column = np.indices(grey.shape) // cell
    count = len(grey) // cell
    bins = (row * count + column) * directions + direction
    sums = np.bincount(bins.ravel(), np.hypot(down, across).ravel(), minlength=count * count * directions)
    return sums.reshape(count, count, directions) / cell**2


def _block_unit(histograms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each block (..., 2, 2, directions) divided by its length; flat ones stay near 0."""
    length = np.sqrt(np.square(histograms).sum(axis=(-3, -2, -1), keepdims=True) + 1e-10)
    return np.asarray(histograms / length)


def _shares(
    position: NDArray[np.float64], bins: int, *, around: bool = False
) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Linear split of each value between its two neighbouring bins (bin i is at i): [(bin, share), (next, share)]."""
    position = position if around else np.clip(position, 0.0, bins - 1.0)
    low = np.floor(position).astype(np.intp)
    part = position - low
    if around:
        return [(low % bins, 1.0 - part), ((low + 1) % bins, part)]
    return [(low, 1.0 - part), (np.minimum(low + 1, bins - 1), part)]
