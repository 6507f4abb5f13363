"""Lab of sRGB colours: some by hand, many by scikit-image."""

from __future__ import annotations

import numpy as np
import pytest
from skimage.color import rgb2lab

from snellen.core.colour import lab_to_linear, srgb_to_lab, srgb_to_linear
from snellen.core.seeds import stream


@pytest.mark.parametrize(
    ("rgb", "lab"),
    [
        ((0, 0, 0), (0, 0, 0)),
        # Grey 119: ((119 / 255 + 0.055) / 1.055)^2.4 = 0.18447, its cube root 0.56926, L = 116 * 0.56926 - 16 = 50.034.
        ((119, 119, 119), (50.034, 0, 0)),
        # Grey 2 is on both straight parts: 2 / 255 / 12.92 = 0.000607, L = 116 * 7.787 * 0.000607 = 0.5483.
        ((2, 2, 2), (0.5483, 0, 0)),
        # Lindbloom's calculator (D65, sRGB), to the digits in which the primaries' rounding agrees
        ((255, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 0, 255), (32.30, 79.19, -107.86)),
    ],
)
def test_some_colours(rgb: tuple[int, ...], lab: tuple[float, ...]) -> None:
    assert srgb_to_lab(rgb) == pytest.approx(lab, abs=0.01)


def test_lab_equals_that_of_scikit_image() -> None:
    pixels = stream("test.colour").integers(0, 256, (40, 50, 3), np.uint8)
    pixels[:10] //= 24  # dark ones, on the straight parts
    assert np.allclose(srgb_to_lab(pixels), rgb2lab(pixels), rtol=0, atol=1e-9)
    assert np.allclose(lab_to_linear(srgb_to_lab(pixels)), srgb_to_linear(pixels / 255), rtol=0, atol=1e-6)
