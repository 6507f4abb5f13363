"""The images of sequences and their order (Table 5; PC: appendix 5 of the preprint), without reading files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from snellen.suites.vlm2_bench.items import by_appearance

T = TypeVar("T")

PATTERNS_OC: tuple[str, ...] = ("AA", "AB", "AAA", "AAB", "ABC", "AAAA", "AAAB", "AABC", "ABCD")
"""The nine patterns, one sequence of each per main object (Table 5). `A` is the main one, other letters distractors."""

PC_COUNTS: Mapping[str, int] = {
    "AA": 50,
    "AB": 50,
    "AAA": 20,
    "AAB": 30,
    "ABC": 10,
    "AAAA": 30,
    "AAAB": 20,
    "AABC": 20,
    "ABCD": 30,
}
"""Sequences of people per pattern, 260 in total. The paper writes P, Q, R, S instead of A, B, C, D."""

PATTERNS_GRP: tuple[str, ...] = ("AAB", "ABC", "AAAB", "AABC", "ABCD")
"""Patterns for grouping: at least one distractor and three images (appendix 1)."""

BALANCED_OC: tuple[tuple[str, ...], ...] = (
    ("AA",),
    ("AAA",),
    ("AAAA",),
    ("AB",),
    ("AAB", "ABC"),
    ("AAAB", "AABC", "ABCD"),
)
"""The nine patterns, grouped so that taking groups in turn balances one object and several objects at each length. Of
the nine patterns six show several objects: a subject that always says so is right in two of three pairs."""
BALANCED_GRP: tuple[tuple[str, ...], ...] = (("AAB",), ("AAAB",), ("AABC",), ("ABC", "ABCD"))
"""The same for grouping: `None`, one of four options, is right in one of four sequences instead of two of five."""


def needed(pattern: str) -> tuple[int, int]:
    """The numbers of main images and of distractors in a pattern: (2, 2) for `AABC`.

    Raises ValueError for an invalid pattern: distractors must be distinct and follow the main one, in order.
    """
    of_main = pattern.count("A")
    others = len(pattern) - of_main
    if not of_main or pattern != "A" * of_main + "".join(chr(ord("B") + n) for n in range(others)):
        raise ValueError(f"{pattern!r}: not a pattern; A is the main one, then B, C, D are one distractor each")
    return of_main, others


def draw(
    pattern: str, main: Sequence[T], distractors: Sequence[T], rng: np.random.Generator
) -> tuple[tuple[T, ...], str]:
    """Images of a pattern in shuffled order, and the content of each by first appearance (`ABA`).

    `main` are images of the main one, `distractors` one image of each distractor; both are drawn without replacement.
    Raises ValueError if there are too few.
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
    return tuple(image for image, _ in shuffled), by_appearance([number for _, number in shuffled])
