import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.stimuli.render.regions import BLOCK_PX, blocks, crop, enlarged, find_regions, grown, near_px, near_weight


def test_a_mask_grows_to_a_square() -> None:
    mask = np.zeros((9, 11), bool)
    mask[4, 1] = True
    expected = np.zeros((9, 11), bool)
    expected[2:7, 0:4] = True  # rows 4 - 2 to 4 + 2, columns 1 - 2 (cut at 0) to 1 + 2
    assert np.array_equal(grown(mask, 2), expected)


def test_blocks_are_means_and_cut_ones_are_padded_by_the_border() -> None:
    image = np.arange(30, dtype=np.float32).reshape(5, 6)
    # Rows 0-3, columns 0-3: 6 * 1.5 + 1.5. Columns 4, 5, 5, 5: 9 + 4.75. Row 4 alone: 24 + 1.5 and 24 + 4.75.
    assert np.allclose(blocks(image), [[10.5, 13.75], [25.5, 28.75]])


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 50), st.integers(1, 50), st.floats(-1, 1), st.floats(-1, 1))
def test_a_slope_survives_blocks_and_enlarging_except_at_the_border(h: int, w: int, down: float, across: float) -> None:
    rows, columns = np.mgrid[: h * BLOCK_PX, : w * BLOCK_PX]
    image = (down * rows + across * columns).astype(np.float32)[..., None]
    again = enlarged(blocks(image), *image.shape[:2])
    inside = slice(BLOCK_PX // 2, -BLOCK_PX // 2)
    assert again.shape == image.shape
    assert np.allclose(again[inside, inside], image[inside, inside], atol=1e-3)


def test_every_pixel_is_drawn_once() -> None:
    floor, glass = np.ones((120, 161), np.float32), np.zeros((120, 161), np.float32)
    floor[50:60, 40:60] = 0
    glass[50:60, 40:50] = 1
    regions = find_regions(floor, glass)
    masks = np.stack([regions.glass, regions.solid, regions.floor])
    coarse = np.repeat(np.repeat(regions.far, BLOCK_PX, 0), BLOCK_PX, 1)[:120, :161]
    assert (masks.sum(axis=0) + coarse == 1).all()
    assert regions.glass[48:62, 38:52].all()  # also two pixels around it
    assert regions.glass.sum() == 14 * 14
    assert regions.solid.sum() == 14 * 24 - 14 * 14
    assert not coarse[50 - 20 : 60 + 20, 40 - 20 : 60 + 20].any()
    assert coarse[:28].all()  # row 28 is the first block that touches rows from 30


def test_an_empty_image_is_all_coarse_and_a_full_one_all_sharp() -> None:
    solid, empty = np.ones((24, 32), np.float32), np.zeros((24, 32), np.float32)
    assert find_regions(solid, empty).far.all()
    assert not find_regions(empty, empty).far.any()
    assert find_regions(empty, empty).solid.all()


@pytest.mark.parametrize(
    ("rows", "expected"), [((3, 10), slice(2, 10)), ((40, 73), slice(36, 76)), ((80, 99), slice(76, 100))]
)
def test_a_crop_contains_the_mask_and_is_mirrored_to_multiples_of_16(rows: tuple[int, int], expected: slice) -> None:
    mask = np.zeros((100, 20), bool)
    mask[rows[0] : rows[1], 5] = True
    assert crop(mask) == (expected, slice(1, 9))


@pytest.mark.parametrize(("height", "expected"), [(90, 20), (330, 22), (480, 24)])
def test_the_floor_around_a_solid_is_wider_in_larger_images(height: int, expected: int) -> None:
    assert near_px(height) == expected


def test_the_sharp_part_fades_only_at_its_border() -> None:
    near = np.zeros((60, 60), bool)
    near[20:, :] = True
    weight = near_weight(near)
    assert (weight[:20] == 0).all()
    assert np.allclose(weight[31:], 1)  # the image's own border does not fade
    assert (np.diff(weight[20:31], axis=0) >= -1e-6).all()
