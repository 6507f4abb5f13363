"""The studies with people: their designs, and the evaluation of answers, computed by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from snellen.core.errors import SnellenError
from snellen.scoring.uncertainty import wilson
from snellen.suites.combo.report.studies import (
    Side,
    accuracy_by_type,
    agreement,
    studies,
    without_best_and_worst,
)
from tests.published.combo import DIFFICULTY_AGREEMENT


def test_the_designs_are_those_of_the_paper() -> None:
    designs = studies()
    assert designs.abstraction_alignment.participants == 20
    assert designs.abstraction_alignment.questions == {"img2text": 20, "text2img": 20}
    assert designs.abstraction_alignment.dropped == ["best", "worst"]
    assert (designs.difficulty.participants, designs.difficulty.questions) == (8, {"comparisons": 40})
    assert designs.category_building.participants == 23
    (printed,) = designs.difficulty.printed
    assert printed.value == DIFFICULTY_AGREEMENT == 0.954


def _scores(rows: dict[str, tuple[int, int]], per_type: int = 4) -> pd.DataFrame:
    """Scores of participants with these numbers of right answers, of `per_type` questions of each type."""
    records = [
        {"subject": name, "task": task, "value": float(n < count)}
        for name, counts in rows.items()
        for task, count in zip(("img2text", "text2img"), counts, strict=True)
        for n in range(per_type)
    ]
    return pd.DataFrame(records)


def test_the_best_and_the_worst_by_total_are_dropped() -> None:
    # Totals: ann 8, bob 5, cat 3, dan 6. Without ann and cat: 3 + 4 of 8 and 2 + 2 of 8.
    scores = _scores({"ann": (4, 4), "bob": (3, 2), "cat": (0, 3), "dan": (4, 2)})
    remaining = without_best_and_worst(scores)
    assert set(remaining["subject"]) == {"bob", "dan"}
    assert accuracy_by_type(remaining) == {"img2text": 7 / 8, "text2img": 4 / 8, "overall": 11 / 16}


def test_of_equal_totals_the_first_by_name_is_dropped() -> None:
    remaining = without_best_and_worst(_scores({"dan": (4, 4), "ann": (4, 4), "bob": (0, 1), "cat": (1, 0)}))
    assert set(remaining["subject"]) == {"dan", "cat"}
    only_third = without_best_and_worst(_scores({"cat": (2, 2), "ann": (2, 2), "bob": (2, 2)}))
    assert set(only_third["subject"]) == {"cat"}


def test_two_people_are_too_few_to_drop_two() -> None:
    with pytest.raises(SnellenError, match="2 participants"):
        without_best_and_worst(_scores({"ann": (4, 4), "bob": (0, 1)}))


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
