"""What a dataset is: a card, and a reader of its layout. From the two come its samples and an account of its folder."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.datasets.evidence import Evidence, Verification
from snellen.datasets.inventory import Inventory, Note, NoteCounter
from snellen.datasets.sample import Mask, RawSample, Sample


@dataclass(frozen=True)
class DatasetCard:
    """What is known of a dataset before any of its files is read.

    `layout` says where its files belong below its folder. `objects` and `labels`
    are those that every copy holds, empty where no page names them for certain. `extras` says what stands in
    `Annotation.extra`, `Question.extra` and `Sample.attributes`. `homepage` is empty where no address is known for
    certain: then the citation has to do. `verified` says how the layout is known and `evidence` by which pages and
    files (`evidence.verification_fault` holds the two together); `caveat` says what of the reading rests on none of
    it, and of an assumed layout why. No card says that real files were read: nobody has, yet.
    """

    name: str
    title: str
    licence: str
    citation: str
    homepage: str
    layout: str
    verified: Verification
    objects: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    extras: str = ""
    notes: str = ""
    evidence: tuple[Evidence, ...] = ()
    caveat: str = ""

    @property
    def origin(self) -> str:
        """Where to look for the dataset: its page, or else the paper."""
        return self.homepage or self.citation


class Reader(typing.Protocol):
    """How one layout is read: a frozen dataclass of settings."""

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """Everything in the folder, always in the same order. Damage is a note, never an error.

        Raises SnellenError alone where a library that it needs is not installed.
        """
        ...


@dataclass(frozen=True)
class Dataset:
    """One real dataset."""

    card: DatasetCard
    reader: Reader

    def samples(self, root: Path) -> Iterator[Sample]:
        """Stream the samples below the dataset's own folder, always in the same order.

        What cannot be used is left out; `check` says what that is. Raises SnellenError where there is no folder.
        """
        return (sample for sample in self.samples_and_notes(root) if isinstance(sample, Sample))

    def samples_and_notes(self, root: Path) -> Iterator[Sample | Note]:
        """As `samples`, and between them what a person should know of what is left out."""
        if not root.is_dir():
            raise SnellenError(f"{self.card.name}: {root} is no folder; put there: {self.card.layout}")
        for raw in self.reader.scan(root):
            if isinstance(raw, Note):
                yield raw
            else:
                yield Sample(source=self.card.name, licence=self.card.licence, **vars(raw))

    def check(self, root: Path, on_sample: typing.Callable[[], None] = lambda: None) -> Inventory:
        """Read all annotations, and look at every image as its format lets (`Image.inspect`).

        Files are opened and their headers read, tables and volumes are read whole, videos are not opened. `on_sample`
        is called once a sample. Damage is counted, never raised.
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
        """What can be used, with notes on the rest."""
        record_ids = set[str]()
        for raw in self.reader.scan(root):
            if isinstance(raw, Note):
                yield raw
            elif raw.record_id in record_ids:
                yield Note("odd", "two scenes of one id", raw.record_id)
            else:
                record_ids.add(raw.record_id)
                yield from self._inspect(raw)

    def _inspect(self, raw: RawSample) -> Iterator[RawSample | Note]:
        try:
            size = raw.image.inspect(f"{self.card.name}/{raw.record_id}")
        except SnellenError as error:
            yield Note("unreadable", "not a readable image", f"{raw.record_id}: {error}")
            return
        if raw.size is not None and size is not None and size != raw.size:
            yield Note("odd", "image is not of the size the annotations tell", f"{raw.record_id}: {size}")
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
