"""What is found in the folder of a dataset: notes on what is wrong with it, put together, and counts of the rest."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from snellen.core.errors import SnellenError

EXAMPLES = 10
"""So many locations are named for each kind of note; a damaged download may have a million of them."""

Kind: TypeAlias = Literal["missing", "unreadable", "odd", "left out"]
State: TypeAlias = Literal["absent", "broken", "whole"]
T = TypeVar("T")


@dataclass(frozen=True)
class Note:
    """Something a person should know of a folder.

    `missing`: what the layout or a list of the dataset promises; `unreadable`: a file that is damaged; `odd`: what has
    no use here; `left out`: good images that a rule of the reader drops. `location` names the file, line or object.
    """

    kind: Kind
    message: str
    location: str


@dataclass(frozen=True)
class NoteCount:
    """Notes of one kind and wording: how many, and the first few locations."""

    kind: Kind
    message: str
    count: int
    locations: tuple[str, ...]


class NoteCounter:
    """Notes as they come, counted by kind and wording."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Kind, str], NoteCount] = {}

    def add(self, note: Note) -> None:
        """One note more."""
        key = (note.kind, note.message)
        before = self._counts.get(key, NoteCount(note.kind, note.message, 0, ()))
        locations = (*before.locations, note.location) if before.count < EXAMPLES else before.locations
        self._counts[key] = NoteCount(note.kind, note.message, before.count + 1, locations)

    def without_notes(self, stream: Iterable[T | Note]) -> Iterator[T]:
        """What is no note. Notes are counted, and so is a reader's SnellenError: a library is not there."""
        try:
            for sample in stream:
                if isinstance(sample, Note):
                    self.add(sample)
                else:
                    yield sample
        except SnellenError as error:
            self.add(Note("missing", "what the reader needs", str(error)))

    def expect(self, names: Iterable[str], present: Container[str], message: str) -> None:
        """A note for each of the names of a card that is not present."""
        for name in names:
            if name not in present:
                self.add(Note("missing", message, name))

    def counts(self) -> tuple[NoteCount, ...]:
        """All of them, in the order in which the first of each kind and wording came."""
        return tuple(self._counts.values())


@dataclass(frozen=True)
class Inventory:
    """What a folder holds: samples, questions about them, and object -> label -> number of annotations.

    Datasets in which all classes compete have one object, "". `exists` is False where there is no folder.
    """

    source: str
    root: str
    samples: int = 0
    questions: int = 0
    labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    notes: tuple[NoteCount, ...] = ()
    exists: bool = True

    @property
    def state(self) -> State:
        """`absent`: no such folder; `broken`: nothing found, or something missing or unreadable."""
        if not self.exists:
            return "absent"
        damaged = any(note.kind in ("missing", "unreadable") for note in self.notes)
        return "broken" if damaged or not self.samples else "whole"
