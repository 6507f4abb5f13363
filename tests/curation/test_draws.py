"""Draws: shares within what is available, and uniform orders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.seeds import stream
from snellen.curation.draws import (
    Reservoir,
    draw_options,
    equal_shares,
    grouped,
    least_used,
    level_shares,
    proportional_shares,
)


@pytest.mark.parametrize(
    ("available", "total", "shares"),
    [
        ({"a": 9, "b": 1, "c": 9}, 6, {"a": 2, "b": 1, "c": 3}),  # b has only 1; 5 are left for two
        ({"a": 2, "b": 1}, 9, {"a": 2, "b": 1}),
        ({"a": 5, "b": 5}, 0, {"a": 0, "b": 0}),
        ({}, 4, {}),
    ],
)
def test_shares_are_as_equal_as_possible(available: dict[str, int], total: int, shares: dict[str, int]) -> None:
    assert level_shares(available, total) == shares


@given(st.dictionaries(st.integers(0, 9), st.integers(0, 20)), st.integers(0, 99))
def test_shares_use_everything_available(available: dict[int, int], total: int) -> None:
    shares = level_shares(available, total)
    assert sum(shares.values()) == min(total, sum(available.values()))
    short = [count for name, count in shares.items() if count < available[name]]
    assert not short or max(shares.values()) <= min(short) + 1


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 60), min_size=1), st.integers(0, 300))
def test_shares_are_within_one_of_proportion(available: dict[str, int], total: int) -> None:
    everything = sum(available.values())
    parts = proportional_shares(available, total)
    assert sum(parts.values()) == min(total, everything)
    for name, count in available.items():
        assert 0 <= parts[name] <= count
        assert abs(parts[name] - min(total, everything) * count / max(everything, 1)) < 1


def test_equal_shares_give_the_remainder_to_the_first() -> None:
    assert equal_shares(("a", "b", "c"), 8) == {"a": 3, "b": 3, "c": 2}
    assert equal_shares((), 8) == {}


def test_least_used_images_come_first() -> None:
    used = Counter[Hashable]({"a": 1, "b": 3})
    samples = [("a", 1), ("a", 2), ("b", 1), ("c", 1), ("c", 2)]
    chosen = least_used(samples, 4, lambda sample: sample[0], used, stream("t"))
    # c would be used once, then a and c twice, a three times, b four times.
    assert [image for image, _ in chosen] in (["c", "a", "c", "a"], ["c", "c", "a", "a"])
    assert used == {"a": 3, "b": 3, "c": 2}


def test_the_true_option_may_be_drawn_at_any_position() -> None:
    names = [f"n{n}" for n in range(50)]
    draws = [draw_options("n7", names, 10, np.random.default_rng(seed)) for seed in range(200)]
    assert {len(set(options)) for options in draws} == {10}
    positions = Counter(options.index("n7") for options in draws)
    assert set(positions) == set(range(10))
    assert set(draw_options("n7", names, 100, np.random.default_rng(0))) == set(names)
    assert draw_options("n7", names, 0, np.random.default_rng(0)) == ("n7",)


def test_options_do_not_depend_on_the_order_in_which_the_names_are_given() -> None:
    """With a generator that leaves every order as it is, the others follow by the alphabet, in every process."""
    names = [f"n{n}" for n in range(50, 10, -1)]
    unmixed = Mock(permutation=np.arange)
    assert draw_options("n30", names, 9, unmixed) == ("n30", *(f"n{n}" for n in range(11, 19)))


def test_remainders_go_to_the_largest_and_then_to_the_earlier() -> None:
    """Of 4 in proportion to 1, 5, 4: 0.4, 2 and 1.6; of 2 to 3 equal ones: 0.67 each."""
    assert proportional_shares({"a": 1, "b": 5, "c": 4}, 4) == {"a": 0, "b": 2, "c": 2}
    assert proportional_shares({"a": 1, "b": 1, "c": 1}, 2) == {"a": 1, "b": 1, "c": 0}


def test_groups_are_sorted_and_keep_the_order_of_their_samples() -> None:
    groups = grouped(["bb", "a", "cc", "dddd", "aa"], len)
    assert list(groups.items()) == [(1, ["a"]), (2, ["bb", "cc", "aa"]), (4, ["dddd"])]


def test_a_reservoir_draws_every_sample_equally_often() -> None:
    """2 of 5, 4000 times: each 1600 times, with a standard deviation of 31."""
    counts, rng = Counter[int](), stream("reservoir")
    for _ in range(4000):
        reservoir = Reservoir[int](2, rng)
        for sample in range(5):
            reservoir.offer(sample)
        assert (reservoir.offered, len(set(reservoir.samples))) == (5, 2)
        counts.update(reservoir.samples)
    assert all(abs(counts[sample] - 1600) < 160 for sample in range(5)), counts
