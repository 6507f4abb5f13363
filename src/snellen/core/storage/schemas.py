"""The schema version of files on disk. A folder of another version is refused in one line.

A folder's card states the version of all its files; a card without one is of version 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json

from snellen.core.errors import SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.storage.user_files import MAX_CARD_BYTES, MAX_CARD_VALUES, bounded_json, read_text

SCHEMA: Final = 2
"""Version 1 called images pictures."""


class Card(BaseModel):
    """The description of a folder, in its file of the name `file`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    file: ClassVar[str]

    schema_version: Literal[2] = SCHEMA


CardT = TypeVar("CardT", bound=Card)


def parse_card(card_type: type[CardT], path: Path, text: str) -> CardT:
    """Parse a card; `path` is for messages.

    Raises SnellenError for another schema version and for millions of values, ValidationError for an invalid card.
    """
    try:
        bounded_json(text, MAX_CARD_VALUES)
    except ValueError as error:
        raise SnellenError(f"{path}: {error}; make the folder again") from error
    try:
        cells = from_json(text)
    except ValueError:
        cells = None
    version = cells.get("schema_version", 1) if isinstance(cells, dict) else SCHEMA
    if type(version) is int and 0 < version != SCHEMA:
        age, remedy = (
            ("a later version of", "update Snellen")
            if version > SCHEMA
            else ("an earlier version of", "make the folder again")
        )
        raise SnellenError(f"{path}: written by {age} Snellen (schema {version}; this one reads {SCHEMA}); {remedy}")
    return card_type.model_validate_json(text)


def read_card_file(card_type: type[CardT], path: Path, what: str, remedy: str) -> CardT:
    """The card in a file. Raises SnellenError, one line with `what` it is not and the remedy, if it cannot be read."""
    try:
        return parse_card(card_type, path, read_text(path, limit=MAX_CARD_BYTES, regular=True))
    except (ValidationError, UnicodeDecodeError, OSError) as error:
        raise SnellenError(f"{path}: {what} ({fault_of(error)}); {remedy}") from error


def fault_of(error: ValidationError | UnicodeDecodeError | OSError) -> str:
    """The reason why a file of JSON cannot be read, in a few words; of several faults the first."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    if isinstance(error, UnicodeDecodeError):
        return "no text in UTF-8"
    problem = error.errors(include_url=False, include_input=False)[0]
    return short_reason(f"{'.'.join(map(str, problem['loc'])) or 'file'}: {problem['msg']}", 120)
