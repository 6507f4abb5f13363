"""Masks and depths in files of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.core.errors import SnellenError
from snellen.curated_sets.datasets.formats.box_files import DepthPng
from snellen.curated_sets.datasets.formats.masks import MaskFiles


def test_depths_are_metres_and_zero_is_unknown(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 256, 384]], np.uint16)).save(tmp_path / "d.png")
    np.testing.assert_array_equal(DepthPng(tmp_path / "d.png", 256.0).read(), [[np.nan, 1.0, 1.5]])
    Image.new("L", (3, 1), 9).save(tmp_path / "e.png")
    with pytest.raises(SnellenError, match="not a 16-bit grey PNG of depths"):
        DepthPng(tmp_path / "e.png", 256.0).read()


def test_masks_of_one_image_are_joined_and_have_one_size(tmp_path: Path) -> None:
    for name, levels in (("a", [[0, 1, 0]]), ("b", [[0, 0, 200]]), ("c", [[0, 1]])):
        Image.fromarray(np.array(levels, np.uint8)).save(tmp_path / f"{name}.png")
    Image.fromarray(np.array([[[0, 0, 0], [0, 0, 7], [0, 0, 0]]], np.uint8)).save(tmp_path / "rgb.png")
    paths = {path.stem: path for path in tmp_path.glob("*.png")}
    for names, joined in (("a", [[0, 255, 0]]), ("ab", [[0, 255, 255]]), (("rgb",), [[0, 255, 0]])):
        mask = MaskFiles(tuple(paths[name] for name in names)).open()
        assert np.asarray(mask).tolist() == joined
    with pytest.raises(SnellenError, match=r"c\.png: is \(2, 1\), but other masks of the same image are \(3, 1\)"):
        MaskFiles((paths["a"], paths["c"])).open()
