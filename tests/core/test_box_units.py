"""Units of boxes: their maps, and the replies that are written and read in them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.box_units import BOX_UNITS, asks_for_fractions, image_size, in_unit, sent_size
from snellen.core.item import Affine, Box, ReplySpec
from snellen.scoring.answers import answer_form, read_answer, read_cut_off

SIDE = 640
FRACTION = ReplySpec("box", frame=Affine(1 / SIDE, 0, 0, 0, 1 / SIDE, 80 / SIDE))  # 640x480, padded by 80 above
BOX = (64.0, 48.0, 320.0, 400.0)


def spec_in(unit: str, max_px: int | None = None) -> ReplySpec:
    return in_unit(FRACTION, unit, max_px)


@pytest.mark.parametrize(
    ("unit", "written"),
    [
        ("fractions", "[0.1, 0.2, 0.5, 0.75]"),
        ("percent", "[10.0, 20.0, 50.0, 75.0]"),
        ("pixels", "[64.0, 128.0, 320.0, 480.0]"),
        ("thousandths", "[100.0, 200.0, 500.0, 750.0]"),
        ("thousandths-y-first", "[200.0, 100.0, 750.0, 500.0]"),
        ("1024ths-y-first", "[204.8, 102.4, 768.0, 512.0]"),
    ],
)
def test_a_box_in_every_unit_by_hand(unit: str, written: str) -> None:
    assert spec_in(unit).write(BOX) == written
    assert read_answer(written, spec_in(unit)) == pytest.approx(BOX)
    assert answer_form(written, spec_in(unit)) == ("as asked" if unit == "fractions" else unit)


def test_pixels_are_those_of_the_image_as_sent() -> None:
    assert spec_in("pixels", max_px=320).write(BOX) == "[32.0, 64.0, 160.0, 240.0]"
    assert spec_in("pixels", max_px=1000) == spec_in("pixels"), "no image is enlarged"
    assert spec_in("thousandths", max_px=320) == spec_in("thousandths")
    assert sent_size((3000, 2200), 1024) == (1024, 751)
    assert sent_size((3000, 2), 1000) == (1000, 1)
    assert image_size(FRACTION) == pytest.approx((SIDE, SIDE))


def test_only_boxes_asked_for_in_fractions_change() -> None:
    others = ReplySpec("colour"), ReplySpec("box"), spec_in("pixels"), ReplySpec("choice", (("A", "a"),))
    assert [in_unit(spec, "thousandths") for spec in others] == list(others)
    sides = {
        side: asks_for_fractions(ReplySpec("box", frame=Affine(1 / side, 0, 0, 0, 1 / 640, 0))) for side in (32, 31)
    }
    assert sides == {32: True, 31: False}
    assert [asks_for_fractions(spec) for spec in (FRACTION, *others)] == [True, False, False, False, False]


SIDES = st.tuples(st.integers(0, 300), st.integers(0, 200), st.integers(2, 300), st.integers(2, 200)).map(
    lambda sides: (float(sides[0]), float(sides[1]), float(sides[0] + sides[2]), float(sides[1] + sides[3]))
)


@given(SIDES, st.sampled_from(sorted(BOX_UNITS)), st.sampled_from([None, 200]))
def test_what_is_written_in_a_unit_is_read_in_it(box: Box, unit: str, max_px: int | None) -> None:
    spec = spec_in(unit, max_px)
    assert read_answer(spec.write(box), spec) == pytest.approx(box, abs=0.01)


@pytest.mark.parametrize(
    ("text", "unit", "box"),
    [
        ("<loc_100><loc_200><loc_500><loc_750>", "thousandths", BOX),
        ("<loc0205><loc0102><loc0768><loc0512> cube", "1024ths-y-first", (63.75, 48.125, 320.0, 400.0)),
        ("<|box_start|>(100,200),(500,750)<|box_end|>", "thousandths", BOX),
        ("<ref>cube</ref><box>[[100, 200, 500, 750]]</box>", "thousandths", BOX),
        ("<|ref|>cube<|/ref|><|det|>[[100, 200, 500, 750]]<|/det|>", "thousandths", BOX),
        ("<box>100 200 500 750</box>", "thousandths", BOX),
        ('<points x1="10" y1="20" x2="50" y2="75" alt="corners">corners</points>', "percent", BOX),
        ('```json\n[{"bbox_2d": [64, 128, 320, 480], "label": "cube"}]\n```', "pixels", BOX),
        ('[{"box_2d": [200, 100, 750, 500], "label": "cube"}]', "thousandths-y-first", BOX),
        ("Top-left corner: (64, 128)\nBottom-right corner: (320, 480)", "pixels", BOX),
    ],
)
def test_tokens_and_manners_of_model_families(text: str, unit: str, box: Box) -> None:
    assert read_answer(text, spec_in(unit)) == pytest.approx(box, abs=0.3)


def test_a_box_in_another_unit_is_never_read_by_itself() -> None:
    for unit in set(BOX_UNITS) - {"fractions"}:
        assert read_answer(spec_in(unit).write(BOX), FRACTION) is None
        assert read_answer(FRACTION.write(BOX), spec_in(unit)) is None, "fractions are no pixels"
    assert answer_form(FRACTION.write(BOX), spec_in("pixels")) == "fractions"
    assert answer_form(spec_in("pixels").write(BOX), FRACTION) == "pixels or thousandths"


LETTERS = ReplySpec("choice", (("A", "a"), ("B", "b")))


@pytest.mark.parametrize(
    ("text", "spec", "answer"),
    [
        ("The cube is nearer. The answer is B. I will check", LETTERS, "b"),
        ("The answer is B", LETTERS, None),  # "Because" may follow
        ("Looking at A first, it is red. B is", LETTERS, None),
        ("A shows a cup. It is red.\nB", LETTERS, None),
        ("B", LETTERS, None),
        ('{"answer": "B"} is my answer, si', LETTERS, "b"),
        ("<think>The answer is B. But", LETTERS, None),
        ("The answer is 12", ReplySpec("integer"), None),  # or 120
        ("The answer is 12.", ReplySpec("integer"), None),  # or 12.5
        ("The answer is 12. I counted", ReplySpec("integer"), 12),
        ("Answer: [0.1, 0.2, 0.5, 0.75]\nThe", FRACTION, BOX),
        ("Answer: [0.1, 0.2, 0.5, 0.7", FRACTION, None),
        ("STOP", ReplySpec("text"), None),
        ("A red cube on a", ReplySpec("description"), "A red cube on a"),
    ],
)
def test_of_a_reply_that_was_cut_off_only_a_complete_declaration_is_read(
    text: str, spec: ReplySpec, answer: object
) -> None:
    read = read_cut_off(text, spec)
    assert read == (pytest.approx(answer) if isinstance(answer, tuple) else answer)


def test_the_unit_of_a_spec_is_part_of_it() -> None:
    assert replace(spec_in("pixels"), unit="") != spec_in("pixels")


def test_a_point_in_every_unit_is_read_as_written() -> None:
    for unit in BOX_UNITS:
        spec = in_unit(replace(FRACTION, kind="point"), unit)
        assert read_answer(spec.write((160, 240)), spec) == pytest.approx((160, 240), abs=1e-3)
