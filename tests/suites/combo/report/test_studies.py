"""The studies with people: their designs, and what is made of answers, worked by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from snellen.core.errors import SnellenError
from snellen.scoring.uncertainty import wilson
from snellen.suites.combo.categories import Pair, Rule
from snellen.suites.combo.difficulty import LEVELS, level_of, packaged_features, separation
from snellen.suites.combo.published import DIFFICULTY_AGREEMENT
from snellen.suites.combo.report.studies import (
    Comparison,
    accuracy_by_type,
    agreement,
    comparisons,
    studies,
    without_best_and_worst,
)

RULE = Rule((("shape/primary", "cube"),))


def test_the_designs_are_those_of_the_paper() -> None:
    told = studies()
    assert told.abstraction_alignment.participants == 20
    assert told.abstraction_alignment.questions == {"img2text": 20, "text2img": 20}
    assert told.abstraction_alignment.dropped == ["best", "worst"]
    assert (told.difficulty.participants, told.difficulty.questions) == (8, {"comparisons": 40})
    assert told.category_building.participants == 23
    (printed,) = told.difficulty.printed
    assert printed.value == DIFFICULTY_AGREEMENT == 0.954


def test_no_share_of_40_comparisons_or_320_votes_is_the_printed_agreement() -> None:
    for total in (40, 320):
        assert 95.4 not in {round(100 * k / total, 1) for k in range(total + 1)}


def _scores(rows: dict[str, tuple[int, int]], asked: int = 4) -> pd.DataFrame:
    """Participant -> right answers of each type, of `asked` a type."""
    told = [
        {"subject": name, "task": task, "value": float(n < count)}
        for name, counts in rows.items()
        for task, count in zip(("img2text", "text2img"), counts, strict=True)
        for n in range(asked)
    ]
    return pd.DataFrame(told)


def test_the_best_and_the_worst_by_total_are_dropped() -> None:
    # Totals: ann 8, bob 5, cat 3, dan 6. Without ann and cat: 3 + 4 of 8 and 2 + 2 of 8.
    scores = _scores({"ann": (4, 4), "bob": (3, 2), "cat": (0, 3), "dan": (4, 2)})
    left = without_best_and_worst(scores)
    assert set(left["subject"]) == {"bob", "dan"}
    assert accuracy_by_type(left) == {"img2text": 7 / 8, "text2img": 4 / 8, "overall": 11 / 16}


def test_of_equal_totals_the_first_by_name_goes() -> None:
    left = without_best_and_worst(_scores({"dan": (4, 4), "ann": (4, 4), "bob": (0, 1), "cat": (1, 0)}))
    assert set(left["subject"]) == {"dan", "cat"}
    same = without_best_and_worst(_scores({"cat": (2, 2), "ann": (2, 2), "bob": (2, 2)}))
    assert set(same["subject"]) == {"cat"}


def test_two_people_are_too_few_to_drop_two() -> None:
    with pytest.raises(SnellenError, match="2 participants"):
        without_best_and_worst(_scores({"ann": (4, 4), "bob": (0, 1)}))


def test_forty_comparisons_from_a_seed() -> None:
    made = comparisons(0)
    assert len(made) == 40
    assert comparisons(0) == made
    assert comparisons(1)[0] != made[0]
    held = packaged_features()
    for asked in made:
        for pair in (asked.first, asked.second):
            assert pair.level == level_of(pair.distance, held.thresholds)
            assert not (pair.first.mask() & pair.second.mask()).any()
        assert asked.harder == ("first" if asked.first.distance < asked.second.distance else "second")
    one = made[7].second
    assert one.distance == pytest.approx(separation(held.values, one.first.mask(), one.second.mask()))
    assert {pair.level for asked in made for pair in (asked.first, asked.second)} == set(LEVELS)
    assert 5 < sum(asked.harder == "first" for asked in made) < 35


def _asked(*distances: tuple[float, float]) -> list[Comparison]:
    return [Comparison(Pair(RULE, RULE, a, ""), Pair(RULE, RULE, b, "")) for a, b in distances]


def test_agreement_by_hand() -> None:
    asked = _asked((1.0, 2.0), (2.0, 1.0), (3.0, 4.0), (4.0, 3.0))  # harder: first, second, first, second
    found = agreement(
        asked,
        {
            "ann": ["first", "second", "first", "first"],
            "bob": ["first", "second", "second", "first"],
            "cat": ["first", "first", None, None],
        },
    )
    # Majorities: first (agrees), second (agrees), tie, first (does not): (1 + 1 + 1/2 + 0) / 4.
    assert found.by_majority == 2.5 / 4
    assert (found.low, found.high) == wilson(2.5, 4)
    assert found.by_vote == (3 + 2 + 1 + 0) / 10
    assert (found.comparisons, found.ties) == (4, 1)


def test_comparisons_without_votes_are_left_out() -> None:
    found = agreement(_asked((1.0, 2.0), (1.0, 2.0)), {"ann": ["first", None], "bob": ["first", None]})
    assert (found.by_majority, found.by_vote, found.comparisons) == (1.0, 1.0, 1)


def test_votes_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(SnellenError, match="participant ann has 1 votes on 2 comparisons"):
        agreement(_asked((1.0, 2.0), (1.0, 2.0)), {"ann": ["first"]})
    with pytest.raises(SnellenError, match="nobody voted"):
        agreement(_asked((1.0, 2.0)), {"ann": [None]})
