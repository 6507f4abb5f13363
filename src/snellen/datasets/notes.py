"""Notes on problems of a folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["missing", "unreadable", "odd", "left out"]


@dataclass(frozen=True)
class Note:
    """A problem or peculiarity of a folder.

    `missing`: expected by the layout or a list of the dataset; `unreadable`: a damaged file; `odd`: unusable here;
    `left out`: good images excluded by a rule of the reader. `location` names the file, line or object.
    """

    kind: Kind
    message: str
    location: str


class MissingFiles(Exception):
    """A folder lacks the files of its layout; `Dataset` makes a note of it."""

    def __init__(self, note: Note) -> None:
        super().__init__(note)
        self.note = note
