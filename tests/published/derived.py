"""Printed numbers that other printed numbers decide, and whether they follow.

A paper prints an average, a difference, a sum, a rank, or says of how many of its numbers something holds. Each such
number is a `DerivedNumber`: what is printed, and what comes out when it is computed again from the paper's own tables.
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
"""By which halves of the last digit may be missed: floats know no halves of a cent."""


@dataclass(frozen=True)
class DerivedNumber:
    """A printed number beside what follows for it; numbers in the unit of print.

    `source` says where it is printed, `statement` what it is, `subject` whose it is, where there are several.
    `decimals` are those that are printed, negative for thousands (-3). `relation` is what `recomputed` must be to
    `printed`: equal to half a unit of the last digit (or within `tolerance`), or above or below it, for "more than"
    and bounds. `known_reason` says why a number does not follow; it is empty where one does.
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
        """Whether the number follows, and whether it is known why not."""
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
    """Printed numbers of one kind that nothing printed decides: how many (0 where they are only drawn), and why."""

    source: str
    statement: str
    numbers: int
    why: str


PrintedNumber: TypeAlias = DerivedNumber | Underivable
"""A number as a paper prints it, with what follows for it; or a group of numbers for which nothing follows."""


def verdict_counts(numbers: Iterable[PrintedNumber]) -> dict[Verdict, int]:
    """How many printed numbers got each verdict."""
    counts = dict.fromkeys(VERDICTS, 0)
    for number in numbers:
        if isinstance(number, Underivable):
            counts["not derivable"] += number.numbers
        else:
            counts[number.verdict] += 1
    return counts


def nearest_share(printed: float, units: int, decimals: int) -> float:
    """The share of so many units that is nearest to a printed percentage, in percent as it would be printed.

    So many of `units` are right: a percentage that is printed to more digits than that decides must be one of these.
    """
    return round(100 * round(printed * units / 100) / units, decimals)


def count_row(source: str, statement: str, each: Sequence[bool], known_reason: str = "") -> DerivedNumber:
    """A claim about all of several printed numbers: of how many it holds, beside how many there are."""
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
    """One number a subject, or a place where it is printed, with the reasons of those that do not follow."""
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
