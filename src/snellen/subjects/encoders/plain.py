"""Two encoders made by hand, each blind by construction: one to shape and place, one to hue.

Where one of them answers a question well, the question needs no more than it sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from snellen.subjects.encoders.encoder import Floats, TextSide

if TYPE_CHECKING:
    from PIL import Image


@dataclass(frozen=True)
class _HandMade:
    """What encoders made by hand share. A change of the code that changes features raises `version`."""

    NAME: ClassVar[str]

    @property
    def name(self) -> str:
        """The name after `encoder:`."""
        return self.NAME

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that changes features: all fields but how many pictures go at a time."""
        fields = {key: value for key, value in vars(self).items() if key != "batch"}
        return fields | {"encoder": self.NAME, "version": 1}

    @property
    def attributes(self) -> Mapping[str, str]:
        """What it is, for comparisons."""
        return {"family": "made by hand", "supervision": "none", "parameters": "0", "licence": "Apache-2.0"}

    @property
    def text(self) -> TextSide | None:
        """None: it knows no words."""
        return None


@dataclass(frozen=True)
class ColourHistogram(_HandMade):
    """Which colours are there and in what proportion; not where, and in no shape.

    CIELAB joint histogram of the coloured pixels (hue x chroma x lightness) beside a lightness histogram of the grey
    ones. A pixel is coloured as far as its chroma lies between `grey_below` and `coloured_above` (CIELAB units): a grey
    floor, shadows and highlights stay out of the coloured part, whose total is divided by the coloured area, so that
    the size of an object does not matter. Square roots make the dot product the Bhattacharyya coefficient.
    d = 12 * 2 * 3 + 8 = 80.
    """

    NAME: ClassVar[str] = "colour-histogram"

    batch: int = 32
    side: int = 128
    hues: int = 12
    chromas: int = 2
    lights: int = 3
    greys: int = 8
    grey_below: float = 8.0
    coloured_above: float = 16.0
    grey_share: float = 0.2

    def features(self, pictures: Sequence[Image.Image]) -> Floats:
        """Pictures -> float32 (n, 80), rows of length one, nothing below 0."""
        return np.stack([self._histogram(picture) for picture in pictures]).astype(np.float32)

    def _histogram(self, picture: Image.Image) -> NDArray[np.float64]:
        from PIL import Image
        from skimage.color import rgb2lab

        small = picture.convert("RGB")
        small.thumbnail((self.side, self.side), Image.Resampling.BOX)
        lightness, a, b = np.asarray(rgb2lab(np.asarray(small))).reshape(-1, 3).T
        chroma, hue = np.hypot(a, b), np.mod(np.arctan2(b, a) / (2 * np.pi), 1.0)
        coloured = np.clip((chroma - self.grey_below) / (self.coloured_above - self.grey_below), 0.0, 1.0)
        joint = np.zeros((self.hues, self.chromas, self.lights))
        for hue_bin, hue_part in _shares(hue * self.hues, self.hues, around=True):
            for chroma_bin, chroma_part in _shares(chroma / 80.0 * (self.chromas - 1), self.chromas):
                for light_bin, light_part in _shares(lightness / 100.0 * (self.lights - 1), self.lights):
                    np.add.at(joint, (hue_bin, chroma_bin, light_bin), coloured * hue_part * chroma_part * light_part)
        grey = np.zeros(self.greys)
        for light_bin, light_part in _shares(lightness / 100.0 * (self.greys - 1), self.greys):
            np.add.at(grey, light_bin, (1.0 - coloured) * light_part)
        # A thousandth of the picture: below it, specks of colour do not count as a coloured thing.
        joint /= max(float(joint.sum()), 0.001 * len(lightness))
        grey /= max(float(grey.sum()), 0.001 * len(lightness))
        both = np.sqrt(np.concatenate([(1.0 - self.grey_share) * joint.ravel(), self.grey_share * grey]))
        return np.asarray(both / max(float(np.linalg.norm(both)), 1e-12), dtype=np.float64)


@dataclass(frozen=True)
class Hog(_HandMade):
    """Histograms of oriented gradients (Dalal and Triggs 2005, scikit-image): outlines on a grid, without colour.

    The picture is made grey (ITU-R 601 luma) and squeezed to a square of `side` pixels; directions have no sign and
    blocks are normalised, so that neither hue nor contrast matters.
    d = 7 * 7 blocks of 2 * 2 cells of 9 directions = 1764.
    """

    NAME: ClassVar[str] = "hog"

    batch: int = 32
    side: int = 128
    cell: int = 16
    directions: int = 9

    def features(self, pictures: Sequence[Image.Image]) -> Floats:
        """Pictures -> float32 (n, 1764), each block of length at most one."""
        from PIL import Image
        from skimage.feature import hog

        rows = []
        for picture in pictures:
            grey = picture.convert("RGB").convert("L").resize((self.side, self.side), Image.Resampling.BICUBIC)
            rows.append(
                hog(
                    np.asarray(grey),
                    orientations=self.directions,
                    pixels_per_cell=(self.cell, self.cell),
                    cells_per_block=(2, 2),
                    block_norm="L2-Hys",
                )
            )
        return np.stack(rows).astype(np.float32)


def _shares(
    position: NDArray[np.float64], bins: int, *, around: bool = False
) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Each value shared between the two bins it lies between (bin i stands at i): [(bin, share), (next bin, share)]."""
    position = position if around else np.clip(position, 0.0, bins - 1.0)
    low = np.floor(position).astype(np.intp)
    part = position - low
    if around:
        return [(low % bins, 1.0 - part), ((low + 1) % bins, part)]
    return [(low, 1.0 - part), (np.minimum(low + 1, bins - 1), part)]
