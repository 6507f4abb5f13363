"""The studies with people: their designs, and the evaluation of answers, computed by hand."""

from __future__ import annotations

from importlib.resources import files

import pytest
import yaml

from snellen.core.errors import SnellenError
from snellen.scoring.uncertainty import wilson
from snellen.suites.combo.report.people import Side, agreement
from tests.published.combo import DIFFICULTY_AGREEMENT


def test_the_designs_are_those_of_the_paper() -> None:
    text = files("snellen.suites.combo.report").joinpath("studies.yaml").read_text("utf-8")
    designs = yaml.safe_load(text)
    alignment, difficulty = designs["abstraction_alignment"], designs["difficulty"]
    assert (alignment["participants"], alignment["questions"]) == (20, {"img2text": 20, "text2img": 20})
    assert alignment["dropped"] == ["best", "worst"]
    assert (difficulty["participants"], difficulty["questions"]) == (8, {"comparisons": 40})
    assert designs["category_building"]["participants"] == 23
    (printed,) = difficulty["printed"]
    assert printed["value"] == DIFFICULTY_AGREEMENT == 0.954


HARDER: list[Side] = ["first", "second", "first", "second"]


def test_agreement_by_hand() -> None:
    result = agreement(
        HARDER,
        {
            "ann": ["first", "second", "first", "first"],
            "bob": ["first", "second", "second", "first"],
            "cat": ["first", "first", None, None],
        },
    )
    # Majorities: first (agrees), second (agrees), tie, first (does not): (1 + 1 + 1/2 + 0) / 4.
    assert result.by_majority == 2.5 / 4
    low, high = wilson(2.5, 4)
    assert result.low <= low
    assert result.high >= high
    assert result.by_vote == (3 + 2 + 1 + 0) / 10
    assert result.vote_low < result.by_vote < result.vote_high
    assert (result.comparisons, result.ties, result.votes) == (4, 1, 10)


def test_people_are_resampled_too() -> None:
    # Of 40 comparisons three of five people get 38 right and two get none. With other people the majority
    # may change, which an interval over comparisons alone cannot show.
    most: list[Side | None] = [*["first"] * 38, *["second"] * 2]  # type: ignore[list-item]
    none: list[Side | None] = ["second"] * 40
    result = agreement(["first"] * 40, {**dict.fromkeys("abc", most), **dict.fromkeys("de", none)})
    assert result.by_majority == 38 / 40
    assert result.low < 0.1 < wilson(38, 40)[0]
    alike = agreement(["first"] * 40, dict.fromkeys("abcde", most))
    assert (alike.low, alike.high) == pytest.approx(wilson(38, 40), abs=0.03)


def test_comparisons_without_votes_are_left_out() -> None:
    result = agreement(["first", "first"], {"ann": ["first", None], "bob": ["first", None]})
    assert (result.by_majority, result.by_vote, result.comparisons) == (1.0, 1.0, 1)


def test_votes_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(SnellenError, match="participant ann has 1 votes on 2 comparisons"):
        agreement(["first", "first"], {"ann": ["first"]})
    with pytest.raises(SnellenError, match="no one voted"):
        agreement(["first"], {"ann": [None]})
