"""Versions of what lies on disk: how folders that an earlier Snellen wrote are read, and those of a later one refused.

The schema version stands in a folder's card and is that of all its files; a card without one is of version 1. What is
read is brought to the present in memory, one step a version: nothing is ever written into an older folder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import from_json

from snellen.core.errors import SnellenError

Cells = dict[str, Any]


def _same(cells: Cells) -> Cells:
    return cells


@dataclass(frozen=True)
class Step:
    """From one schema version to the next: what becomes of the card, of tables by name, of lines of a run's parts.

    Names may hold `*`. A table keeps its rows and their order.
    """

    card: Callable[[Cells], Cells] = _same
    tables: Mapping[str, Callable[[pa.Table], pa.Table]] = field(default_factory=dict)
    line: Callable[[Cells], Cells] = _same


STEPS: dict[str, tuple[Step, ...]] = {}
"""By `Card.file`, the step from version 1 to 2 first. What is not named is at version 1."""


def current_version(file: str) -> int:
    """The schema version that is written now, by the name of the card's file."""
    return 1 + len(STEPS.get(file, ()))


class Card(BaseModel):
    """What a folder says of itself in a file of that name; in memory always of the current schema version."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    file: ClassVar[str]

    schema_version: int = Field(default=1, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _number(cls, cells: Any) -> Any:
        return {"schema_version": current_version(cls.file), **cells} if isinstance(cells, dict) else cells


CardT = TypeVar("CardT", bound=Card)


def parse_card(card_type: type[CardT], path: Path, text: str) -> CardT:
    """The card that a text holds, brought to the present; `path` is for messages.

    Raises SnellenError for a later schema version than this code knows, ValidationError for what is no card.
    """
    version = _version(path, card_type.file, text)
    steps = STEPS.get(card_type.file, ())[version - 1 :]
    if not steps:
        return card_type.model_validate_json(text)
    cells = from_json(text)
    try:
        for step in steps:
            cells = step.card(cells)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise SnellenError(
            f"{path}: malformed for schema {version} ({error!r:.100}); restore it or make it anew"
        ) from error
    return card_type.model_validate({**cells, "schema_version": current_version(card_type.file)})


def present_table(card: Path, name: str, table: pa.Table) -> pa.Table:
    """A table of the folder with this card, as the current schema version has it; the same one if unchanged."""
    for step in _steps(card):
        for pattern, change in step.tables.items():
            table = change(table) if fnmatch(name, pattern) else table
    return table


def present_line(card: Path) -> Callable[[Cells], Cells]:
    """What brings lines of the parts of the run with this card to the present."""
    steps = _steps(card)

    def change(cells: Cells) -> Cells:
        for step in steps:
            cells = step.line(cells)
        return cells

    return change


def refuse_older(card: Path) -> None:
    """Raise SnellenError where a folder is of an earlier schema version: it is read, and never written into."""
    if _steps(card):
        version, current = _version(card, card.name, card.read_text("utf-8")), current_version(card.name)
        raise SnellenError(
            f"{card}: of schema {version}, and this Snellen writes schema {current}: such a folder is read as it is, "
            "and never written into; choose another --out"
        )


def _steps(card: Path) -> tuple[Step, ...]:
    steps = STEPS.get(card.name, ())
    if not steps or not card.is_file():
        return ()
    return steps[_version(card, card.name, card.read_text("utf-8")) - 1 :]


def _version(path: Path, file: str, text: str) -> int:
    """The version that a card says; 1 where it says none, or is none."""
    try:
        cells = from_json(text)
    except ValueError:
        return 1
    version = cells.get("schema_version", 1) if isinstance(cells, dict) else 1
    if type(version) is not int or version < 1:
        return 1
    if version > (current := current_version(file)):
        raise SnellenError(
            f"{path}: written by a later Snellen (schema {version}; this one reads up to schema {current}); update "
            "Snellen"
        )
    return version
