"""Boxes in COCO's JSON: LVIS, Objects365, iNaturalist 2017 and 2021.

Lin et al., "Microsoft COCO", ECCV 2014, and https://cocodataset.org/#format-data: lists `images` (id, width, height,
file_name), `annotations` (id, image_id, category_id, bbox [x, y, width, height], area, iscrowd) and `categories` (id,
name). Files are streamed: some numbers of each annotation are kept (61 bytes), never its outline.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field, ValidationError

from snellen.core.storage.user_files import leads_outside
from snellen.datasets.fitting import annotated_file
from snellen.datasets.formats.file_tree import layout_folder, name_below, name_on_disk
from snellen.datasets.formats.json_stream import stream_json
from snellen.datasets.sample import Annotation, Attributes, AttributeValue, Note, RawSample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FLAGS = ("iscrowd", "isfake", "isreflected")
BOXED, MASKED = 8, 16
"""Bits of an annotation's flags after those of `FLAGS`: it has a box; its area is known."""


@dataclass(frozen=True)
class CocoFile:
    """One file of annotations and the location of its images.

    `names` are possible paths of the file; the first that exists counts. `folder` is prepended to the image's own name,
    of which the last `tail` parts are kept (0: all).
    """

    split: str
    names: tuple[str, ...]
    folder: str = ""
    tail: int = 0


@dataclass(frozen=True)
class CocoJson:
    """Settings of the layout.

    `name` is the field of an image with its path or address. `image_fields` are further fields of images that become
    attributes, `category_fields` fields of categories that become `extra` of each annotation; lists of category ids
    become tuples of their names. Without `areas`, `area` is not that of a mask and is ignored.
    """

    files: tuple[CocoFile, ...]
    name: str = "file_name"
    image_fields: tuple[str, ...] = ()
    category_fields: tuple[str, ...] = ()
    areas: bool = True

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Files as declared, images and annotations in file order."""
        names = tuple(name for file in self.files for name in file.names)
        base = layout_folder(root, names, "annotations")
        for file in self.files:
            path = next((base / name for name in file.names if (base / name).is_file()), None)
            if path is None:
                yield Note("odd", "annotations are missing", name_below(base / file.names[0], root))
            else:
                yield from self._file(root, base, file, path)

    def read(self, images: Path, path: Path) -> Iterator[RawSample | Note]:
        """The samples of one file, wherever it is, with images in `images`; `files` has its settings."""
        return self._file(images, images, self.files[0], path)

    def _file(self, root: Path, base: Path, file: CocoFile, path: Path) -> Iterator[RawSample | Note]:
        table, name = _AnnotationTable(self), name_below(path, root) if path.is_relative_to(root) else path.name
        try:
            for key, _, raw in stream_json(path, frozenset({"images", "annotations", "categories"})):
                problem = table.add(key, raw)
                if problem:
                    yield Note(*problem[:2], f"{name}: {problem[2]}")
        except (OSError, ValueError, RecursionError) as error:
            # No samples at all: an image with some of its objects looks like one with all.
            yield Note("unreadable", "not JSON of annotations; copy it again", f"{name}: {error}")
            return
        yield from (Note(*problem[:2], f"{name}: {problem[2]}") for problem in table.sort())
        for index, image in enumerate(table.images):
            yield from self._image(root, base, file, table, index, image)

    def _image(
        self, root: Path, base: Path, file: CocoFile, table: _AnnotationTable, index: int, image: _Image
    ) -> Iterator[RawSample | Note]:
        written = image.name
        if file.tail:
            written = "/".join(written.replace("\\", "/").split("/")[-file.tail :])
        name = PurePosixPath(name_on_disk(base / file.folder, written))
        path = base / file.folder / name
        if leads_outside(str(name)):
            yield Note("odd", "image outside the folder", image.name)
            return
        attributes: dict[str, AttributeValue] = {"split": file.split}
        for key, field_ in image.fields.items():
            # A tuple in an image's field contains ids of categories.
            attributes[key] = tuple(table.label(id) for id in field_) if isinstance(field_, tuple) else field_
        yield from annotated_file(
            name_below(path, root),
            path,
            table.annotations(index),
            size=image.size,
            lost=table.lost.get(index, 0),
            attributes=attributes,
        )


Side = Annotated[int, Field(ge=0, lt=2**31)]


class _RawImage(BaseModel):
    id: int
    width: Side
    height: Side


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
    fields: dict[str, Any]


_Problem: TypeAlias = tuple[Literal["missing", "unreadable", "odd"], str, str]
"""Kind, message and location within the file of a `Note`."""


@dataclass
class _AnnotationTable:
    """The contents of a file: images and categories, and the numbers of each annotation as a row in columns.

    `order` has the rows sorted by image; those of image k start at `first_rows[k]`.
    """

    reader: CocoJson
    images: list[_Image] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    category_fields: dict[int, dict[str, AttributeValue]] = field(default_factory=dict)
    extras: dict[tuple[int, int], Attributes] = field(default_factory=dict)
    ids: array[int] = field(default_factory=lambda: array("q"))
    image_ids: array[int] = field(default_factory=lambda: array("q"))
    category_ids: array[int] = field(default_factory=lambda: array("q"))
    flags: array[int] = field(default_factory=lambda: array("B"))
    boxes: array[float] = field(default_factory=lambda: array("d"))
    areas: array[float] = field(default_factory=lambda: array("d"))
    order: NDArray[np.int64] | None = None
    first_rows: list[int] = field(default_factory=list)
    lost: dict[int, int] = field(default_factory=dict)
    unread_image_ids: list[int] = field(default_factory=list)

    def add(self, key: str, raw: Any) -> _Problem | None:
        """Store an element of the file, or return the problem with it."""
        methods = {"images": self._add_image, "annotations": self._add_annotation, "categories": self._add_category}
        if key not in methods:
            return None
        try:
            return methods[key](raw)
        except (ValidationError, OverflowError) as error:
            first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": ("id",), "msg": str(error)}
            id = raw.get("id") if isinstance(raw, dict) else str(raw)[:40]
            if key == "annotations" and isinstance(raw, dict) and isinstance(raw.get("image_id"), int):
                self.unread_image_ids.append(raw["image_id"])
            return "unreadable", f"element of {key} in another form", f"{id}: {first['loc']}: {first['msg']}"

    def _add_image(self, raw: Any) -> _Problem | None:
        image = _RawImage.model_validate(raw)
        name = raw.get(self.reader.name)
        if not isinstance(name, str) or not name:
            return "unreadable", f"image without {self.reader.name}", str(image.id)
        fields = {key: tuple(raw[key]) if isinstance(raw[key], list) else raw[key]
                  for key in self.reader.image_fields if raw.get(key) is not None}  # fmt: skip
        self.images.append(_Image(image.id, name, (image.width, image.height), fields))
        return None

    def _add_category(self, raw: Any) -> _Problem | None:
        category = _RawCategory.model_validate(raw)
        if category.id in self.names:
            return "odd", "two classes with one id; the first counts", str(category.id)
        self.names[category.id] = category.name
        self.category_fields[category.id] = {
            key: str(raw[key]) for key in self.reader.category_fields if raw.get(key) is not None
        }
        return None

    def _add_annotation(self, raw: Any) -> None:
        annotation = _RawAnnotation.model_validate(raw)
        flags = sum(1 << bit for bit, name in enumerate(FLAGS) if getattr(annotation, name))
        has_area = annotation.area is not None and self.reader.areas
        self.ids.append(annotation.id)
        self.image_ids.append(annotation.image_id)
        self.category_ids.append(annotation.category_id)
        self.flags.append(flags | (BOXED if annotation.bbox else 0) | (MASKED if has_area else 0))
        self.boxes.extend(annotation.bbox or (0.0, 0.0, 0.0, 0.0))
        self.areas.append(annotation.area or 0.0)

    def sort(self) -> Iterator[_Problem]:
        """Sort annotations by image when all are read, and report inconsistencies between the lists.

        A file may have its lists in any order, so annotations can be matched to images and categories only now.
        """
        import numpy as np

        first_index: dict[int, int] = {}
        for index, image in enumerate(self.images):
            if first_index.setdefault(image.id, index) != index:
                yield "odd", "two images with one id; the first counts", str(image.id)
                if image.name != self.images[first_index[image.id]].name:
                    self.unread_image_ids.append(image.id)  # it is unknown whose annotations they are
        for key in ("images", "categories"):
            if not (self.images if key == "images" else self.names):
                yield "missing", f"no {key}", "the file is truncated, or of another form"
        self.images = [image for index, image in enumerate(self.images) if first_index[image.id] == index]
        # If images were dropped, later ones have moved up: indices are recomputed.
        index_of = {image.id: index for index, image in enumerate(self.images)}
        for id in self.unread_image_ids:
            self._lose(index_of.get(id, -1))
        # From here on everything is a column over the annotations. Row by row in Python, the millions of LVIS would
        # take minutes, and as objects more memory than the size of the file.
        image_index = np.fromiter((index_of.get(id, -1) for id in self.image_ids), np.int64, len(self.image_ids))
        ids = np.frombuffer(self.ids, np.int64) if self.ids else np.empty(0, np.int64)
        is_first = np.zeros(len(ids), bool)
        _, first_rows, id_numbers = np.unique(ids, return_index=True, return_inverse=True)
        is_first[first_rows] = True
        is_listed = np.isin(np.frombuffer(self.category_ids, np.int64), list(self.names)) if self.ids else is_first
        # A duplicate annotation, or one of an unknown image, affects no image. One of an unknown category does: its
        # image shows an object without a name, so its objects must not be counted. So does one that differs from the
        # first annotation with its id.
        repeated = (~is_first).nonzero()[0]
        for row, first_row in zip(repeated.tolist(), first_rows[id_numbers[repeated]].tolist(), strict=True):
            if self._object_key(row) != self._object_key(first_row):
                self._lose(index_of.get(self.image_ids[row], -1))
        yield from self._misfits("two annotations with one id; the first counts", ~is_first)
        yield from self._misfits("annotation of an image that is not listed", image_index < 0)
        unknown = ~is_listed & is_first
        yield from self._misfits("annotation of a class that is not listed", unknown)
        for index in image_index[unknown].tolist():
            self._lose(index)
        # Unusable rows get image -1 and sort before all others. A stable sort keeps the file's order within an image,
        # and one search then finds the start of each image; the bound after the last image ends its rows.
        image_index = np.where(is_first & is_listed, image_index, -1)
        self.order = np.argsort(image_index, kind="stable")
        self.first_rows = np.searchsorted(image_index[self.order], np.arange(len(self.images) + 1)).tolist()

    def _misfits(self, message: str, misfits: NDArray[np.bool_]) -> Iterator[_Problem]:
        for row in misfits.nonzero()[0].tolist():
            yield "odd", message, f"annotation {self.ids[row]}"

    def _object_key(self, row: int) -> tuple[Any, ...]:
        """The key of a row's object: image, category, box."""
        return self.image_ids[row], self.category_ids[row], *self.boxes[4 * row : 4 * row + 4]

    def _lose(self, image_index: int) -> None:
        self.lost[image_index] = self.lost.get(image_index, 0) + 1

    def annotations(self, image_index: int) -> list[Annotation]:
        """The annotations of an image, boxes not yet fitted."""
        if self.order is None or not self.first_rows:
            return []
        rows: Iterable[int] = self.order[self.first_rows[image_index] : self.first_rows[image_index + 1]].tolist()
        return [self._annotation(row) for row in rows]

    def _annotation(self, index: int) -> Annotation:
        category, flags = self.category_ids[index], self.flags[index]
        box = None
        if flags & BOXED:
            x, y, width, height = self.boxes[4 * index : 4 * index + 4]
            box = (x, y, x + width, y + height)
        key = (category, flags & ~(BOXED | MASKED))
        extra = self.extras.get(key)
        if extra is None:  # one mapping for all equal annotations: there are millions of them
            flagged = {name: True for bit, name in enumerate(FLAGS) if flags & (1 << bit)}
            extra = self.extras[key] = {**self.category_fields.get(category, {}), **flagged}
        return Annotation(self.names[category], box, self.areas[index] if flags & MASKED else None, extra)

    def label(self, category: Any) -> str:
        """The name of a category, or its id if it has none."""
        return self.names.get(category, str(category)) if isinstance(category, int) else str(category)
