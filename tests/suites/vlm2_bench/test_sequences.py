"""Patterns of sequences and their draws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.seeds import stream
from snellen.suites.vlm2_bench.items import sorted_pattern
from snellen.suites.vlm2_bench.sequences import (
    BALANCED_GRP,
    BALANCED_OC,
    PATTERNS_GRP,
    PATTERNS_OC,
    PC_COUNTS,
    draw,
    needed,
)


def test_true_counts_of_the_nine_patterns() -> None:
    # The column of Table 5 is wrong; these give the printed chance level (34.88), the printed ones do not.
    assert [len(set(pattern)) for pattern in PATTERNS_OC] == [1, 2, 1, 2, 3, 1, 2, 3, 4]


def test_published_counts() -> None:
    assert list(PC_COUNTS) == list(PATTERNS_OC)
    assert list(PC_COUNTS.values()) == [50, 50, 20, 30, 10, 30, 20, 20, 30]
    assert sum(PC_COUNTS[pattern] for pattern in PATTERNS_GRP) == 110


def test_balanced_groups_have_every_pattern_once() -> None:
    for groups, patterns in ((BALANCED_OC, PATTERNS_OC), (BALANCED_GRP, PATTERNS_GRP)):
        assert sorted(pattern for group in groups for pattern in group) == sorted(patterns)


@given(st.sampled_from(PATTERNS_OC), st.integers(0, 2**31), st.integers(0, 3), st.integers(0, 3))
def test_a_draw_shows_its_pattern(pattern: str, seed: int, extra_main: int, extra_others: int) -> None:
    of_main, distractors = needed(pattern)
    main = [("main", n) for n in range(of_main + extra_main)]
    away = [("other", n) for n in range(distractors + extra_others)]
    images, order = draw(pattern, main, away, stream("test", seed))
    assert len(set(images)) == len(images) == len(pattern)
    assert sorted_pattern(order) == pattern
    letters: dict[object, str] = {}
    for image, letter in zip(images, order, strict=True):  # each main image one letter, each distractor its own
        assert letters.setdefault("main" if image in main else image, letter) == letter
    assert len(letters) == len(set(letters.values())) == len(set(pattern))
    assert order[0] == "A"
    assert (images, order) == draw(pattern, main, away, stream("test", seed))


def test_images_and_positions_are_both_drawn() -> None:
    draws = {draw("AAB", "wxyz", "12", stream("test", n)) for n in range(400)}
    assert {order for _, order in draws} == {"AAB", "ABA", "ABB"}  # ABB: the distractor comes first
    assert len({frozenset(images) for images, _ in draws}) == 6 * 2


@pytest.mark.parametrize("wrong", ["", "B", "ABB", "BA", "AC", "ABBA"])
def test_invalid_patterns_are_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="not a pattern"):
        needed(wrong)


def test_too_few_images_are_refused() -> None:
    with pytest.raises(ValueError, match="takes 3 images of the main one and 1 distractors, there are 2 and 1"):
        draw("AAAB", "ab", "c", stream("test", 0))
