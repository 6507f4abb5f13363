"""Pictures named in text files: one line a picture or a face, classes in a file or told by the settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from snellen.core.item import Box
from snellen.datasets.formats.walking import folders_holding, name_below
from snellen.datasets.reading import Note
from snellen.datasets.scene_reading import scene_in_file
from snellen.datasets.scenes import InVideo, Marked, Seen


@dataclass(frozen=True)
class NamedList:
    """A list, the folder of its pictures and the split it stands for. `classes` is a file of lines NAME NUMBER."""

    name: str
    folder: str
    split: str = ""
    classes: str = ""


@dataclass(frozen=True)
class ClassLists:
    """Settings of the layout: Places365, RAF-DB, ExpW, Moments in Time.

    Lines are cut at `separator` (None: spaces). Columns count from 0: of the picture (`picture`), of the class
    (`label`), of the face's box (`box`: left, top, right, bottom; none for whole pictures). A class is a number that
    `labels` or the list's `classes` name, or the name itself where there is neither. Several lines of one picture make
    one scene. With `video`, files are videos and their middle frame is the picture.
    """

    lists: tuple[NamedList, ...]
    picture: int = 0
    label: int = 1
    box: tuple[int, int, int, int] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    separator: str | None = None
    video: bool = False
    strip: str = "/"

    def scan(self, root: Path) -> Iterator[Seen | Note]:
        """See `SceneReader`. Lists as declared, pictures in the order of their first lines."""
        base = next(folders_holding(root, tuple(one.name for one in self.lists)), None)
        if base is None:
            yield Note("missing", f"no list {' or '.join(one.name for one in self.lists)}", str(root))
            return
        for one in self.lists:
            if not (base / one.name).is_file():
                yield Note("odd", "list is not there", name_below(base / one.name, root))
                continue
            labels: Mapping[str, str] = self.labels
            if one.classes:
                named = dict[str, str]()
                for row in rows(base / one.classes, root):
                    if isinstance(row, Note) or len(row[1]) < 2:
                        yield row if isinstance(row, Note) else Note("unreadable", "class without number", row[0])
                    else:
                        named[row[1][1]] = class_of_places(row[1][0])
                labels = named
            yield from self._list(root, base, one, labels)

    def _list(self, root: Path, base: Path, of: NamedList, labels: Mapping[str, str]) -> Iterator[Seen | Note]:
        held: dict[str, list[Marked]] = {}
        lost: dict[str, int] = {}
        for row in rows(base / of.name, root, self.separator):
            if isinstance(row, Note):
                yield row
                continue
            where, cells = row
            read = self._row(cells, labels, bool(of.classes))
            if isinstance(read, str):
                yield Note("unreadable", read, where)
                if len(cells) > self.picture:
                    name = cells[self.picture].lstrip(self.strip)
                    lost[name] = lost.get(name, 0) + 1
                continue
            name, thing = read
            if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                yield Note("odd", "picture outside the folder", where)
            elif thing in held.setdefault(name, []) or (held[name] and thing.box is None):
                yield Note("odd", "line of a list twice; the first counts", where)
            else:
                held[name].append(thing)
        for name, things in held.items():
            path = base / of.folder / name
            more: dict[str, Any] = {"attributes": {"split": of.split} if of.split else {}, "lost": lost.get(name, 0)}
            if self.video and path.is_file():
                yield Seen(record_id=name_below(path, root), picture=InVideo(path, 0.5), marked=tuple(things),
                           attributes={"split": of.split})  # fmt: skip
            else:
                yield from scene_in_file(name_below(path, root), path, things, **more)

    def _row(self, cells: list[str], labels: Mapping[str, str], named: bool) -> tuple[str, Marked] | str:
        if len(cells) <= max(self.picture, self.label, *(self.box or (0,))):
            return "line of too few columns"
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
                left, top, right, bottom = (float(cells[place]) for place in self.box)
            except ValueError:
                return "box that is no four numbers"
            box = (left, top, right, bottom)
        return cells[self.picture].lstrip(self.strip), Marked(label, box)


def class_of_places(name: str) -> str:
    """The class of a line such as `/a/arch`: the first letter's folder before it falls away."""
    return name[3:] if name[:1] == "/" and name[2:3] == "/" else name


def rows(path: Path, root: Path, separator: str | None = None) -> Iterator[tuple[str, list[str]] | Note]:
    """Lines that are not empty, each with its place and cut at `separator`; a note where the file is no text."""
    where, nothing = name_below(path, root), True
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    nothing = False
                    yield f"{where} line {number}", [cell.strip() for cell in line.strip().split(separator)]
        if nothing:
            yield Note("odd", "list without a line", where)
    except FileNotFoundError:
        yield Note("missing", "list of the layout", where)
    except (OSError, UnicodeDecodeError) as error:
        yield Note("unreadable", "not a list in UTF-8; copy it again", f"{where}: {error}")
