"""An encoder whose limit is its pixels needs gaps that are twice as large if its input side is half as large."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from tests.helpers.sized_encoders import exams, ratio, ring_sectors, small


def test_a_ratio_worked_by_hand() -> None:
    mean, error = ratio([{128: 8.0, 256: 2.0}, {128: 2.0, 256: 2.0}, {256: 3.0}])
    assert mean == pytest.approx(2.0)
    # Logarithms of 4 and 1: standard deviation log(4) / sqrt(2), of the mean log(4) / 2.
    assert error == pytest.approx(2.0)


def test_sectors_turn_with_the_gap() -> None:
    image = np.full((64, 64), 230, np.uint8)
    y, x = np.indices(image.shape) - 31.5
    image[(np.abs(np.hypot(x, y) - 16) < 4) & ~((x > 0) & (np.abs(y) < 4))] = 20
    sectors = ring_sectors([Image.fromarray(image), Image.fromarray(image.T)])
    # Transposed, the gap is at the bottom: two sectors further.
    assert np.abs(sectors[1] - np.roll(sectors[0], 2)).max() < 0.06
    assert np.abs(sectors[1] - sectors[0]).max() > 0.2
    assert (sectors == ring_sectors([Image.fromarray(image), Image.fromarray(image.T)])).all()


@pytest.mark.slow
def test_half_the_side_doubles_the_threshold() -> None:
    mean, error = ratio(list(exams(small, 8)))
    assert error < 1.2
    assert mean == pytest.approx(2.0, rel=0.25)
