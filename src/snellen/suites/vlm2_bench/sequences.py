"""Which images stand in a sequence, and in which order (Table 5; PC: appendix 5 of the preprint). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from snellen.suites.vlm2_bench.items import by_appearance

T = TypeVar("T")

PATTERNS_OC: tuple[str, ...] = ("AA", "AB", "AAA", "AAB", "ABC", "AAAA", "AAAB", "AABC", "ABCD")
"""The nine patterns, one sequence each a main object (Table 5). `A` is the main one, other letters are distractors."""

PC_COUNTS: Mapping[str, int] = MappingProxyType(
    {"AA": 50, "AB": 50, "AAA": 20, "AAB": 30, "ABC": 10, "AAAA": 30, "AAAB": 20, "AABC": 20, "ABCD": 30}
)
"""Sequences of people a pattern, 260 in all. The paper writes P, Q, R, S in place of A, B, C, D."""

PATTERNS_GRP: tuple[str, ...] = ("AAB", "ABC", "AAAB", "AABC", "ABCD")
"""Patterns that grouping is asked about: a distractor, and three images or more (appendix 1)."""


BALANCED_OC: tuple[tuple[str, ...], ...] = (
    ("AA",),
    ("AAA",),
    ("AAAA",),
    ("AB",),
    ("AAB", "ABC"),
    ("AAAB", "AABC", "ABCD"),
)
"""The nine patterns so taken in turn that as many sequences show one object as several, at each length. Of the nine by
themselves six show several: whoever says so of all is right in two of three pairs."""
BALANCED_GRP: tuple[tuple[str, ...], ...] = (("AAB",), ("AAAB",), ("AABC",), ("ABC", "ABCD"))
"""The same for grouping: `None`, one of four options, is right one time in four, where the five patterns make it two in
five."""


def needed(pattern: str) -> tuple[int, int]:
    """How many images of the main one and how many distractors a pattern takes: `AABC` takes (2, 2).

    Raises ValueError for what is no pattern: distractors are distinct and stand behind the main one, in order.
    """
    of_main = pattern.count("A")
    others = len(pattern) - of_main
    if not of_main or pattern != "A" * of_main + "".join(chr(ord("B") + n) for n in range(others)):
        raise ValueError(f"{pattern!r}: no pattern; A stands for the main one, then B, C, D for one distractor each")
    return of_main, others


def draw(
    pattern: str, main: Sequence[T], distractors: Sequence[T], rng: np.random.Generator
) -> tuple[tuple[T, ...], str]:
    """Images of a pattern in shuffled order, and who is on each by first appearance (`ABA`).

    `main` holds images of the main one, `distractors` one image each of different others; both are drawn from
    without replacement. Raises ValueError where there are too few.
    """
    of_main, others = needed(pattern)
    if len(main) < of_main or len(distractors) < others:
        raise ValueError(
            f"{pattern} takes {of_main} images of the main one and {others} distractors, "
            f"there are {len(main)} and {len(distractors)}"
        )
    chosen = [(main[int(n)], 0) for n in rng.permutation(len(main))[:of_main]]
    chosen += [
        (distractors[int(n)], letter_number)
        for letter_number, n in enumerate(rng.permutation(len(distractors))[:others], 1)
    ]
    shuffled = [chosen[int(n)] for n in rng.permutation(len(chosen))]
    return tuple(image for image, _ in shuffled), by_appearance([who for _, who in shuffled])
