"""Confidence sequences: worked values, coverage at every stopping time, and the order of asking."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.seeds import stream
from snellen.scoring.sequential import (
    BETS,
    asking_order,
    confidence_sequence,
    greatest_wealth,
    is_paired_beyond,
    rounds,
)


def test_the_wealth_of_three_rounds_is_that_worked_by_hand() -> None:
    """Right, right, wrong against a mean of at most 1/2: each share s gives (1 + s)(1 + s), then (1 - s) more."""
    parts = {Fraction(str(share)): Fraction(str(part)) for share, part in BETS.items()}
    assert sum(parts.values()) == 1
    two = sum(part * (1 + share) ** 2 for share, part in parts.items())
    game = rounds([1, 1], [0, 1])
    assert greatest_wealth(game, 0.5, 0.0) == pytest.approx(math.log(two))
    assert greatest_wealth(rounds([1, 1, 0], [0, 1, 2]), 0.5, 0.0) == pytest.approx(math.log(two)), (
        "the greatest counts"
    )
    assert greatest_wealth(rounds([0, 0], [0, 1]), 0.5, 0.0) == 0.0


def test_the_ends_of_ten_right_answers_are_those_worked_by_hand() -> None:
    """Against a mean of m each share s gives (1 + s (1 - m) / m)^10. Of 95 %, half of 5 % are at this end: 40 times."""
    low, high = confidence_sequence([1] * 10, range(10), (0, 1))
    assert sum(part * (1 + share * (1 - low) / low) ** 10 for share, part in BETS.items()) == pytest.approx(
        40, rel=1e-5
    )
    assert high == 1


def test_a_bet_does_not_know_the_size_of_later_rounds() -> None:
    """Right, then a round of two wrong answers: the first bet is as large as if no round of two followed."""
    first = sum(part * (1 + share) for share, part in BETS.items())
    assert greatest_wealth(rounds([1, 0, 0], [0, 1, 1]), 0.5, 0.0) == pytest.approx(math.log(first))


def test_units_of_one_cluster_are_one_round() -> None:
    """A round of two right answers is worth one bet, not two, and rounds are played in the order of asking."""
    assert greatest_wealth(rounds([1, 1], [0, 0]), 0.5, 0.0) == greatest_wealth(rounds([1], [0]), 0.5, 0.0)
    forward = greatest_wealth(rounds([1, 1, 0, 0], [0, 1, 2, 3]), 0.5, 0.0)
    backward = greatest_wealth(rounds([1, 1, 0, 0], [3, 2, 1, 0]), 0.5, 0.0)
    assert forward > backward == 0.0


def test_units_without_a_value_are_ignored_and_lengths_must_match() -> None:
    with_gap = confidence_sequence([1, math.nan, 0, 1] * 20, range(80), (0, 1))
    without = confidence_sequence([1, 0, 1] * 20, [n for n in range(80) if n % 4 != 1], (0, 1))
    assert with_gap == without
    assert confidence_sequence([], [], (0, 1)) == (0, 1)
    with pytest.raises(ValueError, match="same length"):
        rounds([1, 0], [0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(-3, 3), st.floats(0.1, 5))
def test_a_sequence_is_within_its_bounds_holds_the_mean_and_scales(
    values: list[float], shift: float, by: float
) -> None:
    numbers = np.array(values)
    low, high = confidence_sequence(numbers, range(len(numbers)), (0, 1))
    assert 0 <= low <= high <= 1
    moved = confidence_sequence(shift + by * numbers, range(len(numbers)), (shift, shift + by))
    assert moved == pytest.approx((shift + by * low, shift + by * high), abs=1e-6)
    turned = confidence_sequence(1 - numbers, range(len(numbers)), (0, 1))
    assert turned == pytest.approx((1 - high, 1 - low), abs=1e-6)


def test_ends_only_move_inwards() -> None:
    rng = np.random.default_rng(3)
    answers = rng.binomial(1, 0.7, 200)
    ends = [confidence_sequence(answers[:n], range(n), (0, 1)) for n in range(0, 201, 20)]
    lows, highs = zip(*ends, strict=True)
    assert list(lows) == sorted(lows)
    assert list(highs) == sorted(highs, reverse=True)
    assert 0.5 < lows[-1] < 0.7 < highs[-1] < 0.85


@pytest.mark.parametrize(("truth", "size", "icc"), [(0.25, 1, 0.0), (0.5, 4, 0.3), (0.9, 2, 0.1)])
def test_the_truth_is_refuted_at_no_moment_in_more_than_five_of_a_hundred_runs(
    truth: float, size: int, icc: float
) -> None:
    """5 % of 400 runs are 20. Measured with these draws: 4, 8 and 3, and at a level of 90 % 18, 14 and 9."""
    rng = np.random.default_rng(11)
    refuted = 0
    for _ in range(400):
        odds = 1 / icc - 1 if icc else 0.0
        shares = rng.beta(truth * odds, (1 - truth) * odds, 60) if icc else np.full(60, truth)
        answers = rng.binomial(1, np.repeat(shares, size))
        low, high = confidence_sequence(answers, np.repeat(np.arange(60), size), (0, 1))
        refuted += not low <= truth <= high
    assert refuted <= 8


def test_every_beginning_of_the_order_has_the_shares_of_the_whole() -> None:
    """Three answers and a rare level: after k clusters each count is within one of k times its share."""
    rng = np.random.default_rng(2)
    clusters = [(f"c{n}", (f"answer={n % 3}", f"size={'large' if n % 8 == 0 else 'small'}")) for n in range(96)]
    clusters = [clusters[n] for n in rng.permutation(96)]
    order = asking_order(clusters)
    assert sorted(order) == sorted(name for name, _ in clusters)
    levels = dict(clusters)
    counts = Counter[str]()
    shares = {"answer=0": 1 / 3, "answer=1": 1 / 3, "answer=2": 1 / 3, "size=large": 1 / 8, "size=small": 7 / 8}
    for k, name in enumerate(order, 1):
        counts.update(levels[name])
        assert all(abs(counts[level] - k * share) <= 1.5 for level, share in shares.items()), k


def test_the_first_of_equal_clusters_is_asked_first() -> None:
    assert asking_order([("b", ("x",)), ("a", ("x",)), ("c", ("x",))]) == ["b", "a", "c"]
    assert asking_order([]) == []


def test_of_very_many_levels_the_most_frequent_are_balanced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster whose own levels are rare comes first among equals only if these do not count."""
    clusters: list[tuple[str, tuple[str, ...]]] = [("own", ("even", "rare", "rare"))]
    clusters += [(f"c{n}", ("even" if n % 2 == 0 else "odd", f"key={n}")) for n in range(6)]
    assert asking_order(clusters)[0] != "own"
    monkeypatch.setattr("snellen.scoring.sequential.BALANCED_LEVELS", 2)
    assert asking_order(clusters)[0] == "own"


def test_one_wealth_tells_on_which_side_of_a_mean_the_sequence_of_differences_is() -> None:
    """In rounds of two no floor has a mean of 1, so that a bet can lose no more than the greatest mean of b."""
    rng = stream("sides of a paired sequence")
    for number in range(40):
        a, b, turns = rng.random(60) < 0.7, rng.random(60), np.repeat(np.arange(60 // (size := 1 + number % 2)), size)
        means = b.reshape(-1, size).mean(axis=1)
        low, high = confidence_sequence(a - b, turns, (-max(means), 1 - min(means)))
        for mean in (*rng.uniform(-1, 1, 8), low - 1e-6, low + 1e-6, high - 1e-6, high + 1e-6, -1.5, 1.5):
            assert is_paired_beyond(a, b, turns, (0, 1), mean, 1) == (low > mean)
            assert is_paired_beyond(a, b, turns, (0, 1), mean, -1) == (high < mean)
    assert not is_paired_beyond([], [], [], (0, 1), 0.0, 1)


def test_a_mean_at_the_bound_is_refuted_by_a_value_beyond_it() -> None:
    """A mean of 0 of differences from 0 to 1: two zeros agree with it, one 1 does not."""
    assert [is_paired_beyond(a, [0, 0], [0, 1], (0, 1), 0.0, 1) for a in ([0, 0], [0, 1])] == [False, True]
    assert [is_paired_beyond(a, [0, 0], [0, 1], (0, 1), 1.0, -1) for a in ([1, 1], [0, 1])] == [False, True]
