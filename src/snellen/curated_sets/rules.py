"""Thresholds of a curation: a frozen dataclass per suite, changed by a file.

A field's metadata (`bound`) describes the threshold and its origin; `loosest` is the value at which it excludes
nothing. If a threshold is a dataclass or a tuple, each of its numbers is a threshold.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.storage.user_yaml import read_yaml

T = TypeVar("T")
OURS = "ours"


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
