"""Rules for printed numbers: they follow to half a unit of the last digit, above or below a bound, or not."""

from __future__ import annotations

import pytest

from tests.published.derived import (
    DerivedNumber,
    PrintedNumber,
    Relation,
    Underivable,
    by_subject,
    count_row,
    everywhere,
    nearest_share,
    verdict_counts,
)


@pytest.mark.parametrize(
    ("printed", "recomputed", "decimals", "verdict"),
    [
        (33.72, 33.71875, 2, "match"),
        (33.71, 33.71875, 2, "unexplained mismatch"),
        (0.35, 0.345, 2, "match"),  # a half may be rounded either way
        (0.34, 0.345, 2, "match"),
        (8, 230 / 28, 0, "match"),
        (8, 8.6, 0, "unexplained mismatch"),
        (34_800, 34_849, -2, "match"),  # 34.8K
        (34_800, 34_851, -2, "unexplained mismatch"),
        (1_200_000, 1_223_000, -5, "match"),  # 1.2M
    ],
)
def test_numbers_agree_to_half_a_unit_of_the_last_digit(
    printed: float, recomputed: float, decimals: int, verdict: str
) -> None:
    assert DerivedNumber("", "", printed, recomputed, decimals).verdict == verdict


@pytest.mark.parametrize(
    ("relation", "recomputed", "follows"),
    [(">", 3060, True), (">", 3000, False), ("<", 2999, True), ("<", 3000, False), ("=", 3000, True)],
)
def test_a_bound_is_met_by_values_beyond_it(relation: Relation, recomputed: float, follows: bool) -> None:
    verdict = DerivedNumber("", "", 3000, recomputed, relation=relation).verdict
    assert verdict == ("match" if follows else "unexplained mismatch")


def test_a_reason_explains_only_numbers_that_do_not_follow() -> None:
    assert DerivedNumber("", "", 512, 513, known_reason="miscounted").verdict == "known mismatch"
    assert DerivedNumber("", "", 513, 513, known_reason="miscounted").verdict == "match"


def test_an_own_tolerance_replaces_the_last_digit() -> None:
    assert DerivedNumber("", "", 20, 21.9, tolerance=2).verdict == "match"
    assert DerivedNumber("", "", 3, 3.5, tolerance=0).verdict == "unexplained mismatch"


def test_a_percentage_is_compared_with_the_nearest_share() -> None:
    # 93 of 259 are 35.907 percent, 94 are 36.29; of 260 the nearest are 93 (35.77) and 94 (36.15)
    assert nearest_share(35.91, 259, 2) == 35.91
    assert nearest_share(35.91, 260, 2) == 35.77
    assert nearest_share(95.4, 40, 1) == 95.0


def test_numbers_of_several_subjects_or_places() -> None:
    printed = {"abstract": 9, "introduction": 8}
    numbers = by_subject("text", "Subtasks", printed, everywhere(9, printed), 0, {"introduction": "says eight"})
    assert [(number.subject, number.verdict) for number in numbers] == [
        ("abstract", "match"), ("introduction", "known mismatch"),
    ]  # fmt: skip


def test_a_claim_about_all_counts_those_that_satisfy_it() -> None:
    number = count_row("", "above chance", [True, False, True])
    assert (number.printed, number.recomputed, number.verdict) == (3, 2, "unexplained mismatch")


def test_verdicts_are_counted_by_printed_number() -> None:
    numbers: list[PrintedNumber] = [
        DerivedNumber("", "", 1, 1),
        DerivedNumber("", "", 1, 2),
        DerivedNumber("", "", 1, 2, known_reason="a slip"),
        Underivable("Table 1", "scores", 81, "no replies"),
        Underivable("Figure 1", "scores", 0, "drawn"),
    ]
    assert list(verdict_counts(numbers).values()) == [1, 1, 1, 81]
