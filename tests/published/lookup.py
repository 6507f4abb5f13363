"""Look-ups of single derived numbers of a paper, for tests that compare them with values worked out elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tests.published.derived import DerivedNumber, PrintedNumber, Verdict


def recomputed(
    derived_numbers: Callable[[], Iterable[PrintedNumber]], statement: str, places: int = 2
) -> Mapping[str, float]:
    """The recomputed numbers of the only statement that contains these words, rounded, by subject."""
    return {number.subject: round(number.recomputed, places) for number in stated(derived_numbers, statement)}


def verdicts(derived_numbers: Callable[[], Iterable[PrintedNumber]], statement: str) -> Mapping[str, Verdict]:
    """The verdicts on the statement that contains these words, by subject."""
    return {number.subject: number.verdict for number in stated(derived_numbers, statement)}


def stated(derived_numbers: Callable[[], Iterable[PrintedNumber]], statement: str) -> list[DerivedNumber]:
    """The numbers of the only statement that contains these words. Raises AssertionError if none or several do."""
    numbers = [n for n in derived_numbers() if isinstance(n, DerivedNumber) and statement in n.statement]
    assert len({number.statement for number in numbers}) == 1, f"{statement!r}: {numbers}"
    return numbers
