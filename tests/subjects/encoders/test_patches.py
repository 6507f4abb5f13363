"""Features by position are where the thing is, and cover the whole image."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.subjects.encoders import load_encoder
from snellen.subjects.encoders.encoder import PatchEncoder
from snellen.subjects.encoders.plain import ColourHistogram, Hog
from tests.subjects.encoders.scenes import RED, draw


def packaged(name: str) -> PatchEncoder:
    if name.startswith("efficientnet"):
        pytest.importorskip("efficientnet_lite_pytorch", reason="needs the extra 'models'")
    encoder = load_encoder(name)
    assert isinstance(encoder, PatchEncoder)
    return encoder


GRIDS = {
    "efficientnet-lite0": (14, 14, 592),
    "efficientnet-lite2": (16, 16, 664),
    "colour-histogram": (8, 8, 80),
    "hog": (15, 15, 36),
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_patch_is_where_the_thing_is_up_to_the_edges(name: str) -> None:
    # Images of 160 x 120; a central crop would cut off the square at (150, 10).
    empty, corner = draw("square", (150, 150, 150)), draw("square", RED, center=(150, 10), radius=8)
    rows = packaged(name).patches([empty, corner])
    assert rows.shape == (2, *GRIDS[name])
    assert rows.dtype == np.float32
    change = np.linalg.norm(rows[1] - rows[0], axis=-1)
    row, column = np.unravel_index(int(change.argmax()), change.shape)
    assert ((column + 0.5) / change.shape[1], (row + 0.5) / change.shape[0]) == pytest.approx(
        (150 / 160, 10 / 120), abs=0.1
    )
    far = change[change.shape[0] // 2 :, : change.shape[1] // 2]
    assert far.max() < 0.3 * change.max()


def test_patches_and_whole_images_have_different_settings() -> None:
    for encoder in (ColourHistogram(), Hog()):
        assert encoder.patch_settings != encoder.settings
