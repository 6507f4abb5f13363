"""Metrics against values by hand and against other people's code."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from snellen.scoring.metrics import (
    acc_num,
    anls,
    anls_05,
    ciede2000,
    expected_acc_num,
    giou,
    iou,
    mae_over_gt,
    right,
)

side = st.integers(0, 40)
boxes = st.tuples(side, side, st.integers(0, 20), st.integers(0, 20)).map(
    lambda box: (float(box[0]), float(box[1]), float(box[0] + box[2]), float(box[1] + box[3]))
)
colours = st.tuples(*[st.integers(0, 255)] * 3)


@pytest.mark.parametrize(
    ("answer", "said", "value"),
    [
        ("a", "a", 1.0),
        ("a", "b", 0.0),
        (2, 2.0, 1.0),
        (2, 3, 0.0),
        ([1, 2], (1, 2), 1.0),
        ([1, [2]], (1, (2,)), 1.0),
        ("a", None, 0.0),
        ("true", "T", 0.0),
    ],
)
def test_right(answer: object, said: object, value: float) -> None:
    assert right(answer, said) == value


@pytest.mark.parametrize(
    ("answer", "said", "overlap", "general"),
    [
        ((0, 0, 2, 2), (0, 0, 2, 2), 1, 1),
        ((0, 0, 2, 2), (1, 1, 3, 3), 1 / 7, 1 / 7 - 2 / 9),
        ((0, 0, 1, 1), (2, 0, 3, 1), 0, -1 / 3),
        ((0, 0, 1, 1), (9, 9, 10, 10), 0, -0.98),
        ((0, 0, 4, 4), (1, 1, 2, 2), 1 / 16, 1 / 16),
        ((1, 1, 1, 1), (1, 1, 1, 1), 1, 1),
        ((1, 1, 1, 1), (2, 2, 2, 2), 0, -1),
        ((1, 1, 1, 3), (1, 1, 1, 5), 0, 0),
    ],
)
def test_boxes_by_hand(answer: list[float], said: list[float], overlap: float, general: float) -> None:
    one, two = tuple(map(float, answer)), tuple(map(float, said))
    assert iou(one, two) == pytest.approx(overlap)  # type: ignore[arg-type]
    assert giou(one, two) == pytest.approx(general)  # type: ignore[arg-type]


@given(boxes, boxes)
def test_boxes_on_a_grid_of_pixels(one: tuple[float, ...], two: tuple[float, ...]) -> None:
    """The oracle counts unit pixels."""
    grids = np.zeros((2, 60, 60), dtype=bool)
    for grid, (x1, y1, x2, y2) in zip(grids, (one, two), strict=True):
        grid[int(y1) : int(y2), int(x1) : int(x2)] = True
    both, either = (grids[0] & grids[1]).sum(), (grids[0] | grids[1]).sum()
    hull = (max(one[2], two[2]) - min(one[0], two[0])) * (max(one[3], two[3]) - min(one[1], two[1]))
    if either:
        assert iou(one, two) == pytest.approx(both / either)  # type: ignore[arg-type]
        assert giou(one, two) == pytest.approx(both / either - (hull - either) / hull)  # type: ignore[arg-type]
    assert -1 <= giou(one, two) <= iou(one, two) <= 1  # type: ignore[arg-type]
    assert giou(one, two) == pytest.approx(giou(two, one))  # type: ignore[arg-type]


def test_mae_over_gt() -> None:
    assert mae_over_gt(4, 5) == 0.25
    assert mae_over_gt(4, 3) == 0.25
    assert mae_over_gt(4, 4) == 0
    assert mae_over_gt(4.5, -4.5) == 2
    with pytest.raises(ValueError, match="positive"):
        mae_over_gt(0, 1)


@pytest.mark.slow  # the library takes seconds to import
@given(colours, colours)
def test_ciede2000_is_that_of_colour_science(one: tuple[int, int, int], two: tuple[int, int, int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import colour
    white = colour.CCS_ILLUMINANTS["CIE 1931 2 Degree Standard Observer"]["D65"]
    lab = [colour.XYZ_to_Lab(colour.sRGB_to_XYZ(np.array(each) / 255), white) for each in (one, two)]
    # The two round the sRGB matrix and the white point in different places. The formula jumps where hues lie opposite,
    # and greys have no hue: there rounding decides, so that such pairs are left out (greys stand below).
    first, second = lab
    assume(min(np.hypot(*each[1:]) for each in lab) > 1)
    apart = abs(np.degrees(np.subtract(*(np.arctan2(each[2], each[1]) for each in lab))))
    assume(abs(apart - 180) > 2)
    assert ciede2000(one, two) == pytest.approx(
        float(colour.delta_E(first, second, method="CIE 2000")), rel=2e-3, abs=0.02
    )


@pytest.mark.parametrize(
    ("one", "two", "value"),
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
def test_ciede2000_of_some_pairs(one: tuple[int, ...], two: tuple[int, ...], value: float) -> None:
    assert ciede2000(one, two) == pytest.approx(value, abs=0.01)


@pytest.mark.parametrize(
    ("answer", "said", "plain", "halved"),
    [
        ("stop", "stop", 1, 1),
        ("STOP", "stop", 1, 1),
        ("stop", "shop", 0.75, 0.75),
        ("stop", "slip", 0.5, 0),
        ("stop", "", 0, 0),
        ("", "", 1, 1),
        ("kitten", "sitting", 4 / 7, 4 / 7),
        ("two  words\n", "two words", 1, 1),
        ("a", "abcd", 0.25, 0),
    ],
)
def test_anls_by_hand(answer: str, said: str, plain: float, halved: float) -> None:
    assert anls(answer, said) == pytest.approx(plain)
    assert anls_05(answer, said) == pytest.approx(halved)


def levenshtein(one: str, two: str) -> int:
    """As the textbook has it."""
    above = list(range(len(two) + 1))
    for row, char in enumerate(one, 1):
        here = [row]
        for column, other in enumerate(two, 1):
            here.append(min(above[column] + 1, here[-1] + 1, above[column - 1] + (char != other)))
        above = here
    return above[-1]


@given(st.text("abc ", max_size=9), st.text("abc ", max_size=9))
def test_anls_is_the_formula(one: str, two: str) -> None:
    first, second = (" ".join(text.split()) for text in (one, two))
    longest = max(len(first), len(second))
    assert anls(one, two) == pytest.approx(1 - levenshtein(first, second) / longest if longest else 1)
    assert anls_05(one, two) in (0, anls(one, two))


@pytest.mark.parametrize(
    ("answer", "said", "length", "value"),
    [
        # Released code of VLM2-Bench, worked out by hand
        (1, 1, 4, 1), (1, 2, 4, 0.104042), (1, 3, 4, 0.039735), (1, 4, 4, 0),
        (4, 4, 4, 1), (4, 3, 4, 0.104042), (4, 2, 4, 0.039735), (4, 1, 4, 0),
        (2, 1, 4, 0.066967), (2, 3, 4, 0.066967), (2, 4, 4, 0), (3, 2, 4, 0.066967), (3, 1, 4, 0),
        (1, 2, 2, 0), (2, 1, 3, 0), (1, 3, 3, 0), (3, 3, 3, 1),
        # Out of 1..length: no partial credit
        (1, 0, 4, 0), (4, 5, 4, 0), (1, -1, 4, 0), (1, 1, 1, 1), (1, 7, 1, 0),
    ],
)  # fmt: skip
def test_acc_num(answer: int, said: int, length: int, value: float) -> None:
    assert acc_num(answer, said, length) == pytest.approx(value, abs=5e-7)


def test_acc_num_needs_a_truth_within_the_sequence() -> None:
    for answer in (0, 5):
        with pytest.raises(ValueError, match="true count"):
            acc_num(answer, 1, 4)


@pytest.mark.parametrize(("length", "value"), [(1, 1), (2, 0.5), (3, 0.333333), (4, 0.284714)])
def test_expected_acc_num(length: int, value: float) -> None:
    assert expected_acc_num(length) == pytest.approx(value, abs=5e-7)


def test_chance_of_the_printed_sets() -> None:
    """The paper prints 34.88 for objects and 34.87 for people."""
    objects = (80 * expected_acc_num(2) + 120 * expected_acc_num(3) + 160 * expected_acc_num(4)) / 360
    people = (30 * expected_acc_num(2) + 25 * expected_acc_num(3) + 65 * expected_acc_num(4)) / 120
    assert objects == pytest.approx(0.348762, abs=5e-7)
    assert people == pytest.approx(0.348664, abs=5e-7)
    assert (f"{objects:.2%}", f"{people:.2%}") == ("34.88%", "34.87%")
