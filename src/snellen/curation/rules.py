"""Thresholds of a curation: a frozen dataclass per suite, changed by a file, and loosened if nothing is left.

A field's metadata (`bound`) describes the threshold and its origin; `loosest` is the value at which it excludes
nothing. If a threshold is a dataclass or a tuple, each of its numbers is a threshold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.storage.user_yaml import read_yaml

T = TypeVar("T")
OURS = "ours"
HALVINGS = 30
"""Bisection steps between two values of a threshold."""


@dataclass(frozen=True)
class Caps:
    """Images that a bin of a class needs, images that it keeps at most, and such bins that the class needs."""

    minimum: int
    maximum: int
    min_bins: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.minimum <= self.maximum or self.min_bins < 1:
            raise ValueError(f"1 <= minimum <= maximum and 1 <= min_bins, not {self}")


LOOSEST_CAPS = Caps(1, 10**9)


def bound(what: str, origin: str, loosest: Any = None) -> dict[str, Any]:
    """The metadata of a threshold; without `loosest`, a looser value would keep no more."""
    return {"what": what, "origin": origin, "loosest": loosest}


def read_rules(path: Path | None, defaults: T) -> T:
    """The defaults, a frozen dataclass, with the changes in a YAML file: `name: value`, nested for values with parts.

    Raises SnellenError for a file that is not such a mapping, an unknown rule, and a value out of range.
    """
    if path is None:
        return defaults
    try:
        content = read_yaml(path)
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise SnellenError(f"--rules {path}: cannot be read as YAML: {' '.join(str(error).split())}") from None
    values = _merged(asdict(defaults), {} if content is None else content, f"--rules {path}")  # type: ignore[call-overload]
    try:
        return TypeAdapter(type(defaults)).validate_json(json.dumps(values), strict=True)
    except (ValidationError, TypeError) as error:
        problem = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
        location = ".".join(map(str, problem["loc"]))
        raise SnellenError(f"--rules {path}: {location}: {problem['msg']}") from None


def _merged(values: Mapping[str, Any], changes: Any, location: str) -> dict[str, Any]:
    if not isinstance(changes, dict):
        raise SnellenError(f"{location}: {str(changes)[:40]!r} is not a mapping; write one rule per line, name: value")
    refuse_unknown(map(str, changes), values, f"{location}: no rule")
    merged = dict(values)
    for name, change in changes.items():
        parts = values[name]
        merged[name] = _merged(parts, change, f"{location}: {name}") if isinstance(parts, dict) else change
    return merged


def changed_rules(rules: T, defaults: T) -> dict[str, Any]:
    """The rules that differ from the defaults, in the form of a file of rules."""
    differences = {}
    for name, threshold in asdict(rules).items():  # type: ignore[call-overload]
        default = asdict(defaults)[name]  # type: ignore[call-overload]
        if isinstance(threshold, dict):
            threshold = {part: number for part, number in threshold.items() if number != default[part]}
            default = {}
        if threshold != default:
            differences[name] = list(threshold) if isinstance(threshold, tuple) else threshold
    return differences


def in_words(changes: Mapping[str, Any]) -> str:
    """Changed rules on one line, ready to be copied into a file of rules."""
    return yaml.safe_dump(dict(changes), default_flow_style=True, sort_keys=False, width=10**6).strip()


class _Threshold(NamedTuple):
    """One number among the rules: the rule `name`, or one of its parts."""

    name: str
    part: str | int | None

    def number(self, value: Any) -> float:
        """The number of a value of the rule."""
        if isinstance(self.part, str):
            return float(getattr(value, self.part))
        return float(value if self.part is None else value[self.part])

    def read(self, rules: Any) -> float:
        return self.number(getattr(rules, self.name))

    def write(self, rules: T, number: float) -> T:
        threshold = getattr(rules, self.name)
        value = int(number) if self.is_whole(rules) else number
        if number == self.read(rules):
            return rules
        if isinstance(self.part, str):
            return replace(rules, **{self.name: replace(threshold, **{self.part: value})})  # type: ignore[type-var]
        if self.part is not None:
            value = tuple(value if n == self.part else other for n, other in enumerate(threshold))  # type: ignore[assignment]
        return replace(rules, **{self.name: value})  # type: ignore[type-var]

    def is_whole(self, rules: Any) -> bool:
        return isinstance(self.part, str) or isinstance(getattr(rules, self.name), int)


def loosened(rules: T, count: Callable[[T], int]) -> T | None:
    """The rules changed as little as needed to leave something; None if even the loosest leave nothing.

    `count` is the number of items that rules leave. All thresholds are loosened, then each in turn is tightened again
    as far as possible.
    """
    thresholds = _thresholds(rules)
    loose = rules
    for threshold, loosest in thresholds.items():
        loose = threshold.write(loose, loosest)
    if not count(loose):
        return None
    for threshold in thresholds:
        loose = _tightened(loose, threshold, threshold.read(rules), count)
    return loose


def _thresholds(rules: Any) -> dict[_Threshold, float]:
    """Every threshold that is not at its loosest value, with that value."""
    thresholds: dict[_Threshold, float] = {}
    for rule in fields(rules):
        loosest = rule.metadata.get("loosest")
        if loosest is None:
            continue
        if is_dataclass(loosest):
            # Bins first: a class with few images in all of its bins is better than one with a single bin.
            parts: list[str | int | None] = [part.name for part in reversed(fields(loosest))]
        else:
            parts = list(range(len(loosest))) if isinstance(loosest, tuple) else [None]
        for threshold in (_Threshold(rule.name, part) for part in parts):
            if (number := threshold.number(loosest)) != threshold.read(rules):
                thresholds[threshold] = number
    return thresholds


def _tightened(rules: T, threshold: _Threshold, strictest: float, count: Callable[[T], int]) -> T:
    """The rules with one threshold as near to its strictest value as possible while something is left."""
    if count(tight := threshold.write(rules, strictest)):
        return tight
    works, fails = threshold.read(rules), strictest
    for _ in range(HALVINGS):
        middle = (works + fails) / 2
        if threshold.is_whole(rules):
            middle = float(int(middle))
            if middle in (works, fails):
                break
        works, fails = (middle, fails) if count(threshold.write(rules, middle)) else (works, middle)
    rounded = (threshold.write(rules, float(f"{works:.{digits}g}")) for digits in (1, 2, 3))
    return next((candidate for candidate in rounded if count(candidate)), threshold.write(rules, works))
