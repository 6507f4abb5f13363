"""What a source is: a card, and a reader of its layout. From the two come its records and an account of its folder."""

from __future__ import annotations

import typing
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from snellen.core.errors import SnellenError
from snellen.core.item import Box
from snellen.datasets.records import Industry, InFile, Level, Place, Record, read_picture

EXAMPLES = 10
"""So many places are named for each kind of note; a damaged download may have a million of them."""

Kind: TypeAlias = Literal["missing", "unreadable", "odd", "left out"]
State: TypeAlias = Literal["absent", "broken", "whole"]
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Found:
    """One labelled picture as a reader sees it. `id` is `Record.record_id`."""

    id: str
    picture: Place
    label: str
    object: str
    mask: Place | None = None
    box: Box | None = None


@dataclass(frozen=True)
class Note:
    """Something a person should know of a folder.

    `missing`: what the layout or a list of the dataset promises; `unreadable`: a file that is damaged; `odd`: what has
    no use here; `left out`: good pictures that a rule of the reader drops. `where` names the file or the thing.
    """

    kind: Kind
    what: str
    where: str


class Reader(typing.Protocol):
    """How one layout is read: a frozen dataclass of settings."""

    def scan(self, root: Path) -> Iterator[Found | Note]:
        """Everything in the folder, always in the same order. Damage is a note, never an error."""
        ...


@dataclass(frozen=True)
class SourceCard:
    """What is known of a dataset before any of its files is read.

    `layout` says where its files belong below its folder, with what the layout is known from. `objects` and `labels`
    are those that every copy holds, empty where no page names them for certain. `pictures` is the number in Table 5 of
    VFM Bench. `homepage` is empty where no address is known for certain: then the citation has to do. `verified` moves
    to True when a person has read real files with it.
    """

    name: str
    title: str
    industry: Industry
    level: Level
    licence: str
    citation: str
    homepage: str
    layout: str
    pictures: int
    objects: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    notes: str = ""
    verified: bool = False

    @property
    def origin(self) -> str:
        """Where to look for the dataset: its page, or else the paper."""
        return self.homepage or self.citation


@dataclass(frozen=True)
class Noted:
    """Notes of one kind and wording: how many, and the first few places."""

    kind: Kind
    what: str
    count: int
    where: tuple[str, ...]


class Notes:
    """Notes as they come, put together by kind and wording."""

    def __init__(self) -> None:
        self._held: dict[tuple[Kind, str], Noted] = {}

    def add(self, one: Note) -> None:
        """One note more."""
        key = (one.kind, one.what)
        held = self._held.get(key, Noted(one.kind, one.what, 0, ()))
        where = (*held.where, one.where) if held.count < EXAMPLES else held.where
        self._held[key] = Noted(one.kind, one.what, held.count + 1, where)

    def apart(self, read: Iterable[Thing | Note]) -> Iterator[Thing]:
        """What is no note. Notes are kept here, and so is what a reader's SnellenError says: a library is not there."""
        try:
            for one in read:
                if isinstance(one, Note):
                    self.add(one)
                else:
                    yield one
        except SnellenError as error:
            self.add(Note("missing", "what the reader needs", str(error)))

    def promised(self, names: Iterable[str], found: Container[str], what: str) -> None:
        """A note for each of the names of a card that was not found."""
        for name in names:
            if name not in found:
                self.add(Note("missing", what, name))

    def told(self) -> tuple[Noted, ...]:
        """All of them, in the order in which the first of each kind and wording came."""
        return tuple(self._held.values())


def state_of(there: bool, count: int, notes: Iterable[Noted]) -> State:
    """`absent`: no such folder; `broken`: nothing found, or something missing or unreadable."""
    if not there:
        return "absent"
    bad = any(note.kind in ("missing", "unreadable") for note in notes)
    return "broken" if bad or not count else "whole"


@dataclass(frozen=True)
class Inventory:
    """What a folder holds. `found` leads from object to label to the number of records."""

    source: str
    root: str
    found: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    notes: tuple[Noted, ...] = ()
    there: bool = True

    @property
    def records(self) -> int:
        """How many records there are."""
        return sum(sum(labels.values()) for labels in self.found.values())

    @property
    def state(self) -> State:
        """See `state_of`."""
        return state_of(self.there, self.records, self.notes)


@dataclass(frozen=True)
class Source:
    """One real dataset."""

    card: SourceCard
    reader: Reader

    def records(self, root: Path) -> Iterator[Record]:
        """Stream the records below the dataset's own folder, always in the same order.

        What cannot be used is left out; `check` says what that is. Raises SnellenError where there is no folder.
        """
        need_folder(root, self.card.name, self.card.layout)
        for one in self.reader.scan(root):
            if isinstance(one, Found):
                yield self._record(one)

    def check(self, root: Path, counted: typing.Callable[[], None] = lambda: None) -> Inventory:
        """Look at every picture as `look_at_file` does, and at the headers of masks; tables and volumes are read whole.

        `counted` is called once a record. Damage is told, never raised.
        """
        card, notes = self.card, Notes()
        if not root.is_dir():
            return Inventory(card.name, str(root), there=False)
        found: dict[str, dict[str, int]] = {}
        for one in notes.apart(self._looked_at(root)):
            labels = found.setdefault(one.object, {})
            labels[one.label] = labels.get(one.label, 0) + 1
            counted()
        notes.promised(card.objects, found, "no picture of this object")
        notes.promised(card.labels, set[str]().union(*found.values()), "no picture of this class")
        return Inventory(card.name, str(root), found, notes.told())

    def _looked_at(self, root: Path) -> Iterator[Found | Note]:
        for one in self.reader.scan(root):
            if isinstance(one, Note):
                yield one
                continue
            try:
                _look(self._record(one))
            except SnellenError as error:
                yield Note("unreadable", "not a readable picture", f"{one.id}: {error}")
                continue
            yield one
            if isinstance(one.mask, InFile) and isinstance(one.picture, InFile):
                yield from _compare(one.id, one.picture.path, one.mask.path)

    def _record(self, one: Found) -> Record:
        card = self.card
        return Record(
            card.name, one.id, one.picture, one.label, one.object, card.industry, card.level, card.licence,
            one.mask, one.box,
        )  # fmt: skip


def need_folder(root: Path, name: str, layout: str) -> None:
    """Raise SnellenError where the folder of a source is not there."""
    if not root.is_dir():
        raise SnellenError(f"{name}: {root} is no folder; put there: {layout}")


def look_at_file(path: Path) -> tuple[int, int]:
    """Width and height of a picture file, whose header is read, of PNG also the checksums, of JPEG also the end.

    A JPEG that does not end as one is decoded, since some cameras write more behind the end. Raises SnellenError where
    it is no picture or is cut short.
    """
    from PIL import Image

    try:
        with Image.open(path) as picture:
            size, is_jpeg = picture.size, picture.format in ("JPEG", "MPO")
            picture.verify()
        if is_jpeg and not _ends_as_jpeg(path):
            with Image.open(path) as picture:
                picture.load()
    except Exception as error:  # a damaged picture raises whatever its decoder meets
        raise SnellenError("copy the file again, or leave it out") from error
    return size


def _ends_as_jpeg(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(file.tell() - 64, 0))
        return file.read().rstrip(b"\0").endswith(b"\xff\xd9")


def _look(record: Record) -> None:
    """Raise SnellenError where the picture is no picture."""
    if isinstance(record.picture, InFile):
        look_at_file(record.picture.path)
    else:
        read_picture(record)


def _compare(id: str, picture: Path, mask: Path) -> Iterator[Note]:
    from PIL import Image

    try:
        with Image.open(picture) as shown, Image.open(mask) as marked:
            if shown.size != marked.size:
                yield Note("odd", "mask and picture differ in size", f"{id}: {shown.size} and {marked.size}")
    except Exception:  # noqa: BLE001  # as above
        yield Note("unreadable", "not a readable mask", str(mask))
