"""An acuity threshold tells how small an image is made before a reference observer gets it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.resized_observers import CHANGES, acuity_bank, gaps


@pytest.mark.slow
def test_the_ratio_of_thresholds_is_the_planted_scale(tmp_path: Path) -> None:
    items = acuity_bank(tmp_path / "bank")
    means = {
        name: np.mean(np.log10([result.value for result in gaps(items, CHANGES[name], 3)]))
        for name in ("none", "0.5", "0.25", "JPEG, quality 30")
    }
    assert 10 ** (means["none"] - means["0.5"]) == pytest.approx(0.5, rel=0.3)
    assert 10 ** (means["none"] - means["0.25"]) == pytest.approx(0.25, rel=0.3)
    assert 10 ** (means["none"] - means["JPEG, quality 30"]) == pytest.approx(1.0, rel=0.3)
