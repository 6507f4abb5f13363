"""Metrics against values by hand and against other people's code."""

from __future__ import annotations

import importlib
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from snellen.core.item import Box
from snellen.scoring import metrics
from snellen.scoring.metrics import (
    acc_num,
    anls,
    anls_05,
    ciede2000,
    exact_match,
    expected_acc_num,
    giou,
    iou,
    levenshtein,
    mae_over_gt,
)

shapely: Any = importlib.import_module("shapely")  # has no types of its own

side = st.integers(0, 40)
boxes = st.tuples(side, side, st.integers(0, 20), st.integers(0, 20)).map(
    lambda box: (float(box[0]), float(box[1]), float(box[0] + box[2]), float(box[1] + box[3]))
)
share = st.floats(0, 1, width=32)
corners = st.tuples(share, share, st.floats(0.015625, 1, width=32), st.floats(0.015625, 1, width=32))
real_boxes = corners.map(lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3]))
colours = st.tuples(*[st.integers(0, 255)] * 3)


@pytest.mark.parametrize(
    ("answer", "prediction", "value"),
    [
        ("a", "a", 1.0), ("a", "b", 0.0), (2, 2.0, 1.0), (2, 3, 0.0), ([1, 2], (1, 2), 1.0),
        ([1, [2]], (1, (2,)), 1.0), ("a", None, 0.0), ("true", "T", 0.0),
    ],
)  # fmt: skip
def test_right(answer: object, prediction: object, value: float) -> None:
    assert exact_match(answer, prediction) == value


@pytest.mark.parametrize(
    ("answer", "prediction", "overlap", "general"),
    [
        ((0, 0, 2, 2), (0, 0, 2, 2), 1, 1), ((0, 0, 2, 2), (1, 1, 3, 3), 1 / 7, 1 / 7 - 2 / 9),
        ((0, 0, 1, 1), (2, 0, 3, 1), 0, -1 / 3), ((0, 0, 1, 1), (9, 9, 10, 10), 0, -0.98),
        ((0, 0, 4, 4), (1, 1, 2, 2), 1 / 16, 1 / 16), ((1, 1, 1, 1), (1, 1, 1, 1), 1, 1),
        ((1, 1, 1, 1), (2, 2, 2, 2), 0, -1), ((1, 1, 1, 3), (1, 1, 1, 5), 0, 0),
    ],
)  # fmt: skip
def test_boxes_by_hand(answer: list[float], prediction: list[float], overlap: float, general: float) -> None:
    first, second = tuple(map(float, answer)), tuple(map(float, prediction))
    assert iou(first, second) == pytest.approx(overlap)  # type: ignore[arg-type]
    assert giou(first, second) == pytest.approx(general)  # type: ignore[arg-type]


@given(real_boxes, real_boxes)
def test_box_overlaps_equal_those_of_shapely(box: Box, other_box: Box) -> None:
    first, second = shapely.box(*box), shapely.box(*other_box)
    union = first.union(second)
    assume(union.area > 0)
    overlap = first.intersection(second).area / union.area
    hull = union.envelope.area
    assert iou(box, other_box) == pytest.approx(overlap, abs=1e-9)
    assert giou(box, other_box) == pytest.approx(overlap - (hull - union.area) / hull, abs=1e-9)


@given(boxes, boxes)
def test_boxes_on_a_grid_of_pixels(box: tuple[float, ...], other_box: tuple[float, ...]) -> None:
    """The oracle counts unit pixels."""
    grids = np.zeros((2, 60, 60), dtype=bool)
    for grid, (x1, y1, x2, y2) in zip(grids, (box, other_box), strict=True):
        grid[int(y1) : int(y2), int(x1) : int(x2)] = True
    both, either = (grids[0] & grids[1]).sum(), (grids[0] | grids[1]).sum()
    hull = (max(box[2], other_box[2]) - min(box[0], other_box[0])) * (
        max(box[3], other_box[3]) - min(box[1], other_box[1])
    )
    if either:
        assert iou(box, other_box) == pytest.approx(both / either)  # type: ignore[arg-type]
        assert giou(box, other_box) == pytest.approx(both / either - (hull - either) / hull)  # type: ignore[arg-type]
    assert -1 <= giou(box, other_box) <= iou(box, other_box) <= 1  # type: ignore[arg-type]
    assert giou(box, other_box) == pytest.approx(giou(other_box, box))  # type: ignore[arg-type]


def test_mae_over_gt() -> None:
    assert mae_over_gt(4, 5) == 0.25
    assert mae_over_gt(4, 3) == 0.25
    assert mae_over_gt(4, 4) == 0
    assert mae_over_gt(4.5, -4.5) == 2
    with pytest.raises(ValueError, match="positive"):
        mae_over_gt(0, 1)


@given(colours, colours)
def test_ciede2000_is_that_of_scikit_image(rgb: tuple[int, int, int], other_rgb: tuple[int, int, int]) -> None:
    from skimage.color import deltaE_ciede2000, rgb2lab

    lab = [rgb2lab(np.array([each]) / 255)[0] for each in (rgb, other_rgb)]
    expected = float(deltaE_ciede2000(*lab))
    # If hues are opposite, the formula jumps, and the last digit of a double decides.
    apart = abs(np.degrees(np.subtract(*(np.arctan2(each[2], each[1]) for each in lab))))
    assume(abs(apart - 180) > 1e-6)
    assert ciede2000(rgb, other_rgb) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow  # the library takes seconds to import
@given(colours, colours)
def test_ciede2000_is_that_of_colour_science(rgb: tuple[int, int, int], other_rgb: tuple[int, int, int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import colour
    white = colour.CCS_ILLUMINANTS["CIE 1931 2 Degree Standard Observer"]["D65"]
    lab = [colour.XYZ_to_Lab(colour.sRGB_to_XYZ(np.array(each) / 255), white) for each in (rgb, other_rgb)]
    # The two round the sRGB matrix and the white point in different places. The formula jumps if hues are opposite,
    # and greys have no hue: there rounding decides, so that such pairs are left out (for greys see below).
    first, second = lab
    assume(min(np.hypot(*each[1:]) for each in lab) > 1)
    apart = abs(np.degrees(np.subtract(*(np.arctan2(each[2], each[1]) for each in lab))))
    assume(abs(apart - 180) > 2)
    assert ciede2000(rgb, other_rgb) == pytest.approx(
        float(colour.delta_E(first, second, method="CIE 2000")), rel=2e-3, abs=0.02
    )


@pytest.mark.parametrize(
    ("rgb", "other_rgb", "value"),
    [
        ((10, 20, 30), (10, 20, 30), 0),
        # colour-science 0.4.7
        ((0, 0, 0), (255, 255, 255), 100.0000),
        ((255, 0, 0), (0, 255, 0), 86.6143),
        ((200, 30, 40), (190, 50, 60), 4.7178),
        ((10, 20, 200), (30, 20, 180), 2.4120),
        ((128, 128, 128), (130, 128, 120), 4.2928),
        ((90, 200, 90), (20, 130, 250), 59.2129),
    ],
)
def test_ciede2000_of_some_pairs(rgb: tuple[int, ...], other_rgb: tuple[int, ...], value: float) -> None:
    assert ciede2000(rgb, other_rgb) == pytest.approx(value, abs=0.01)


SHARMA = """
50.0000 2.6772 -79.7751 50.0000 0.0000 -82.7485 2.0425
50.0000 3.1571 -77.2803 50.0000 0.0000 -82.7485 2.8615
50.0000 2.8361 -74.0200 50.0000 0.0000 -82.7485 3.4412
50.0000 -1.3802 -84.2814 50.0000 0.0000 -82.7485 1.0000
50.0000 -1.1848 -84.8006 50.0000 0.0000 -82.7485 1.0000
50.0000 -0.9009 -85.5211 50.0000 0.0000 -82.7485 1.0000
50.0000 0.0000 0.0000 50.0000 -1.0000 2.0000 2.3669
50.0000 -1.0000 2.0000 50.0000 0.0000 0.0000 2.3669
50.0000 2.4900 -0.0010 50.0000 -2.4900 0.0009 7.1792
50.0000 2.4900 -0.0010 50.0000 -2.4900 0.0011 7.2195
50.0000 2.4900 -0.0010 50.0000 -2.4900 0.0012 7.2195
50.0000 -0.0010 2.4900 50.0000 0.0009 -2.4900 4.8045
50.0000 -0.0010 2.4900 50.0000 0.0011 -2.4900 4.7461
50.0000 2.5000 0.0000 50.0000 0.0000 -2.5000 4.3065
50.0000 2.5000 0.0000 73.0000 25.0000 -18.0000 27.1492
50.0000 2.5000 0.0000 61.0000 -5.0000 29.0000 22.8977
50.0000 2.5000 0.0000 56.0000 -27.0000 -3.0000 31.9030
50.0000 2.5000 0.0000 58.0000 24.0000 15.0000 19.4535
50.0000 2.5000 0.0000 50.0000 3.1736 0.5854 1.0000
50.0000 2.5000 0.0000 50.0000 3.2972 0.0000 1.0000
50.0000 2.5000 0.0000 50.0000 1.8634 0.5757 1.0000
50.0000 2.5000 0.0000 50.0000 3.2592 0.3350 1.0000
60.2574 -34.0099 36.2677 60.4626 -34.1751 39.4387 1.2644
63.0109 -31.0961 -5.8663 62.8187 -29.7946 -4.0864 1.2630
61.2901 3.7196 -5.3901 61.4292 2.2480 -4.9620 1.8731
35.0831 -44.1164 3.7933 35.0232 -40.0716 1.5901 1.8645
22.7233 20.0904 -46.6940 23.0331 14.9730 -42.5619 2.0373
36.4612 47.8580 18.3852 36.2715 50.5065 21.2231 1.4146
90.8027 -2.0831 1.4410 91.1528 -1.6435 0.0447 1.4441
90.9257 -0.5406 -0.9208 88.6381 -0.8985 -0.7239 1.5381
6.7747 -0.2908 -2.4247 5.8714 -0.0985 -2.2286 0.6377
2.0776 0.0795 -1.1350 0.9033 -0.0636 -0.5514 0.9082
"""
"""L, a and b of two colours and their difference (Sharma, Wu and Dalal 2005, Table 1), to four digits.

Pairs 10 and 14 are left out, because their hues are exactly opposite: there the last digit of a double decides.
"""


def srgb_of(lab: Sequence[float]) -> list[float]:
    """sRGB, 0 to 255 and beyond, of a colour in Lab under D65: some of the pairs are outside the sRGB gamut."""
    from skimage.color.colorconv import xyz_from_rgb

    light, a, b = lab
    roots = np.array([(light + 16) / 116 + a / 500, (light + 16) / 116, (light + 16) / 116 - b / 200])
    shares = np.where(roots > 0.008856 ** (1 / 3), roots**3, (roots - 16 / 116) / 7.787)
    linear = np.linalg.solve(xyz_from_rgb, shares * (0.95047, 1.0, 1.08883))
    curved = 1.055 * np.maximum(linear, 0.0031308) ** (1 / 2.4) - 0.055
    return [float(channel) for channel in 255 * np.where(linear > 0.0031308, curved, 12.92 * linear)]


@pytest.mark.parametrize("line", SHARMA.split("\n")[1:-1])
def test_ciede2000_of_its_published_test_pairs(line: str) -> None:
    *colours_, value = map(float, line.split())
    first, second = srgb_of(colours_[:3]), srgb_of(colours_[3:])
    assert ciede2000(first, second) == pytest.approx(value, abs=6e-5)
    assert ciede2000(second, first) == pytest.approx(value, abs=6e-5)


@pytest.mark.parametrize(
    ("answer", "prediction", "plain", "halved"),
    [
        ("stop", "stop", 1, 1), ("STOP", "stop", 1, 1), ("stop", "shop", 0.75, 0.75), ("stop", "slip", 0.5, 0),
        ("stop", "", 0, 0), ("", "", 1, 1), ("kitten", "sitting", 4 / 7, 4 / 7), ("two  words\n", "two words", 1, 1),
        ("a", "abcd", 0.25, 0),
    ],
)  # fmt: skip
def test_anls_by_hand(answer: str, prediction: str, plain: float, halved: float) -> None:
    assert anls(answer, prediction) == pytest.approx(plain)
    assert anls_05(answer, prediction) == pytest.approx(halved)


def textbook_distance(text: str, other_text: str) -> int:
    """Levenshtein's distance by the table of all prefixes."""
    above = list(range(len(other_text) + 1))
    for row, char in enumerate(text, 1):
        distances = [row]
        for column, other in enumerate(other_text, 1):
            distances.append(min(above[column] + 1, distances[-1] + 1, above[column - 1] + (char != other)))
        above = distances
    return above[-1]


@given(st.text("abc ", max_size=9), st.text("abc ", max_size=9))
def test_anls_is_the_formula(text: str, other_text: str) -> None:
    first, second = (" ".join(string.split()) for string in (text, other_text))
    longest = max(len(first), len(second))
    assert anls(text, other_text) == pytest.approx(1 - textbook_distance(first, second) / longest if longest else 1)
    assert anls_05(text, other_text) in (0, anls(text, other_text))


@given(st.text("abc ", max_size=40), st.text("abc ", max_size=40), st.integers(0, 400), st.integers(1, 9))
def test_long_texts_are_compared_by_blocks_and_never_score_higher(
    text: str, other_text: str, most: int, block: int
) -> None:
    exact, exact_05 = anls(text, other_text), anls_05(text, other_text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "MOST_CELLS", most)
        patch.setattr(metrics, "BLOCK", block)
        assert anls(text, other_text) <= exact
        assert anls_05(text, other_text) <= exact_05
        assert anls(text, text) == 1
        if len(text) * len(other_text) <= most:
            assert (anls(text, other_text), anls_05(text, other_text)) == (exact, exact_05)
        plain = anls(text, other_text)
        assert anls_05(text, other_text) == (plain if plain > 0.5 else 0), "also where the lengths alone decide"


def test_blocks_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "abcdef" and "bcdefg" by blocks of 3: "abc" and "bcd" are 2 apart, "def" and "efg" too, so 1 - 4 / 6."""
    assert anls("abcdef", "bcdefg") == pytest.approx(1 - 2 / 6)
    monkeypatch.setattr(metrics, "MOST_CELLS", 35)
    monkeypatch.setattr(metrics, "BLOCK", 3)
    assert anls("abcdef", "bcdefg") == pytest.approx(1 - 4 / 6)
    assert anls("abcdef", "abc") == pytest.approx(1 - 3 / 6), "18 pairs of characters"


def test_texts_of_some_pages_are_compared_as_a_whole() -> None:
    """By blocks of 10,000 characters, both blocks would be 2 apart."""
    assert anls("ab" * 6000, "ba" * 6000) == pytest.approx(1 - 2 / 12_000)


def test_a_key_of_a_megabyte_is_scored_in_bounded_time() -> None:
    """Without blocks it takes a minute (four times what a table of a quarter of the size took: 17 s)."""
    begin = time.thread_time()
    assert 0 < anls("stop here " * 20_000, "spot there " * 180_000) < 0.12
    assert time.thread_time() - begin < 15


@given(st.text("ab\u0301\U0001f441", max_size=90), st.text("ab\u0301\U0001f441", max_size=90))
def test_levenshtein_equals_the_textbook_table(text: str, other_text: str) -> None:
    # Longer than 64 characters, a machine word; characters outside the first plane count once.
    assert levenshtein(text, other_text) == textbook_distance(text, other_text)


@pytest.mark.parametrize(
    ("text", "other_text", "distance"),
    # "sitting": k becomes s, e becomes i, g is put in. A text of n equal characters against none of them: n.
    [("kitten", "sitting", 3), ("", "abc", 3), ("a" * 200, "b" * 130, 200), ("ab" * 100, "ba" * 100, 2)],
)
def test_levenshtein_by_hand(text: str, other_text: str, distance: int) -> None:
    assert levenshtein(text, other_text) == levenshtein(other_text, text) == distance


@pytest.mark.parametrize(
    ("answer", "prediction", "length", "value"),
    [
        # Released code of VLM2-Bench, worked out by hand
        (1, 1, 4, 1), (1, 2, 4, 0.104042), (1, 3, 4, 0.039735), (1, 4, 4, 0),
        (4, 4, 4, 1), (4, 3, 4, 0.104042), (4, 2, 4, 0.039735), (4, 1, 4, 0),
        (2, 1, 4, 0.066967), (2, 3, 4, 0.066967), (2, 4, 4, 0), (3, 2, 4, 0.066967), (3, 1, 4, 0),
        (1, 2, 2, 0), (2, 1, 3, 0), (1, 3, 3, 0), (3, 3, 3, 1),
        # Outside 1..length: no partial credit
        (1, 0, 4, 0), (4, 5, 4, 0), (1, -1, 4, 0), (1, 1, 1, 1), (1, 7, 1, 0),
    ],
)  # fmt: skip
def test_acc_num(answer: int, prediction: int, length: int, value: float) -> None:
    assert acc_num(answer, prediction, length) == pytest.approx(value, abs=5e-7)


def test_acc_num_needs_a_truth_within_the_sequence() -> None:
    for answer in (0, 5):
        with pytest.raises(ValueError, match="true count"):
            acc_num(answer, 1, 4)


@pytest.mark.parametrize(("length", "value"), [(1, 1), (2, 0.5), (3, 0.333333), (4, 0.284714)])
def test_expected_acc_num(length: int, value: float) -> None:
    assert expected_acc_num(length) == pytest.approx(value, abs=5e-7)


def test_chance_level_of_the_printed_sets() -> None:
    """The paper prints 34.88 for objects and 34.87 for people."""
    objects = (80 * expected_acc_num(2) + 120 * expected_acc_num(3) + 160 * expected_acc_num(4)) / 360
    people = (30 * expected_acc_num(2) + 25 * expected_acc_num(3) + 65 * expected_acc_num(4)) / 120
    assert objects == pytest.approx(0.348762, abs=5e-7)
    assert people == pytest.approx(0.348664, abs=5e-7)
    assert (f"{objects:.2%}", f"{people:.2%}") == ("34.88%", "34.87%")
