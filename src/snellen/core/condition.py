"""Conditions: points on the ordered axes that a suite declares."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias

from snellen.core.errors import SnellenError

Value: TypeAlias = int | str


def near(word: str, words: Iterable[str]) -> str:
    """The end of an error message: the nearest known word, or all known words."""
    words = list(words)
    close = difflib.get_close_matches(word, words, 1)
    return f"did you mean {close[0]!r}?" if close else f"available: {', '.join(words)}"


def refuse_unknown(words: Iterable[str], known_words: Iterable[str], label: str) -> None:
    """Raise SnellenError for the first unknown word: `label`, the word, and the nearest known one."""
    known_words = list(known_words)
    unknown = next((word for word in words if word not in known_words), None)
    if unknown is not None:
        raise SnellenError(f"{label} {unknown!r}; {near(unknown, known_words)}")


@dataclass(frozen=True)
class Axis:
    """One property that is varied. The first of its `values` is the default, the paper's main setting.

    `auto` is resolved from the subject's card. Under `random_values`, what is shown depends on the run's seed.
    """

    name: str
    values: tuple[Value, ...]
    help: str = ""
    random_values: tuple[Value, ...] = ()

    @property
    def default(self) -> Value:
        """The value in the paper's main setting."""
        return self.values[0]

    def read(self, written: str) -> Value:
        """The value written as this text. Raises SnellenError, with the nearest value, for an unknown one."""
        by_text = {str(value): value for value in self.values}
        if written not in by_text:
            raise SnellenError(f"axis {self.name!r} has no value {written!r:.60}; {near(written, by_text)}")
        return by_text[written]


@dataclass(frozen=True)
class Condition:
    """A point on `axes`. `changed` holds the values that differ from the defaults, in the order of the axes."""

    axes: tuple[Axis, ...]
    changed: tuple[tuple[str, Value], ...] = ()

    def __getitem__(self, name: str) -> Value:
        return self._columns[name]

    def __str__(self) -> str:
        return ",".join(f"{name}={value}" for name, value in self.changed) or "vanilla"

    def columns(self) -> dict[str, Value]:
        """All axes with their values, as columns of a table."""
        return dict(self._columns)

    @cached_property
    def _columns(self) -> dict[str, Value]:  # transforms of every item look values up
        return {axis.name: axis.default for axis in self.axes} | dict(self.changed)

    @property
    def is_random(self) -> bool:
        """True if what is shown may depend on the run's seed."""
        return any(self[axis.name] in axis.random_values for axis in self.axes)

    def moves(self) -> frozenset[str]:
        """The axes that are not at their default."""
        return frozenset(name for name, _ in self.changed)


def parse_conditions(axes: Sequence[Axis], text: str) -> tuple[Condition, ...]:
    """The conditions of a text, e.g. three of `labels=fabricated,shots=0..2`. Names come in axis order.

    Raises SnellenError for an unknown axis or value, an axis given twice, or a term without `=`.
    """
    by_name = {axis.name: axis for axis in axes}
    values_by_axis: dict[str, tuple[Value, ...]] = {}
    terms = [] if text.strip() in ("", "vanilla") else text.split(",")
    for term in terms:
        name, equals, written = (word.strip() for word in term.partition("="))
        if name not in by_name:
            raise SnellenError(f"condition {text!r}: no axis {name!r}; {near(name, by_name)}")
        if not equals:
            values = ", ".join(map(str, by_name[name].values))
            raise SnellenError(f"condition {text!r}: axis {name!r} needs a value; available: {values}")
        if name in values_by_axis:
            raise SnellenError(f"condition {text!r}: axis {name!r} is given twice")
        values_by_axis[name] = tuple(by_name[name].read(word) for word in _expand(written))
    choices = [[(axis, value) for value in values_by_axis.get(axis.name, (axis.default,))] for axis in axes]
    return tuple(
        Condition(tuple(axes), tuple((axis.name, value) for axis, value in point if value != axis.default))
        for point in product(*choices)
    )


def _expand(written: str) -> Iterator[str]:
    """The values one by one, since a range in a file may not fit into memory; the first unknown one ends it."""
    first, dots, last = written.partition("..")
    is_range = dots and first.isdecimal() and last.isdecimal() and max(len(first), len(last)) < 20
    if is_range and int(first) <= int(last):
        return map(str, range(int(first), int(last) + 1))
    return iter([written])
