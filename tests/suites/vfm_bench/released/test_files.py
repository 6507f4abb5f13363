"""Where the released files keep masks and images, and the region of a query in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from snellen.suites.vfm_bench.released.files import QueryRecord, Tree, _mask, _object, region_of


def _grey(path: Path, size: tuple[int, int] = (20, 10), box: tuple[int, int, int, int] | None = None) -> Path:
    """Save a black image (width, height), white inside the box."""
    pixels = np.zeros((size[1], size[0]), np.uint8)
    if box:
        x1, y1, x2, y2 = box
        pixels[y1:y2, x1:x2] = 255
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return path


def _record(query: Path, **fields: Any) -> QueryRecord:
    cells = "line 2", "1", "Manufacture", "detail", "MVTec-AD", "bottle", "x"
    return QueryRecord(*cells, query, "crack", ("crack", "good"), {}, **fields)


@pytest.mark.parametrize(
    ("query", "mask", "is_found"),
    [
        ("image", "mask/a/1.png", True), ("test_rgb", "test_gt/a/1.png", True),
        ("test", "ground_truth/a/1_mask.png", True), ("test", "ground_truth/a/1.png", True),
        ("test", "ground_truth/a/1/000.png", True), ("test_public", "ground_truth/a/1_mask.png", True),
        ("image", "ground_truth/a/1_mask.png", False), ("test", "ground_truth/b/1_mask.png", False),
        ("train", "mask/a/1.png", False),
    ],
)  # fmt: skip
def test_a_mask_is_found_where_the_released_code_looks(query: str, mask: str, is_found: bool, tmp_path: Path) -> None:
    """The last folder of the path that is called so counts."""
    path = _grey(tmp_path / "test" / "image" / mask)
    assert _mask(_grey(tmp_path / "test" / "image" / query / "a" / "1.png")) == (path if is_found else None)


def test_the_region_of_a_mask_is_in_pixels_of_the_query(tmp_path: Path) -> None:
    """A mask of half the size: 2 to 5 across and 1 to 3 down are 4 to 10 and 2 to 6 of the query."""
    query, noisy = _grey(tmp_path / "query.png"), _grey(tmp_path / "noisy.png", box=(1, 1, 3, 3))
    small = _grey(tmp_path / "mask.png", (10, 5), (2, 1, 5, 3))
    assert region_of(_record(query, mask=small, masked=(noisy,))) == ((4, 2, 10, 6), "mask")
    empty = _grey(tmp_path / "empty.png")
    assert region_of(_record(query, mask=empty, masked=(noisy,))) == (None, "mask")


def test_the_first_copy_that_differs_and_has_the_same_size_marks_the_region(tmp_path: Path) -> None:
    query, same = _grey(tmp_path / "query.png"), _grey(tmp_path / "same.png")
    larger = _grey(tmp_path / "larger.png", (40, 20), (0, 0, 9, 9))
    first, second = (_grey(tmp_path / f"{x}.png", box=(x, 2, x + 3, 7)) for x in (4, 9))
    assert region_of(_record(query, masked=(same, larger, first, second))) == ((4, 2, 7, 7), "copy with noise")
    assert region_of(_record(query, masked=(same, larger))) == (None, "")
    assert region_of(_record(query)) == (None, "")


def test_paths_are_found_in_the_folder_its_subfolders_and_their_raw_data(tmp_path: Path) -> None:
    tail = "Medical/MSD/brain/test/a/1.png"
    tree_paths = [tmp_path / base / tail for base in (".", "archive", "archive/raw_data")]
    for path in reversed(tree_paths):
        _grey(path)
        assert Tree(tmp_path).find(f"/mnt/raw_data/{tail}") == path, "the first place counts"
    assert Tree(tmp_path).find("C:\\raw_data\\" + tail.replace("/", "\\")) == tree_paths[0]
    assert Tree(tmp_path).find("Medical/MSD/brain/test/a/2.png") is None
    own = _grey(tmp_path / "own" / "deep" / "1.png")
    assert Tree(tmp_path).find("own/deep/1.png") == own, "a relative path is tried as it is"
    with pytest.raises(ValueError, match="leads out of"):
        Tree(tmp_path).find("Medical\\..\\1.png")


def test_the_object_is_the_third_part_of_a_path() -> None:
    tails = ["Medical/MSD/brain/test/a/1.png", "Medical/MSD/brain/a/1.png", "Medical/MSD/a/1.png", "Medical/a/1.png"]
    assert [_object(Tree.tail(tail)) for tail in (*tails, "1.png")] == ["brain", "brain", "MSD", "Medical", "1.png"]
