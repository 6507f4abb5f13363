"""Boxes in the JSON of COCO: LVIS, Objects365, iNaturalist 2021.

Lin et al., "Microsoft COCO", ECCV 2014, and https://cocodataset.org/#format-data: lists `images` (id, width, height,
file_name), `annotations` (id, image_id, category_id, bbox [x, y, width, height], area, iscrowd) and `categories` (id,
name). Files are streamed: of an annotation some numbers are kept (61 bytes), never its outline.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from snellen.datasets.formats.json_stream import stream_json
from snellen.datasets.formats.walking import folders_holding, name_below
from snellen.datasets.reading import Note
from snellen.datasets.scene_reading import scene_in_file
from snellen.datasets.scenes import Marked, Seen, Value, Values

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FLAGS = ("iscrowd", "isfake", "isreflected")
BOXED, MASKED = 8, 16
"""Bits of an annotation's flags behind those of `FLAGS`: it has a box; its area is told."""


@dataclass(frozen=True)
class CocoFile:
    """One file of annotations and where its pictures lie.

    `names` are the places where it may lie, the first one there counts. `folder` stands before the picture's own name,
    of which the last `tail` parts are kept (0: all).
    """

    split: str
    names: tuple[str, ...]
    folder: str = ""
    tail: int = 0


@dataclass(frozen=True)
class CocoJson:
    """Settings of the layout.

    `name` is the field of an image that names its picture (a path or an address). `of_image` are further fields of
    images that become attributes, `of_class` fields of categories that become `extra` of every thing; lists of category
    ids become tuples of their names.
    """

    files: tuple[CocoFile, ...]
    name: str = "file_name"
    of_image: tuple[str, ...] = ()
    of_class: tuple[str, ...] = ()

    def scan(self, root: Path) -> Iterator[Seen | Note]:
        """See `SceneReader`. Files as declared, images as they stand, things as they stand."""
        names = tuple(name for file in self.files for name in file.names)
        base = next(folders_holding(root, names), None)
        if base is None:
            yield Note("missing", f"no annotations {' or '.join(names)}", str(root))
            return
        for file in self.files:
            path = next((base / name for name in file.names if (base / name).is_file()), None)
            if path is None:
                yield Note("odd", "annotations are not there", name_below(base / file.names[0], root))
            else:
                yield from self._file(root, base, file, path)

    def _file(self, root: Path, base: Path, file: CocoFile, path: Path) -> Iterator[Seen | Note]:
        held, where = _Held(self), name_below(path, root)
        try:
            for key, _, raw in stream_json(path, frozenset({"images", "annotations", "categories"})):
                note = held.add(key, raw)
                if note:
                    yield Note(*note[:2], f"{where}: {note[2]}")
        except (OSError, ValueError, RecursionError) as error:
            # No scene at all: one with some of its things looks like one with all.
            yield Note("unreadable", "not JSON of annotations; copy it again", f"{where}: {error}")
            return
        yield from (Note(*note[:2], f"{where}: {note[2]}") for note in held.sort())
        for number, image in enumerate(held.images):
            yield from self._image(root, base, file, held, number, image)

    def _image(
        self, root: Path, base: Path, file: CocoFile, held: _Held, number: int, image: _Image
    ) -> Iterator[Seen | Note]:
        name = PurePosixPath(image.name)
        name = PurePosixPath(*name.parts[-file.tail :]) if file.tail else name
        path = base / file.folder / name
        if name.is_absolute() or ".." in name.parts:
            yield Note("odd", "picture outside the folder", image.name)
            return
        things, lost = held.things(number)
        attributes: dict[str, Value] = {"split": file.split}
        for key, value in image.more.items():
            known = isinstance(value, tuple)
            attributes[key] = tuple(held.label(one) for one in value) if known else value
        yield from scene_in_file(
            name_below(path, root), path, things, size=image.size, lost=lost, attributes=attributes
        )


class _RawImage(BaseModel):
    id: int
    width: int
    height: int


class _RawAnnotation(BaseModel):
    id: int
    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float] | None = None
    area: float | None = None
    iscrowd: int = 0
    isfake: int = 0
    isreflected: int = 0


class _RawCategory(BaseModel):
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class _Image:
    id: int
    name: str
    size: tuple[int, int]
    more: dict[str, Any]


@dataclass
class _Held:
    """What is kept of a file: images and categories, of annotations columns of numbers."""

    reader: CocoJson
    images: list[_Image] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    of_class: dict[int, dict[str, Value]] = field(default_factory=dict)
    extras: dict[tuple[int, int], Values] = field(default_factory=dict)
    ids: array[int] = field(default_factory=lambda: array("q"))
    image_ids: array[int] = field(default_factory=lambda: array("q"))
    classes: array[int] = field(default_factory=lambda: array("q"))
    flags: array[int] = field(default_factory=lambda: array("B"))
    boxes: array[float] = field(default_factory=lambda: array("d"))
    areas: array[float] = field(default_factory=lambda: array("d"))
    order: NDArray[np.int64] | None = None
    begins: list[int] = field(default_factory=list)
    lost: dict[int, int] = field(default_factory=dict)
    unread: list[int] = field(default_factory=list)

    def add(self, key: str, raw: Any) -> tuple[Any, str, str] | None:
        """Keep an element of the file; or say what is wrong with it."""
        kinds = {"images": self._image, "annotations": self._annotation, "categories": self._category}
        if key not in kinds:
            return None
        try:
            return kinds[key](raw)
        except (ValidationError, OverflowError) as error:
            told = error.errors()[0] if isinstance(error, ValidationError) else {"loc": ("id",), "msg": str(error)}
            id = raw.get("id") if isinstance(raw, dict) else str(raw)[:40]
            if key == "annotations" and isinstance(raw, dict) and isinstance(raw.get("image_id"), int):
                self.unread.append(raw["image_id"])
            return "unreadable", f"element of {key} in another form", f"{id}: {told['loc']}: {told['msg']}"

    def _image(self, raw: Any) -> tuple[Any, str, str] | None:
        image = _RawImage.model_validate(raw)
        name = raw.get(self.reader.name)
        if not isinstance(name, str) or not name:
            return "unreadable", f"image without {self.reader.name}", str(image.id)
        more = {key: tuple(raw[key]) if isinstance(raw[key], list) else raw[key]
                for key in self.reader.of_image if raw.get(key) is not None}  # fmt: skip
        self.images.append(_Image(image.id, name, (image.width, image.height), more))
        return None

    def _category(self, raw: Any) -> tuple[Any, str, str] | None:
        category = _RawCategory.model_validate(raw)
        if category.id in self.names:
            return "odd", "two classes of one id; the first counts", str(category.id)
        self.names[category.id] = category.name
        self.of_class[category.id] = {key: str(raw[key]) for key in self.reader.of_class if raw.get(key) is not None}
        return None

    def _annotation(self, raw: Any) -> None:
        one = _RawAnnotation.model_validate(raw)
        flags = sum(1 << place for place, name in enumerate(FLAGS) if getattr(one, name))
        self.ids.append(one.id)
        self.image_ids.append(one.image_id)
        self.classes.append(one.category_id)
        self.flags.append(flags | (BOXED if one.bbox else 0) | (MASKED if one.area is not None else 0))
        self.boxes.extend(one.bbox or (0.0, 0.0, 0.0, 0.0))
        self.areas.append(one.area or 0.0)

    def sort(self) -> Iterator[tuple[Any, str, str]]:
        """Put annotations in the order of the images, when all are there. Gives what is wrong between the lists."""
        import numpy as np

        places: dict[int, int] = {}
        for place, image in enumerate(self.images):
            if places.setdefault(image.id, place) != place:
                yield "odd", "two images of one id; the first counts", str(image.id)
        for key in ("images", "categories"):
            if not (self.images if key == "images" else self.names):
                yield "missing", f"no {key}", "the file is cut short, or of another form"
        self.images = [image for place, image in enumerate(self.images) if places[image.id] == place]
        places = {image.id: place for place, image in enumerate(self.images)}
        for id in self.unread:
            self._lose(places.get(id, -1))
        at = np.fromiter((places.get(id, -1) for id in self.image_ids), np.int64, len(self.image_ids))
        ids = np.frombuffer(self.ids, np.int64) if self.ids else np.empty(0, np.int64)
        first = np.zeros(len(ids), bool)
        first[np.unique(ids, return_index=True)[1]] = True
        known = np.isin(np.frombuffer(self.classes, np.int64), list(self.names)) if self.ids else first
        yield from self._unfit("odd", "two annotations of one id; the first counts", ~first, ids, at, lost=False)
        yield from self._unfit("odd", "annotation of an image that is not listed", at < 0, ids, at, lost=False)
        yield from self._unfit("odd", "annotation of a class that is not listed", ~known & first, ids, at, lost=True)
        at = np.where(first & known, at, -1)
        self.order = np.argsort(at, kind="stable")
        self.begins = np.searchsorted(at[self.order], np.arange(len(self.images) + 1)).tolist()

    def _unfit(
        self, kind: str, what: str, which: NDArray[np.bool_], ids: NDArray[np.int64], at: NDArray[np.int64], *,
        lost: bool,
    ) -> Iterator[tuple[Any, str, str]]:  # fmt: skip
        for place in which.nonzero()[0]:
            if lost:
                self._lose(int(at[place]))
            yield kind, what, f"annotation {ids[place]}"

    def _lose(self, place: int) -> None:
        self.lost[place] = self.lost.get(place, 0) + 1

    def things(self, number: int) -> tuple[list[Marked], int]:
        """The things of an image, boxes not yet fitted, and how many are lost."""
        if self.order is None or not self.begins:
            return [], 0
        rows: Iterable[int] = self.order[self.begins[number] : self.begins[number + 1]].tolist()
        return [self._thing(row) for row in rows], self.lost.get(number, 0)

    def _thing(self, row: int) -> Marked:
        kind, flags = self.classes[row], self.flags[row]
        box = None
        if flags & BOXED:
            x, y, width, height = self.boxes[4 * row : 4 * row + 4]
            box = (x, y, x + width, y + height)
        key = (kind, flags & ~(BOXED | MASKED))
        extra = self.extras.get(key)
        if extra is None:  # one mapping for all things alike: there are millions of them
            said = {name: True for place, name in enumerate(FLAGS) if flags & (1 << place)}
            extra = self.extras[key] = {**self.of_class.get(kind, {}), **said}
        return Marked(self.names[kind], box, self.areas[row] if flags & MASKED else None, extra)

    def label(self, kind: Any) -> str:
        """The name of a class, or its id where it has none."""
        return self.names.get(kind, str(kind)) if isinstance(kind, int) else str(kind)
