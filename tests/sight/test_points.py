"""Points are read in the forms in which models and agents give them."""

from __future__ import annotations

import time

import pytest

from snellen_sight.points import PointReply, read_point

# fmt: off
UNNAMED = (
    "412, 88", "(412, 88)", "[412,88]", "412 88", "<point>412 88</point>", "<click>412, 88</click>", "**(412, 88)**",
    "<|box_start|>(412,88)<|box_end|>", '{"point_2d": [412, 88], "label": "disc"}', "pyautogui.click(412, 88)",
    "click(start_box='(412,88)')", '{"name":"computer_use","arguments":{"action":"left_click","coordinate":[412,88]}}',
    "[402,78,422,98]", "(402,78),(422,98)", "[[402,78],[422,98]]", "<box>402 78 422 98</box>", "1. (412, 88)",
    "<think>maybe (1, 2)</think>(412, 88)", "The image is 640x480; the disc is at (412, 88).", "(x, y) = (412, 88)",
    "(412, 88), so (412, 88)", "Coordinates: (412,88) in pixels",
)
NAMED = (
    "x=412, y=88", "y=88, x=412", '{"x": 412, "y": 88}', "click(x=412, y=88)", "X coordinate: 412, Y coordinate: 88",
    "The disc is at x = 412 and y = 88.", '<point x="412" y="88" alt="disc">disc</point>', "left: 412, top: 88",
    "412 pixels from the left and 88 pixels from the top", '{"x1": 402, "y1": 78, "x2": 422, "y2": 98}',
)
NONE = (
    "", "There is no disc.", "(3, 4) or (5, 6)", "(1,024, 88)", "(1,024,1,024)", "412", "[412, 88, 3]", "<loc>",
    "[422, 98, 402, 78]", "412 pixels from the left", "x = 1,024, y = 88",
    "100 px from the left, or 300 px from the left, and 50 px from the top",
    "[412, 88, NaN, 99]", "[null, 412, 88, 99]", "[[412, 88], [-Infinity, 99]]",
)
# fmt: on


@pytest.mark.parametrize("reply", UNNAMED)
def test_two_numbers_in_any_brackets_are_read_in_their_order(reply: str) -> None:
    assert read_point(reply) == PointReply(412.0, 88.0)


@pytest.mark.parametrize("reply", NAMED)
def test_named_coordinates_are_x_and_y(reply: str) -> None:
    assert read_point(reply) == PointReply(412.0, 88.0, is_named=True)


@pytest.mark.parametrize("reply", NONE)
def test_what_is_no_point_or_several_is_not_read(reply: str) -> None:
    assert read_point(reply) is None


def test_percent_and_fractions_keep_their_numbers() -> None:
    assert read_point("41.2%, 8.8%") == PointReply(41.2, 8.8)
    assert read_point("x: .412, y: 0.088") == PointReply(0.412, 0.088, is_named=True)


def test_hostile_replies_are_read_in_bounded_time() -> None:
    begun = time.process_time()
    for unit in ("1", "(", "1,", "x=", "[1 ", "<think>", "1.", "x is at "):
        read_point(unit * (4_000_000 // len(unit)))
    assert time.process_time() - begun < 8
