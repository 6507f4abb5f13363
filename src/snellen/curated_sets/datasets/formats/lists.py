"""Images listed in text files: one line per image or face; class names in a file or in the settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from snellen.core.item import Box
from snellen.core.storage.user_files import (
    MAX_YAML_BYTES,
    TableLines,
    is_file,
    leads_outside,
    read_file,
    refuse_irregular,
)
from snellen.datasets.fitting import annotated_file
from snellen.datasets.formats.file_tree import layout_folder, name_below
from snellen.datasets.image_files import VideoFrame
from snellen.datasets.sample import Annotation, Note, RawSample

MAX_LINE = 16_000_000
"""Characters of a line of a list; an image of a crowd has some ten thousand."""


@dataclass(frozen=True)
class NamedList:
    """A list with its image folder and its split. `classes` is a file of lines NAME NUMBER.

    `folders` are possible names of the folder; the first that exists counts.
    """

    name: str
    folders: tuple[str, ...]
    split: str = ""
    classes: str = ""

    def folder(self, base: Path) -> Path:
        """The (expected) folder of the images, given the folder of the list."""
        return next((base / name for name in self.folders if (base / name).is_dir()), base / self.folders[0])


@dataclass(frozen=True)
class ClassLists:
    """Settings of the layout: Places365, RAF-DB, ExpW, Moments in Time.

    Lines are split at `separator` (None: spaces). Columns count from 0: 0 is the image, `label` the class, `box` the
    face's box (left, top, right, bottom; None for whole images). A class is a number named in `labels` or the
    list's `classes`, or the name itself if there is neither. Several lines of one image make one sample. With `video`,
    files are videos and their middle frame is the image. If `boxes` names a folder, its file NAME_boundingbox.txt
    (left, top, right, bottom) has the box of the face in the image's line.
    """

    lists: tuple[NamedList, ...]
    label: int = 1
    box: tuple[int, int, int, int] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    separator: str | None = None
    video: bool = False
    boxes: str = ""

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Lists as declared, images in the order of their first lines."""
        base = layout_folder(root, tuple(file.name for file in self.lists), "list")
        for file in self.lists:
            if not (base / file.name).is_file():
                yield Note("odd", "list is missing", name_below(base / file.name, root))
                continue
            labels: Mapping[str, str] = self.labels
            if file.classes:
                named = dict[str, str]()
                for row in rows(base / file.classes, root):
                    if isinstance(row, Note) or len(row[1]) < 2:
                        yield row if isinstance(row, Note) else Note("unreadable", "class without number", row[0])
                    else:
                        named[row[1][1]] = places_class(row[1][0])
                labels = named
            yield from self._list(root, base, file, labels)

    def _list(self, root: Path, base: Path, file: NamedList, labels: Mapping[str, str]) -> Iterator[RawSample | Note]:
        annotations: dict[str, list[Annotation]] = {}
        lost: dict[str, int] = {}
        for row in rows(base / file.name, root, self.separator):
            if isinstance(row, Note):
                yield row
                continue
            location, cells = row
            parsed = self._row(cells, labels, bool(file.classes))
            if isinstance(parsed, str):
                yield Note("unreadable", parsed, location)
                name = cells[0].lstrip("/")
                lost[name] = lost.get(name, 0) + 1
                continue
            name, annotation = parsed
            if leads_outside(name):
                yield Note("odd", "image outside the folder", location)
            elif annotation in annotations.setdefault(name, []) or (annotations[name] and annotation.box is None):
                yield Note("odd", "line of a list twice; the first counts", location)
            else:
                annotations[name].append(annotation)
        if self.boxes:
            yield from self._add_boxes(root, base / self.boxes, annotations)
        folder = file.folder(base)
        for name, of_image in annotations.items():
            path = folder / name
            if self.video and is_file(path):
                yield RawSample(
                    record_id=name_below(path, root),
                    image=VideoFrame(path, 0.5),
                    annotations=tuple(of_image),
                    attributes={"split": file.split},
                )
            else:
                attributes = {"split": file.split} if file.split else {}
                yield from annotated_file(
                    name_below(path, root), path, of_image, lost=lost.get(name, 0), attributes=attributes
                )

    def _add_boxes(self, root: Path, folder: Path, annotations: dict[str, list[Annotation]]) -> Iterator[Note]:
        """Give each annotation the box in the file of its image; without the folder, none has a box."""
        if not folder.is_dir():
            yield Note("odd", "folder of boxes is missing", name_below(folder, root))
            return
        for name, of_image in annotations.items():
            box = read_box(folder / f"{PurePosixPath(name).stem}_boundingbox.txt", root)
            if isinstance(box, Note):
                yield box
            else:
                annotations[name] = [replace(annotation, box=box) for annotation in of_image]

    def _row(self, cells: list[str], labels: Mapping[str, str], named: bool) -> tuple[str, Annotation] | str:
        if len(cells) <= max(self.label, *(self.box or (0,))):
            return "line with too few columns"
        label = cells[self.label].strip()
        if labels or named:
            if label not in labels:
                return "class without a name"
            label = labels[label]
        if not label:
            return "line without class"
        box: Box | None = None
        if self.box:
            try:
                left, top, right, bottom = (float(cells[column]) for column in self.box)
            except ValueError:
                return "box without four numbers"
            box = (left, top, right, bottom)
        return cells[0].lstrip("/"), Annotation(label, box)


def read_box(path: Path, root: Path) -> Box | Note:
    """Left, top, right and bottom in pixels, the only numbers in a file; a note if there are others."""
    try:
        x1, y1, x2, y2 = (float(cell) for cell in read_file(path, MAX_YAML_BYTES).split())
    except FileNotFoundError:
        return Note("missing", "box of an image", name_below(path, root))
    except (OSError, ValueError) as error:
        return Note("unreadable", "box without four numbers", f"{name_below(path, root)}: {error}")
    return x1, y1, x2, y2


def places_class(name: str) -> str:
    """The class in a line of Places such as `/a/arch`, without the folder of its first letter."""
    return name[3:] if name[:1] == "/" and name[2:3] == "/" else name


def rows(path: Path, root: Path, separator: str | None = None) -> Iterator[tuple[str, list[str]] | Note]:
    """Non-empty lines, each with its location and split at `separator`; a note if the file is not text."""
    name, empty = name_below(path, root), True
    try:
        refuse_irregular(path)
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(lines := TableLines[str](file, MAX_LINE), 1):
                lines.row_size = 0
                if line.strip():
                    empty = False
                    yield f"{name} line {number}", [cell.strip() for cell in line.strip().split(separator)]
        if empty:
            yield Note("odd", "list without a line", name)
    except FileNotFoundError:
        yield Note("missing", "list of the layout", name)
    except (OSError, ValueError) as error:
        yield Note("unreadable", "not a list in UTF-8; copy it again", f"{name}: {error}")
