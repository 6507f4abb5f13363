"""The inventory of a dataset's folder: counts of its contents, and of the notes on it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from snellen.core.errors import SnellenError
from snellen.datasets.notes import Kind, Note

EXAMPLES = 10
"""Number of locations per kind of note; a damaged download may have a million of them."""

State: TypeAlias = Literal["absent", "broken", "whole"]
T = TypeVar("T")


@dataclass(frozen=True)
class NoteCount:
    """The number of notes of one kind and wording, with the first few locations."""

    kind: Kind
    message: str
    count: int
    locations: tuple[str, ...]


class NoteCounter:
    """Counts notes by kind and wording."""

    def __init__(self) -> None:
        self._counts: dict[tuple[Kind, str], NoteCount] = {}

    def add(self, note: Note) -> None:
        """Count one note."""
        key = (note.kind, note.message)
        before = self._counts.get(key, NoteCount(note.kind, note.message, 0, ()))
        locations = (*before.locations, note.location) if before.count < EXAMPLES else before.locations
        self._counts[key] = NoteCount(note.kind, note.message, before.count + 1, locations)

    def without_notes(self, stream: Iterable[T | Note]) -> Iterator[T]:
        """The stream without notes. Counts notes and a reader's SnellenError, which means a missing library."""
        try:
            for sample in stream:
                if isinstance(sample, Note):
                    self.add(sample)
                else:
                    yield sample
        except SnellenError as error:
            self.add(Note("missing", "requirement of the reader", str(error)))

    def expect(self, names: Iterable[str], present: Container[str], message: str) -> None:
        """Add a note for each expected name that is not present."""
        for name in names:
            if name not in present:
                self.add(Note("missing", message, name))

    def counts(self) -> tuple[NoteCount, ...]:
        """All counts, in the order of the first note of each kind and wording."""
        return tuple(self._counts.values())


@dataclass(frozen=True)
class Inventory:
    """The contents of a folder: samples, questions about them, and object -> label -> number of annotations.

    Datasets in which all classes compete have one object, "". `exists` is False if there is no folder.
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
        """`absent`: no such folder; `broken`: nothing found, or something missing or unreadable; else `whole`."""
        if not self.exists:
            return "absent"
        damaged = any(note.kind in ("missing", "unreadable") for note in self.notes)
        return "broken" if damaged or not self.samples else "whole"
