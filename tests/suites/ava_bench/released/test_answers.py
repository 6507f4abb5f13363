"""Reading released questions and answers, those that cannot be read, and boxes computed by hand."""

from __future__ import annotations

import pytest

from snellen.suites.ava_bench import prompts
from snellen.suites.ava_bench.abilities import ABILITIES
from snellen.suites.ava_bench.released.answers import LeftOut, listed, read_record, stored_box
from tests.suites.ava_bench.released.fixtures import CUT, TURNS


def test_options_are_cut_off_only_if_they_can_be_written_back_unchanged() -> None:
    for task in CUT:
        question = read_record(task, *TURNS[task])
        labels = "ABCD" if task in ("spatial", "absolute-depth") else "1234567"
        names = [f"{label}. {text}" for label, text in zip(labels, question.options, strict=False)]
        assert f"{question.question} {prompts.list_options(ABILITIES[task].options_wording, names)}" == TURNS[task][0]
        assert not question.inline
    inline = read_record("relative-depth", *TURNS["relative-depth"])
    assert inline.inline
    assert inline.options == ("red", "blue")


def test_a_box_is_mapped_from_the_padded_square_to_pixels_of_the_image() -> None:
    # 200 x 100 in the middle of a square of 200: 50 pixels of padding at the top. 0.5 x 200 - 50 = 50.
    assert stored_box([0.25, 0.5, 0.75, 0.7], 200, 100) == pytest.approx((50, 50, 150, 90))
    # 100 x 201: 50 pixels to the left, 51 to the right. 0.5 x 201 - 50 = 50.5.
    assert stored_box([0.5, 0.0, 0.7, 1.0], 100, 201) == pytest.approx((50.5, 0, 90.7, 201))
    assert stored_box([0.0, 0.25, 0.5, 1.0], 40, 40) == pytest.approx((0, 10, 20, 40))


def test_boxes_may_exceed_the_edge_only_by_rounding_to_two_decimals() -> None:
    assert stored_box([0.1, 0.245, 0.5, 0.755], 200, 100) == pytest.approx((20, 0, 100, 100))
    with pytest.raises(LeftOut, match="padding"):
        stored_box([0.1, 0.2, 0.5, 0.7], 200, 100)
    with pytest.raises(LeftOut, match="padding"):
        stored_box([0.1, 0.245, 0.5, 0.25], 200, 100)  # nothing remains of it


BAD = (
    ("localization", "somewhere", "not a box"),
    ("localization", "[0.1, 0.2, 0.3]", "not a box"),
    ("localization", "[0.1, 0.2, 0.3, 0.4] and more", "not a box"),
    ("localization", "[0.1, 0.2, 1.3, 0.4]", "not inside the square"),
    ("localization", "[-0.1, 0.2, 0.3, 0.4]", "not inside the square"),
    ("localization", "[0.1, 0.2, 0.1, 0.4]", "no area"),
    ("localization", "[0.09, 0.85, 0.61, 0.24]", "exchanged"),
    ("counting", "seven", "not a whole number"),
    ("counting", "0", "count is 0"),
    ("colour", "[256, 0, 0]", "not a colour"),
    ("colour", "[1, 2]", "not a colour"),
    ("ocr", " ", "empty"),
    ("spatial", "E. Above", "not among the options"),
    ("spatial", "A. Left below", "not among the options"),
    ("action", "3", "not among the options"),
)


@pytest.mark.parametrize(("task", "answer", "reason"), BAD)
def test_answers_that_cannot_be_read_are_left_out(task: str, answer: str, reason: str) -> None:
    with pytest.raises(LeftOut, match=reason):
        read_record(task, TURNS[task][0], answer)


@pytest.mark.parametrize(
    ("task", "question", "reason"),
    [
        ("scene", "What is the scene class of the image?", "does not list its options"),
        ("scene", "Which? Choose one from below: 1. Hall, 2. hall", "are equal"),
        ("scene", "Which? Choose one from below: A. Hall, B. Lawn", "does not list its options"),
        ("spatial", "Where? A. Left below, B. Right below", "twice"),
        ("absolute-depth", "How far? Choose the best option: A. 8-9, B. far", "not a bin"),
        ("counting", "<image>\n", "question is missing"),
    ],
)
def test_questions_that_cannot_be_read_are_left_out(task: str, question: str, reason: str) -> None:
    answer = {"scene": "Hall", "spatial": "Left below", "absolute-depth": "8-9", "counting": "7"}[task]
    with pytest.raises(LeftOut, match=reason):
        read_record(task, question, answer)


def test_answers_may_be_written_in_several_forms() -> None:
    question = TURNS["localization"][0]
    for answer in ("[0.5, 0.25, 1, 1.0]", "(.5, .25, 1., 1)", " 0.50,0.25,1.00,1.00. "):
        assert read_record("localization", question, answer).answer == [0.5, 0.25, 1, 1]
    for answer in ("2", "2.", "2. Boxing", "boxing", "2. boxing."):
        assert read_record("action", TURNS["action"][0], answer).answer == "boxing"
    assert read_record("counting", "How many?", "41.").factors == {"count_range": "41 and more"}


def test_lists_may_contain_commas_dots_and_numbers() -> None:
    assert listed(ABILITIES["scene"], "Which? 1. St. Bernard, the 2nd, 2. No. 3.5\n3. c") == (
        "St. Bernard, the 2nd",
        "No. 3.5",
        "c",
    )


def test_the_longest_of_several_lists_counts_and_then_the_last() -> None:
    question = "In figure 1. and 2. there is a place. Choose one from below: 1. Hall, 2. Lawn, 3. Snow"
    assert listed(ABILITIES["scene"], question) == ("Hall", "Lawn", "Snow")
    assert listed(ABILITIES["scene"], "In figure 1. Which place? Choose one from below: 1. Hall, 2. Lawn") == (
        "Hall",
        "Lawn",
    )
    assert listed(ABILITIES["scene"], "Which place? Choose one: 1. a, 2. see 1. for more") == ("a", "see 1. for more")


def test_a_question_that_seems_to_list_options_even_without_its_list_keeps_the_list() -> None:
    question = "Choose one of these. Which place? Choose one from below: 1. Hall, 2. Lawn."
    parsed = read_record("scene", question, "1. Hall")
    assert (parsed.question, parsed.inline) == (question, True)
