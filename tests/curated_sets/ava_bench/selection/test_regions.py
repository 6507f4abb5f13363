"""Regions of one colour: hand-made images with known truth, and scikit-image's merging as the oracle."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from skimage import graph
from skimage.color import rgb2lab
from skimage.segmentation import slic

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.curated_sets.ava_bench.abilities.colour import colour_bin
from snellen.curated_sets.ava_bench.selection.regions import (
    DEFAULTS,
    NO_BOX,
    NO_LARGE,
    OFF,
    VARIED,
    Region,
    RegionSettings,
    _make_region,
    _WorkingCopy,
    best_region,
    examined_regions,
    largest_rectangle,
    merged,
)

Pixels = NDArray[np.uint8]
RED, BLUE = (200, 40, 30), (40, 60, 190)


def motley(height: int = 480, width: int = 640, seed: int = 0) -> Pixels:
    """An image full of squares of 16 pixels in random colours, which are not one colour."""
    squares = stream("test.regions", seed).integers(0, 256, (-(-height // 16), -(-width // 16), 3), np.uint8)
    return squares.repeat(16, axis=0).repeat(16, axis=1)[:height, :width].copy()


def patched(patch: Pixels | tuple[int, int, int]) -> Pixels:
    """`motley` with a patch of 160 x 240 pixels."""
    pixels = motley()
    pixels[120:280, 200:440] = patch
    return pixels


def noisy(rgb: tuple[int, int, int], sigma: float, height: int, width: int) -> Pixels:
    noise = stream("test.regions.noise").normal(0, sigma, (height, width, 3))
    return (np.array(rgb) + noise).round().clip(0, 255).astype(np.uint8)


def inside(pixels: Pixels, region: Region) -> Pixels:
    x1, y1, x2, y2 = map(int, region.box)
    return pixels[y1:y2, x1:x2].reshape(-1, 3)


def coherent_regions(pixels: Pixels, settings: RegionSettings = DEFAULTS) -> list[Region]:
    return [region for region in examined_regions(pixels, settings) if isinstance(region, Region)]


def test_a_flat_patch_is_found_and_its_colour_is_the_answer() -> None:
    pixels = patched(RED)
    region = best_region(pixels)
    assert isinstance(region, Region)
    assert (region.rgb, region.rgb_share, region.share_of_box) == (RED, 1, 1)
    assert (inside(pixels, region) == RED).all()
    x1, y1, x2, y2 = region.box
    assert (x2 - x1) * (y2 - y1) > 0.4 * 160 * 240
    # Superpixels that cross the edge are not part of it.
    assert 0.5 * 160 * 240 < region.area_px < 160 * 240


def test_the_region_with_the_least_variance_comes_first() -> None:
    pixels = motley()
    pixels[40:200, 40:280] = noisy(RED, 3, 160, 240)
    pixels[280:440, 340:580] = noisy(BLUE, 1, 160, 240)
    first, second = coherent_regions(pixels)
    assert first == best_region(pixels)
    assert first.variance < second.variance
    for region, rgb, (left, top, right, bottom) in (
        (first, BLUE, (340, 280, 580, 440)),
        (second, RED, (40, 40, 280, 200)),
    ):
        x1, y1, x2, y2 = region.box
        assert left <= x1 < x2 <= right
        assert top <= y1 < y2 <= bottom
        assert np.abs(np.subtract(region.rgb, rgb)).max() <= 3
        values, counts = np.unique(inside(pixels, region), axis=0, return_counts=True)
        assert dict(zip(map(tuple, values.tolist()), counts.tolist(), strict=True))[region.rgb] == counts.max()


def test_the_variance_is_that_of_all_pixels_of_a_region() -> None:
    pixels = np.empty((480, 640, 3), np.uint8)
    pixels[:, :320], pixels[:, 320:] = RED, noisy(BLUE, 4, 480, 320)
    flat, other = coherent_regions(pixels)
    assert (flat.variance, flat.area_px, other.area_px) == (0, 320 * 480, 320 * 480)
    assert other.variance == pytest.approx(float(rgb2lab(pixels[:, 320:]).var(axis=(0, 1)).sum()), rel=0.05)


def test_the_larger_of_two_flat_regions_comes_first() -> None:
    pixels = np.full((480, 640, 3), RED, np.uint8)
    pixels[:, 240:] = BLUE
    assert [region.rgb for region in coherent_regions(pixels)] == [BLUE, RED]


def test_a_gradient_is_cut_into_regions_that_look_like_one_colour() -> None:
    pixels = np.zeros((480, 640, 3), np.uint8)
    pixels[..., 1] = np.linspace(0, 255, 640).round()
    regions = coherent_regions(pixels)
    assert len(regions) > 5
    for region in regions:
        lab = rgb2lab(inside(pixels, region)[None])[0]
        assert np.linalg.norm(lab - lab.mean(axis=0), axis=1).max() < 3 * DEFAULTS.max_spread
        assert (
            np.linalg.norm(rgb2lab(np.array([[region.rgb]], np.uint8))[0, 0] - lab.mean(axis=0))
            <= DEFAULTS.max_answer_distance + 1
        )


def test_the_answer_is_the_most_frequent_value_not_the_mean() -> None:
    patch = noisy((120, 120, 120), 2, 160, 240)
    patch[stream("test.regions.often").random((160, 240)) < 0.1] = (123, 118, 121)
    region = best_region(patched(patch))
    assert isinstance(region, Region)
    assert region.rgb == (123, 118, 121)
    assert 0.08 < region.rgb_share < 0.13


def test_the_answer_among_equally_frequent_values_is_nearest_to_the_mean() -> None:
    # Every square of 2 x 2 pixels has each of four greys, with a mean of 108; boxes have even sides.
    square = np.array([[100, 104], [110, 118]], np.uint8).repeat(3).reshape(2, 2, 3)
    region = best_region(patched(np.tile(square, (80, 120, 1))))
    assert isinstance(region, Region)
    assert (region.rgb, region.rgb_share) == ((110, 110, 110), 0.25)


def chequered() -> Pixels:
    chess = (np.indices((480, 640)).sum(axis=0) % 2 * 255).astype(np.uint8)
    return np.stack([chess] * 3, axis=-1)


def spiked() -> Pixels:
    patch = stream("test.regions.spiked").integers(147, 154, (480, 640, 3), np.uint8)
    patch[stream("test.regions.spikes").random((480, 640)) < 0.05] = 120
    return patch


@pytest.mark.parametrize(
    ("pixels", "changes", "reason"),
    [
        (motley(), {"merge_distance": 0.0, "min_share": 0.5}, NO_LARGE),
        (patched(noisy(RED, 0, 160, 240)), {"min_side_share": 0.5}, NO_BOX),
        (chequered(), {}, VARIED),
        (spiked(), {}, OFF),
    ],
)
def test_a_missing_region_has_a_reason(pixels: Pixels, changes: dict[str, Any], reason: str) -> None:
    thresholds = replace(DEFAULTS, **changes)
    assert best_region(pixels, thresholds) == reason
    assert coherent_regions(pixels, thresholds) == []


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 150), st.integers(1, 150), st.integers(0, 99), st.floats(0, 6), st.sampled_from((20, 60, 160)))
def test_boxes_are_inside_the_image_and_answers_inside_the_boxes(
    height: int, width: int, seed: int, sigma: float, working_px: int
) -> None:
    rng = stream("test.regions.property", seed)
    pixels = np.full((height, width, 3), rng.integers(0, 256, 3), float)
    for _ in range(3):
        (x1, x2), (y1, y2) = (np.sort(rng.integers(0, side + 1, 2)) for side in (width, height))
        pixels[y1:y2, x1:x2] = rng.integers(0, 256, 3)
    image = (pixels + rng.normal(0, sigma, pixels.shape)).round().clip(0, 255).astype(np.uint8)
    thresholds = replace(DEFAULTS, working_px=working_px)
    regions = coherent_regions(image, thresholds)
    assert regions == coherent_regions(image.copy(), thresholds)
    for region in regions:
        x1, y1, x2, y2 = region.box
        assert 0 <= x1 < x2 <= width
        assert 0 <= y1 < y2 <= height
        assert (inside(image, region) == region.rgb).all(axis=1).any()
        assert DEFAULTS.min_filled <= region.share_of_box <= 1
        assert 0 < region.rgb_share <= 1


def test_merging_agrees_with_scikit_image() -> None:
    """The region adjacency graph with mean colours, merged hierarchically, joins the same superpixels."""
    pixels = motley(96, 128, seed=3) // 4 + 90
    pixels[20:60, 30:100] = noisy(RED, 4, 40, 70)
    pixels[60:90, 10:60] = noisy((206, 48, 38), 2, 30, 50)
    lab = rgb2lab(pixels)
    labels = np.asarray(slic(pixels, 120, start_label=0), np.int64)

    def weigh(adjacency: Any, source: int, target: int, near: int) -> dict[str, float]:
        return {
            "weight": float(np.linalg.norm(adjacency.nodes[target]["mean color"] - adjacency.nodes[near]["mean color"]))
        }

    def join(adjacency: Any, source: int, target: int) -> None:
        first, second = adjacency.nodes[source], adjacency.nodes[target]
        second["total color"] += first["total color"]
        second["pixel count"] += first["pixel count"]
        second["mean color"] = second["total color"] / second["pixel count"]

    adjacent = graph.rag_mean_color(lab, labels, connectivity=1)
    theirs = graph.merge_hierarchical(
        labels, adjacent, thresh=12.0, rag_copy=True, in_place_merge=True, merge_func=join, weight_func=weigh
    )
    ours = merged(labels, lab, 12.0)
    pairs = {
        (int(our_label), int(their_label)) for our_label, their_label in zip(ours.ravel(), theirs.ravel(), strict=True)
    }
    assert len(pairs) == len(np.unique(ours)) == len(np.unique(theirs))
    assert 10 < len(pairs) < len(np.unique(labels)) - 10


def test_regions_count_as_their_means_when_merged() -> None:
    # Lightness 0, 4, 8 and 12 side by side, nothing else. 0 and 4 become 2, then 8 and 12 become 10, 8 away from it.
    labels = np.arange(4)[None]
    lab = np.zeros((1, 4, 3))
    lab[0, :, 0] = (0, 4, 8, 12)
    assert merged(labels, lab, 5.0).tolist() == [[0, 0, 1, 1]]
    assert merged(labels, lab, 4.0).tolist() == [[0, 1, 2, 3]]
    assert merged(labels, lab, 8.1).tolist() == [[0, 0, 0, 0]]
    # Regions that do not touch stay separate, however similar.
    assert merged(np.array([[0, 1, 2]]), np.array([[[0.0, 0, 0], [50, 0, 0], [0, 0, 0]]]), 5.0).tolist() == [[0, 1, 2]]


@given(st.integers(0, 6), st.integers(1, 7), st.integers(0, 2**42 - 1))
def test_the_largest_rectangle_of_a_mask(rows: int, columns: int, bits: int) -> None:
    mask = np.array([bits >> n & 1 for n in range(rows * columns)], bool).reshape(rows, columns)
    areas = [
        (y2 - y1) * (x2 - x1)
        for y1 in range(rows) for y2 in range(y1 + 1, rows + 1)
        for x1 in range(columns) for x2 in range(x1 + 1, columns + 1)
        if mask[y1:y2, x1:x2].all()
    ]  # fmt: skip
    x1, y1, x2, y2 = largest_rectangle(mask)
    assert mask[y1:y2, x1:x2].all()
    assert (y2 - y1) * (x2 - x1) == max(areas, default=0)


@pytest.mark.parametrize(
    "pixels",
    [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((4, 4, 4), np.uint8), np.zeros((0, 4, 3), np.uint8)],
)
def test_arrays_that_are_not_images_are_refused(pixels: Any) -> None:
    with pytest.raises(SnellenError, match="is not an image; give"):
        best_region(pixels)


def test_without_scikit_image_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "skimage.segmentation", None)
    with pytest.raises(SnellenError, match=r"pip install .*\[curation\]'"):
        best_region(motley())


def test_every_threshold_states_its_meaning_and_origin() -> None:
    assert all(threshold.metadata["what"] and threshold.metadata["origin"] for threshold in fields(DEFAULTS))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, ""), ({"min_share": 0.25}, ""), ({"min_share": 0.26}, NO_BOX), ({"min_side_share": 0.5}, ""),
        ({"min_side_share": 0.51}, NO_BOX), ({"min_filled": 0.98}, ""), ({"min_filled": 0.99}, VARIED),
        ({"inset_px": 2, "min_share": 0.2}, NO_BOX), ({"inset_px": 2, "min_share": 0.13}, ""),
    ],
)  # fmt: skip
def test_the_box_of_a_region_is_its_largest_rectangle_less_the_inset(changes: dict[str, Any], reason: str) -> None:
    """Of 60 x 36 pixels in blocks of 3: the region has 12 x 8 of 20 x 12 blocks, of which one is a speck."""
    thresholds = replace(DEFAULTS, working_px=20, **changes)
    pixels = np.full((36, 60, 3), RED, np.uint8)
    mask = np.zeros((12, 20), bool)
    mask[2:10, 3:15] = True
    mask[5, 8] = False
    region = _make_region(_WorkingCopy.from_image(pixels, thresholds), mask, 0.5, thresholds)
    if reason:
        assert region == reason
        return
    side = 3 * thresholds.inset_px
    box = (9.0 + side, 6.0 + side, 45.0 - side, 30.0 - side)
    filled = 59 / 60 if side == 3 else 31 / 32
    assert region == Region(box, RED, 0.5, 95 * 9, filled, 1.0)


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((0, 0, 0), "dark"), ((93, 93, 93), "dark"), ((95, 95, 95), "grey"), ((170, 170, 170), "grey"),
        ((172, 172, 172), "light"), ((255, 255, 255), "light"), ((140, 120, 120), "grey"), ((150, 115, 115), "red"),
        ((255, 0, 0), "red"), ((255, 165, 0), "orange"), ((255, 255, 0), "orange"), ((0, 255, 0), "green"),
        ((0, 255, 255), "cyan"), ((0, 128, 255), "blue"), ((128, 0, 128), "purple"),
    ],
)  # fmt: skip
def test_colours_are_binned_by_lightness_or_by_hue(rgb: tuple[int, int, int], name: str) -> None:
    """Lightness in Lab of grey 94 is 40 and of grey 171 is 70; chroma from 12 on is a hue of 60 degrees."""
    assert colour_bin(rgb) == name
