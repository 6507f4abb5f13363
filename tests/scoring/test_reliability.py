"""Split halves by hand, against Cronbach's formula, and for people with and without differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from snellen.scoring.agreement import split_half


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_constant_differences_between_people_give_reliability_1() -> None:
    """Whatever the halves, the means on both are 0, .5 and 1: r = 1, and 2 * 1 / (1 + 1) = 1."""
    table = np.repeat([[0.0], [0.5], [1.0]], 6, axis=1)
    assert split_half(table, rng()) == pytest.approx(1)


def test_spearman_brown_by_hand() -> None:
    """Items 1 and 2 alike, 3 and 4 alike. Halves with one of each kind have r = 1; the others correlate by r12.

    First kind 0 1 2, second 0 2 1: r12 = 1/2. Of the three ways to halve four items one is 12 against 34: mean
    correlation (1 + 1 + 1/2) / 3 = 5/6, and 2 (5/6) / (1 + 5/6) = 10/11.
    """
    first, second = [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]
    table = np.array([first, first, second, second]).T
    assert split_half(table, rng(), 20_000) == pytest.approx(10 / 11, abs=0.004)


def test_long_tests_approach_cronbachs_alpha() -> None:
    """The mean over all halves of equal variance is alpha (Cronbach 1951): k/(k-1) (1 - sum var / var sum)."""
    draw = rng(2)
    table = draw.normal(0, 1, (30, 1)) + draw.normal(0, 2, (30, 40))
    alpha = 40 / 39 * (1 - table.var(axis=0, ddof=1).sum() / table.sum(axis=1).var(ddof=1))
    assert split_half(table, rng()) == pytest.approx(alpha, abs=0.03)


def test_people_without_differences_give_no_reliability() -> None:
    noise = rng(4).normal(0, 1, (200, 20))
    assert split_half(noise, rng()) == pytest.approx(0, abs=0.25)
    assert math.isnan(split_half(np.ones((5, 10)), rng()))


def test_items_that_a_person_was_not_asked_do_not_count() -> None:
    """Every person lacks another third of the items, and their order is still found."""
    table = np.repeat([[0.0], [0.4], [0.7], [1.0]], 12, axis=1)
    for person in range(4):
        table[person, person::3] = np.nan
    assert split_half(table, rng()) == pytest.approx(1)


def test_items_that_nobody_was_asked_are_in_no_half() -> None:
    """With them the halves of four items would often be unequal, or empty; and three items stay too few."""
    first, second = [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]
    table = np.array([first, first, second, second]).T
    unasked = np.full((3, 4), np.nan)
    assert split_half(np.hstack([table, unasked]), rng()) == split_half(table, rng())
    assert math.isnan(split_half(np.hstack([table[:, :3], unasked]), rng()))


def test_undefined_reliability() -> None:
    assert math.isnan(split_half(np.eye(2, 8), rng()))
    assert math.isnan(split_half(np.eye(8, 3), rng()))
    with pytest.raises(ValueError, match="people x items"):
        split_half([1.0, 0.0], rng())


def test_a_negative_correlation_is_reported_unchanged() -> None:
    """People good at one of two kinds of items are bad at the other, so that halves of unequal mixture disagree.

    Spearman-Brown would turn -.48 into 2 (-.48) / (1 - .48) = -1.85, which is not a reliability.
    """
    strong, weak = [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]
    reliability = split_half([strong, weak, strong, weak], rng())
    assert -1 <= reliability < 0


def test_a_correlation_just_above_minus_1_is_reported_unchanged_too() -> None:
    """Items 0 1 2, 2 1 0, 0 2 1 and 1 0 1. The first two together do not tell people apart, so that way has no r.

    First and third, second and fourth: 0 3 3 and 3 1 1, r = -1. First and fourth, others: 1 1 3 and 2 3 1, whose
    distances from their means are (-2, -2, 4) / 3 and 0 1 -1: r = -2 / sqrt(16 / 3). Their mean is -.933.
    """
    table = np.array([[0.0, 1, 2], [2, 1, 0], [0, 2, 1], [1, 0, 1]]).T
    assert split_half(table, rng(), 4000) == pytest.approx(-(1 + math.sqrt(3) / 2) / 2, abs=0.01)


def test_three_people_must_have_answered_in_both_halves() -> None:
    """The third person answered one item: in every split one half lacks it, and two people always correlate by 1."""
    table = np.array([[0.0, 0, 1, 0], [1, 1, 1, 0], [1, math.nan, math.nan, math.nan]])
    assert math.isnan(split_half(table, rng()))


def test_a_thousand_splits_are_averaged() -> None:
    table = rng(5).normal(0, 1, (6, 9))
    assert split_half(table, rng()) == split_half(table, rng(), 1000) != split_half(table, rng(), 999)
