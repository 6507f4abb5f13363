"""A dataset: a card and a reader of its layout, which give its samples and an inventory of its folder."""

from __future__ import annotations

import os
import typing
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from snellen.core.errors import SnellenError
from snellen.curated_sets.datasets.evidence import Evidence, Verification
from snellen.datasets.sample import Kind, Mask, MissingFiles, Note, RawSample, Sample

EXAMPLES = 10
"""Number of locations per kind of note; a damaged download may have a million of them."""
State: TypeAlias = Literal["absent", "broken", "whole"]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class DatasetCard:
    """Facts about a dataset, known without reading its files.

    `layout` describes the files expected in its folder. `objects` and `labels` are those that every copy contains,
    empty if no page lists them reliably. `extras` explains `Annotation.extra`, `Question.extra` and
    `Sample.attributes`. `licence` is given if the dataset's own page states it. `homepage` is empty if no reliable
    address is known; the citation then serves instead. `verified` states how the layout is known, and `evidence` lists
    the pages and files that show it (`evidence.verification_fault` checks the two against each other). `caveat` states
    which assumptions are not backed by evidence, and why a layout is assumed. No card claims that the real files were
    read: docs/measurements/datasets.md lists those that were.
    """

    name: str
    title: str
    citation: str
    layout: str
    verified: Verification
    licence: str = "unknown: see homepage"
    homepage: str = ""
    objects: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    extras: str = ""
    notes: str = ""
    evidence: tuple[Evidence, ...] = ()
    caveat: str = ""

    @property
    def origin(self) -> str:
        """The dataset's page, or else its paper."""
        return self.homepage or self.citation


class Reader(typing.Protocol):
    """Reads one layout; implemented by frozen dataclasses of settings."""

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """Everything in the folder, always in the same order. Damage becomes a note, never an error.

        Raises SnellenError only if a required library is not installed, and MissingFiles.
        """
        ...


@dataclass(frozen=True)
class Dataset:
    """One real dataset."""

    card: DatasetCard
    reader: Reader

    def samples(self, root: Path) -> Iterator[Sample]:
        """Stream the samples in the dataset's folder, always in the same order.

        Unusable ones are left out; `check` reports them. Raises SnellenError if there is no folder.
        """
        return (sample for sample in self.samples_and_notes(root) if isinstance(sample, Sample))

    def samples_and_notes(self, root: Path) -> Iterator[Sample | Note]:
        """As `samples`, with notes on what is left out."""
        if not root.is_dir():
            raise SnellenError(f"{self.card.name}: {root} is not a folder; it should contain: {self.card.layout}")
        for raw in self._scan(root):
            if isinstance(raw, Note):
                yield raw
            else:
                yield Sample(source=self.card.name, licence=self.card.licence, **vars(raw))

    def check(self, root: Path, on_sample: typing.Callable[[], None] = lambda: None) -> Inventory:
        """Read all annotations, and check each image as its format allows (`SourceImage.inspect`).

        Files are opened and their headers read, tables and volumes are read completely, videos are not opened.
        `on_sample` is called once per sample. Damage is counted, never raised.
        """
        card, notes = self.card, NoteCounter()
        if not root.is_dir():
            return Inventory(card.name, str(root), exists=False)
        labels: dict[str, dict[str, int]] = {}
        samples = questions = 0
        for raw in notes.without_notes(self._inspected(root)):
            samples, questions = samples + 1, questions + len(raw.questions)
            for annotation in raw.annotations:
                counts = labels.setdefault(raw.object, {})
                counts[annotation.label] = counts.get(annotation.label, 0) + 1
            on_sample()
        notes.expect(card.objects, labels, "no image of this object")
        notes.expect(card.labels, set[str]().union(*labels.values()), "no image of this class")
        return Inventory(card.name, str(root), samples, questions, labels, notes.counts())

    def _inspected(self, root: Path) -> Iterator[RawSample | Note]:
        """Usable samples, with notes on the rest."""
        record_ids = set[str]()
        for raw in self._scan(root):
            if isinstance(raw, Note):
                yield raw
            elif raw.record_id in record_ids:
                yield Note("odd", "two samples with one id", raw.record_id)
            else:
                record_ids.add(raw.record_id)
                yield from self._inspect(raw)

    def _scan(self, root: Path) -> Iterator[RawSample | Note]:
        try:
            for raw in self.reader.scan(root):
                paths = [] if isinstance(raw, Note) else [raw.image.path, getattr(raw.depth, "path", root)]
                is_outside = any(Path(os.path.relpath(path, root)).parts[:1] == ("..",) for path in paths)
                yield Note("odd", "image outside the folder", str(paths[0])) if is_outside else raw
        except MissingFiles as error:
            yield error.note
        except SnellenError:  # a required library is not installed
            raise
        except Exception as error:  # noqa: BLE001  # damage may raise any exception
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            yield Note("unreadable", "not the layout of the dataset", reason)

    def _inspect(self, raw: RawSample) -> Iterator[RawSample | Note]:
        try:
            size = raw.image.inspect(f"{self.card.name}/{raw.record_id}")
        except SnellenError as error:
            yield Note("unreadable", "not a readable image", f"{raw.record_id}: {error}")
            return
        if raw.size is not None and size is not None and size != raw.size:
            yield Note("odd", "image size differs from the annotations", f"{raw.record_id}: {size}")
        if raw.depth is not None:
            try:
                raw.depth.inspect()
            except SnellenError as error:
                yield Note("unreadable", "not readable depths", str(error))
        yield raw
        if size is not None:
            for annotation in raw.annotations:
                yield from _compare_mask(raw.record_id, size, annotation.mask)


def _compare_mask(record_id: str, size: tuple[int, int], mask: Mask | None) -> Iterator[Note]:
    try:
        mask_size = None if mask is None else mask.inspect()
    except SnellenError as error:
        yield Note("unreadable", "not a readable mask", str(error))
        return
    if mask_size is not None and mask_size != size:
        yield Note("odd", "mask and image differ in size", f"{record_id}: {size} and {mask_size}")


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
