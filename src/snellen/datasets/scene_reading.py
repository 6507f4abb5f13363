"""What a source of scenes is: a card, and a reader of its layout. See `reading` for sources of labelled pictures."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.item import Box
from snellen.datasets.reading import Note, Noted, Notes, Reader, State, look_at_file, need_folder, state_of
from snellen.datasets.records import InFile
from snellen.datasets.scenes import InDepthPng, InVideo, Marked, Scene, Seen

SLACK_PX = 1.0
"""So far a box may reach beyond its picture and be cut without a word: datasets round differently."""


class SceneReader(typing.Protocol):
    """How one layout is read: a frozen dataclass of settings."""

    def scan(self, root: Path) -> Iterator[Seen | Note]:
        """Everything in the folder, always in the same order. Damage is a note, never an error."""
        ...


@dataclass(frozen=True)
class SceneCard:
    """What is known of a dataset before any of its files is read; fields as in `SourceCard`.

    `tasks` are the tasks of AVA-Bench that its paper draws from the dataset. `extras` says what stands in
    `Marked.extra`, `Asked.extra` and `Scene.attributes`. `labels` are those every copy holds.
    """

    name: str
    title: str
    tasks: tuple[str, ...]
    licence: str
    citation: str
    homepage: str
    layout: str
    labels: tuple[str, ...] = ()
    extras: str = ""
    notes: str = ""
    verified: bool = False

    @property
    def origin(self) -> str:
        """Where to look for the dataset: its page, or else the paper."""
        return self.homepage or self.citation


@dataclass(frozen=True)
class SceneInventory:
    """What a folder holds: scenes, and how many things (or pictures) of each label."""

    source: str
    root: str
    scenes: int = 0
    asked: int = 0
    labels: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[Noted, ...] = ()
    there: bool = True

    @property
    def state(self) -> State:
        """See `state_of`."""
        return state_of(self.there, self.scenes, self.notes)


@dataclass(frozen=True)
class SceneSource:
    """One real dataset of scenes."""

    card: SceneCard
    reader: SceneReader

    def scenes(self, root: Path) -> Iterator[Scene]:
        """Stream the scenes below the dataset's own folder, always in the same order.

        What cannot be used is left out; `check` says what that is. Raises SnellenError where there is no folder.
        """
        return (one for one in self.scenes_and_notes(root) if isinstance(one, Scene))

    def scenes_and_notes(self, root: Path) -> Iterator[Scene | Note]:
        """As `scenes`, and between them what a person should know of what is left out."""
        need_folder(root, self.card.name, self.card.layout)
        for one in self.reader.scan(root):
            if isinstance(one, Note):
                yield one
            else:
                yield Scene(source=self.card.name, licence=self.card.licence, **vars(one))

    def check(self, root: Path, counted: typing.Callable[[], None] = lambda: None) -> SceneInventory:
        """Read all annotations, and look at every picture as `reading.look_at_file` does; videos are not opened.

        `counted` is called once a scene. Damage is told, never raised.
        """
        card, notes = self.card, Notes()
        if not root.is_dir():
            return SceneInventory(card.name, str(root), there=False)
        labels: dict[str, int] = {}
        scenes = asked = 0
        for one in notes.apart(self._looked_at(root)):
            scenes, asked = scenes + 1, asked + len(one.asked)
            for thing in one.marked:
                labels[thing.label] = labels.get(thing.label, 0) + 1
            counted()
        notes.promised(card.labels, labels, "nothing of this class")
        return SceneInventory(card.name, str(root), scenes, asked, labels, notes.told())

    def _looked_at(self, root: Path) -> Iterator[Seen | Note]:
        seen = set[str]()
        for one in self.reader.scan(root):
            if isinstance(one, Note):
                yield one
            elif one.record_id in seen:
                yield Note("odd", "two scenes of one id", one.record_id)
            else:
                seen.add(one.record_id)
                yield from _look(one)


@dataclass(frozen=True)
class AsScenes:
    """A reader of labelled pictures, read as scenes of one thing each; `Found.object` goes into its `extra`."""

    reader: Reader

    def scan(self, root: Path) -> Iterator[Seen | Note]:
        """See `SceneReader`."""
        for one in self.reader.scan(root):
            if isinstance(one, Note):
                yield one
            elif isinstance(one.picture, InFile):
                extra = {"object": one.object} if one.object else {}
                yield Seen(record_id=one.id, picture=one.picture, marked=(Marked(one.label, one.box, None, extra),))


def fit_box(corners: Iterable[float], size: tuple[float, float]) -> tuple[Box | None, str]:
    """The box within a picture of this width and height, and what is wrong with it ("" for nothing).

    None as box: it is inverted, without area, outside, or no four finite numbers.
    """
    x1, y1, x2, y2 = corners
    if not all(-1e9 < side < 1e9 for side in (x1, y1, x2, y2)):  # NaN fails too
        return None, "box that is no four numbers"
    if x2 < x1 or y2 < y1:
        return None, "inverted box"
    if x2 == x1 or y2 == y1:
        return None, "box without area"
    width, height = size
    box = (max(x1, 0.0), max(y1, 0.0), min(x2, width), min(y2, height))
    if box[2] <= box[0] or box[3] <= box[1]:
        return None, "box outside its picture"
    beyond = max(-x1, -y1, x2 - width, y2 - height)
    return box, "box reaches beyond its picture, and is cut at the edge" if beyond > SLACK_PX else ""


def fit_all(things: Iterable[Marked], size: tuple[float, float], where: str) -> tuple[tuple[Marked, ...], list[Note]]:
    """The things whose boxes fit (cut where they must be), and a note for each that does not or was cut.

    Boxes get their own area where the thing has none. Things without a box stay as they are.
    """
    kept: list[Marked] = []
    notes: list[Note] = []
    for thing in things:
        if thing.box is None:
            kept.append(thing)
            continue
        box, wrong = fit_box(thing.box, size)
        if wrong:
            notes.append(Note("odd", wrong, f"{where}: {thing.label} {list(thing.box)}"))
        if box is not None:
            area = (box[2] - box[0]) * (box[3] - box[1]) if thing.area is None else thing.area
            kept.append(Marked(thing.label, box, area, thing.extra))
    return tuple(kept), notes


def scene_in_file(
    record_id: str, path: Path, things: Iterable[Marked], *, size: tuple[int, int] | None = None, **more: typing.Any
) -> Iterator[Seen | Note]:
    """The scene of a picture file, its boxes fitted, with the notes of those that are not; a note if it is not there.

    Without `size` the picture's own header is asked where there is a box. `more` are further fields of `Seen`.
    """
    if not path.is_file():
        yield Note("missing", "picture of an annotation", record_id)
        return
    held = tuple(things)
    if size is None and any(thing.box is not None for thing in held):
        size = picture_size(path)
        if size is None:
            yield Note("unreadable", "not a readable picture", f"{record_id}: copy the file again, or leave it out")
            return
    kept, notes = fit_all(held, size or (0, 0), record_id)
    yield from notes
    lost = len(held) - len(kept) + more.pop("lost", 0)
    yield Seen(record_id=record_id, picture=InFile(path), marked=kept, size=size, lost=lost, **more)


def picture_size(path: Path) -> tuple[int, int] | None:
    """Width and height from the picture's header; None: it is no picture."""
    from PIL import Image

    try:
        with Image.open(path) as picture:
            return picture.size
    except Exception:  # noqa: BLE001  # a damaged picture raises whatever its decoder meets
        return None


def _look(one: Seen) -> Iterator[Seen | Note]:
    place = one.picture
    if isinstance(place, InVideo):
        told = place.path.is_file()
        yield one if told else Note("missing", "video of a list", one.record_id)
        return
    if isinstance(place, InFile):
        try:
            size = look_at_file(place.path)
        except SnellenError as error:
            yield Note("unreadable", "not a readable picture", f"{one.record_id}: {error}")
            return
        if one.size is not None and size != one.size:
            yield Note("odd", "picture is not of the size the annotations tell", f"{one.record_id}: {size}")
    if isinstance(one.depth, InDepthPng):
        try:
            look_at_file(one.depth.path)
        except SnellenError as error:
            yield Note("unreadable", "not readable depths", f"{one.depth.path}: {error}")
    yield one
