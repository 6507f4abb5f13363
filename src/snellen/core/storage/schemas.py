"""The schema version of files on disk. A folder of another version is refused in one line.

A folder's card states the version of all its files; a card without one is of version 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic_core import from_json

from snellen.core.errors import SnellenError

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

    Raises SnellenError for another schema version, ValidationError for an invalid card.
    """
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
