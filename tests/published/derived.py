"""Printed numbers that can be derived from other printed numbers, and whether they agree.

A paper prints an average, a difference, a sum, a rank, or a count of its numbers with some property. Each such
number is a `DerivedNumber`: the printed value, and the value recomputed from the paper's own tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["match", "known mismatch", "unexplained mismatch", "not derivable"]
VERDICTS: tuple[Verdict, ...] = ("match", "known mismatch", "unexplained mismatch", "not derivable")
Relation: TypeAlias = Literal["=", ">", "<"]
FLOAT_ERROR = 1e-9
"""Tolerance at halves of the last digit, which floats cannot represent."""


@dataclass(frozen=True)
class DerivedNumber:
    """A printed number with its recomputed value, in the unit of print.

    `source` is its place in the paper, `statement` its meaning, `subject` its subject if there are several.
    `decimals` are those that are printed, negative for thousands (-3). `relation` is the required relation of
    `recomputed` to `printed`: equal to half a unit of the last digit (or within `tolerance`), or above or below it,
    for "more than" and bounds. `known_reason` explains a number that does not follow; it is empty otherwise.
    """

    source: str
    statement: str
    printed: float
    recomputed: float
    decimals: int = 0
    subject: str = ""
    relation: Relation = "="
    tolerance: float | None = None
    known_reason: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict: the number follows, or does not with or without a known reason."""
        if self._follows():
            return "match"
        return "known mismatch" if self.known_reason else "unexplained mismatch"

    def _follows(self) -> bool:
        if self.relation == ">":
            return self.recomputed > self.printed
        if self.relation == "<":
            return self.recomputed < self.printed
        tolerance = 10**-self.decimals / 2 if self.tolerance is None else self.tolerance
        return abs(self.recomputed - self.printed) <= tolerance + FLOAT_ERROR


@dataclass(frozen=True)
class Underivable:
    """Printed numbers of one kind that follow from nothing printed: count (0 if they are only drawn), and reason."""

    source: str
    statement: str
    numbers: int
    why: str


PrintedNumber: TypeAlias = DerivedNumber | Underivable
"""A printed number with its recomputed value, or a group of numbers without one."""


def verdict_counts(numbers: Iterable[PrintedNumber]) -> dict[Verdict, int]:
    """The number of printed numbers per verdict."""
    counts = dict.fromkeys(VERDICTS, 0)
    for number in numbers:
        if isinstance(number, Underivable):
            counts["not derivable"] += number.numbers
        else:
            counts[number.verdict] += 1
    return counts


def nearest_share(printed: float, units: int, decimals: int) -> float:
    """The share of `units` that is nearest to a printed percentage, in percent as it would be printed.

    A whole number of `units` is right: a percentage printed with enough digits must be one of these shares.
    """
    return round(100 * round(printed * units / 100) / units, decimals)


def count_row(source: str, statement: str, each: Sequence[bool], known_reason: str = "") -> DerivedNumber:
    """A claim about several printed numbers: the number of those that satisfy it, and the number of all."""
    return DerivedNumber(source, statement, len(each), sum(each), known_reason=known_reason)


def by_subject(
    source: str,
    statement: str,
    printed: Mapping[str, float],
    recomputed: Mapping[str, float],
    decimals: int = 0,
    known_reasons: Mapping[str, str] = MappingProxyType({}),
    tolerance: float | None = None,
) -> list[DerivedNumber]:
    """One number per subject or place in the paper, with the reasons of those that do not follow."""
    return [
        DerivedNumber(
            source, statement, number, recomputed[subject], decimals, subject,
            tolerance=tolerance, known_reason=known_reasons.get(subject, ""),
        )
        for subject, number in printed.items()
    ]  # fmt: skip


def everywhere(recomputed: float, printed: Mapping[str, float]) -> dict[str, float]:
    """The same number for every place where it is printed."""
    return dict.fromkeys(printed, recomputed)
