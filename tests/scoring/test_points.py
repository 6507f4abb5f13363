"""Points in replies, their units, and whether they hit."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.box_units import in_unit
from snellen.core.item import Affine, Item, Media, ReplySpec
from snellen.core.item_checks import item_fault
from snellen.scoring.answers import answer_form, read_answer, read_cut_off
from snellen.scoring.protocols import HIT

PIXELS = ReplySpec("point")
FRACTIONS = ReplySpec("point", frame=Affine(1 / 640, 0, 0, 0, 1 / 480, 0))
THOUSANDTHS, Y_FIRST = (in_unit(FRACTIONS, unit) for unit in ("thousandths", "thousandths-y-first"))


@pytest.mark.parametrize(
    ("text", "spec", "point"),
    [
        ("[0.5, 0.25]", FRACTIONS, (320, 120)),
        ("(0.5, 0.25)", FRACTIONS, (320, 120)),
        ("x = 0.5, y = 0.25", FRACTIONS, (320, 120)),
        ('{"point": [0.5, 0.25], "label": "disc"}', FRACTIONS, (320, 120)),
        ("[0.4, 0.2, 0.6, 0.3]", FRACTIONS, (320, 120)),  # the middle of a box
        ('{"x1": 0.4, "y1": 0.2, "x2": 0.6, "y2": 0.3}', FRACTIONS, (320, 120)),
        ("x1 is where the disc begins", FRACTIONS, None),
        ("<think>[0.1, 0.1]</think>The disc is at [0.5, 0.25].", FRACTIONS, (320, 120)),
        ("It looks like [0.1, 0.2] at first. The answer is [0.5, 0.25].", FRACTIONS, (320, 120)),
        ("\\boxed{(0.5, 0.25)}", FRACTIONS, (320, 120)),
        ("[0.1, 0.2] or [0.5, 0.25]", FRACTIONS, None),
        ("The answer is [0.1, 0.2] or [0.5, 0.25]. The middle is [0.5, 0.5].", FRACTIONS, None),
        ("The answer is [0.1, 0.2, 0.3]. The disc is at [0.5, 0.25].", FRACTIONS, (320, 120)),  # three are no points
        ("I cannot see a disc.", FRACTIONS, None),
        ("[320, 120]", FRACTIONS, None),  # another unit is never read by itself
        ("[320, 120]", PIXELS, (320, 120)),
        ("pyautogui.click(320, 120)", PIXELS, (320, 120)),
        ("click(x=320, y=120)", PIXELS, (320, 120)),
        ("[500, 250]", THOUSANDTHS, (320, 120)),
        ("[0.5, 0.25]", THOUSANDTHS, None),
        ("[250, 500]", Y_FIRST, (320, 120)),
        ("x: 500, y: 250", Y_FIRST, (320, 120)),  # names overrule the order
    ],
)
def test_a_point_is_read(text: str, spec: ReplySpec, point: tuple[float, float] | None) -> None:
    assert read_answer(text, spec) == (None if point is None else pytest.approx(point))


def test_a_reply_that_was_cut_off_needs_a_declared_point() -> None:
    assert read_cut_off("The disc is at (12, 3", PIXELS) is None
    assert read_cut_off("The answer is [12, 34]. For the squares,", PIXELS) == (12, 34)


@pytest.mark.parametrize(
    ("text", "spec", "form"),
    [
        ("[0.5, 0.25]", FRACTIONS, "as asked"),
        ("[600, 120]", FRACTIONS, "pixels or thousandths"),
        ("[400, 600]", FRACTIONS, "thousandths"),
        ("[500, 250]", THOUSANDTHS, "thousandths"),
        ("[0.5, 0.25]", THOUSANDTHS, "fractions"),
        ("no disc", FRACTIONS, "none"),
    ],
)
def test_the_form_of_a_point_names_its_unit(text: str, spec: ReplySpec, form: str) -> None:
    assert answer_form(text, spec) == form


@given(st.tuples(st.floats(0, 640), st.floats(0, 480)), st.sampled_from([PIXELS, FRACTIONS, Y_FIRST]))
def test_a_point_is_read_as_written(point: tuple[float, float], spec: ReplySpec) -> None:
    if spec.unit and max(spec.frame.point(*point) if spec.frame else point) <= 1:
        return  # taken for fractions
    assert read_answer(spec.write(point), spec) == pytest.approx(point, abs=1e-3)


@given(st.text("0123456789.,;:[](){}<>xy= -\n\\abcis", max_size=200))
def test_any_reply_is_read_as_a_point_without_error(text: str) -> None:
    for spec in (PIXELS, FRACTIONS, Y_FIRST):
        point = read_answer(text, spec)
        assert point is None or all(map(math.isfinite, point))
        read_cut_off(text, spec)


@pytest.mark.parametrize(
    "text", ["1" * 50_000, "(1, " * 12_000, "x: 1 " * 9_000, "answer: " * 5_000, "[1, 2] " * 9_000]
)
def test_long_replies_are_read_quickly(text: str) -> None:
    start = time.perf_counter()
    read_answer(text, PIXELS)
    assert time.perf_counter() - start < 3


def target(**fields: Any) -> Item:
    image = Media("a" * 64, "image", "png", 100, 50)
    item = Item("i", "s", "t", "Where?", (image,), (40.0, 20.0), "point", "i", "i", "i", measures={"radius_px": 5.0})
    return replace(item, **fields)


def test_a_point_within_the_radius_is_a_hit() -> None:
    item = target()
    assert [HIT.score(item, point) for point in ((40, 20), (43, 24), (43, 24.1), (45, 20))] == [1, 1, 0, 1]
    assert HIT.chance(item) == pytest.approx(math.pi * 25 / 5000)
    assert HIT.chance(target(measures={"radius_px": 50.0})) == 1, "a circle larger than the image is hit everywhere"
    assert HIT.binary, "its intervals are Wilson's"


def test_an_item_with_a_point_needs_a_radius() -> None:
    assert item_fault(target()) is None
    assert "radius_px" in str(item_fault(target(measures={})))
    assert "not a point" in str(item_fault(target(answer=(1.0, 2.0, 3.0))))
    assert item_fault(target(answer=None, measures={})) is None
