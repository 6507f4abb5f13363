"""What released questions and answers say, and which of them say nothing; boxes by hand."""

from __future__ import annotations

import pytest

from snellen.suites.ava_bench import prompts
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.released.answers import LeftOut, listed, read_record, stored_box
from tests.suites.ava_bench.released.fixtures import CUT, SAID


def test_options_are_listed_again_as_they_stood_or_not_cut() -> None:
    for task in CUT:
        asked = read_record(task, *SAID[task])
        labels = "ABCD" if task in ("spatial", "absolute-depth") else "1234567"
        names = [f"{label}. {text}" for label, text in zip(labels, asked.options, strict=False)]
        assert f"{asked.question} {prompts.list_options(ABILITIES[task].options_wording, names)}" == SAID[task][0]
        assert not asked.inline
    kept = read_record("relative-depth", *SAID["relative-depth"])
    assert kept.inline
    assert kept.options == ("red", "blue")


def test_a_box_is_led_from_the_padded_square_to_pixels_of_the_image() -> None:
    # 200 x 100 in the middle of a square of 200: 50 pixels of padding above. 0.5 x 200 - 50 = 50.
    assert stored_box([0.25, 0.5, 0.75, 0.7], 200, 100) == pytest.approx((50, 50, 150, 90))
    # 100 x 201: 50 pixels to the left, 51 to the right. 0.5 x 201 - 50 = 50.5.
    assert stored_box([0.5, 0.0, 0.7, 1.0], 100, 201) == pytest.approx((50.5, 0, 90.7, 201))
    assert stored_box([0.0, 0.25, 0.5, 1.0], 40, 40) == pytest.approx((0, 10, 20, 40))


def test_two_decimals_may_reach_over_the_edge_and_no_more() -> None:
    assert stored_box([0.1, 0.245, 0.5, 0.755], 200, 100) == pytest.approx((20, 0, 100, 100))
    with pytest.raises(LeftOut, match="padding"):
        stored_box([0.1, 0.2, 0.5, 0.7], 200, 100)
    with pytest.raises(LeftOut, match="padding"):
        stored_box([0.1, 0.245, 0.5, 0.25], 200, 100)  # nothing is left of it


BAD = (
    ("localization", "somewhere", "no box"),
    ("localization", "[0.1, 0.2, 0.3]", "no box"),
    ("localization", "[0.1, 0.2, 0.3, 0.4] and more", "no box"),
    ("localization", "[0.1, 0.2, 1.3, 0.4]", "out of the square"),
    ("localization", "[-0.1, 0.2, 0.3, 0.4]", "out of the square"),
    ("localization", "[0.1, 0.2, 0.1, 0.4]", "no area"),
    ("localization", "[0.09, 0.85, 0.61, 0.24]", "exchanged"),
    ("counting", "seven", "no whole number"),
    ("counting", "0", "nothing is counted"),
    ("colour", "[256, 0, 0]", "no colour"),
    ("colour", "[1, 2]", "no colour"),
    ("ocr", " ", "empty"),
    ("spatial", "E. Above", "none of the options"),
    ("spatial", "A. Left below", "none of the options"),
    ("action", "3", "none of the options"),
)


@pytest.mark.parametrize(("task", "said", "reason"), BAD)
def test_answers_that_cannot_be_read_are_left_out(task: str, said: str, reason: str) -> None:
    with pytest.raises(LeftOut, match=reason):
        read_record(task, SAID[task][0], said)


@pytest.mark.parametrize(
    ("task", "asked", "reason"),
    [
        ("scene", "What is the scene class of the image?", "does not list its options"),
        ("scene", "Which? Choose one from below: 1. Hall, 2. hall", "are the same"),
        ("scene", "Which? Choose one from below: A. Hall, B. Lawn", "does not list its options"),
        ("spatial", "Where? A. Left below, B. Right below", "twice"),
        ("absolute-depth", "How far? Choose the best option: A. 8-9, B. far", "no bin"),
        ("counting", "<image>\n", "no question"),
    ],
)
def test_questions_that_cannot_be_read_are_left_out(task: str, asked: str, reason: str) -> None:
    said = {"scene": "Hall", "spatial": "Left below", "absolute-depth": "8-9", "counting": "7"}[task]
    with pytest.raises(LeftOut, match=reason):
        read_record(task, asked, said)


def test_answers_may_be_written_in_several_ways() -> None:
    where = SAID["localization"][0]
    for said in ("[0.5, 0.25, 1, 1.0]", "(.5, .25, 1., 1)", " 0.50,0.25,1.00,1.00. "):
        assert read_record("localization", where, said).answer == [0.5, 0.25, 1, 1]
    for said in ("2", "2.", "2. Boxing", "boxing", "2. boxing."):
        assert read_record("action", SAID["action"][0], said).answer == "boxing"
    assert read_record("counting", "How many?", "41.").factors == {"count_range": "41 and more"}


def test_lists_may_hold_commas_dots_and_numbers() -> None:
    assert listed(ABILITIES["scene"], "Which? 1. St. Bernard, the 2nd, 2. No. 3.5\n3. c") == (
        "St. Bernard, the 2nd",
        "No. 3.5",
        "c",
    )


def test_of_several_lists_the_longest_and_then_the_last_counts() -> None:
    asked = "In figure 1. and 2. there is a place. Choose one from below: 1. Hall, 2. Lawn, 3. Snow"
    assert listed(ABILITIES["scene"], asked) == ("Hall", "Lawn", "Snow")
    assert listed(ABILITIES["scene"], "In figure 1. Which place? Choose one from below: 1. Hall, 2. Lawn") == (
        "Hall",
        "Lawn",
    )
    assert listed(ABILITIES["scene"], "Which place? Choose one: 1. a, 2. see 1. for more") == ("a", "see 1. for more")


def test_a_question_that_would_seem_to_list_options_without_its_list_keeps_it() -> None:
    question = "Choose one of these. Which place? Choose one from below: 1. Hall, 2. Lawn."
    asked = read_record("scene", question, "1. Hall")
    assert (asked.question, asked.inline) == (question, True)
