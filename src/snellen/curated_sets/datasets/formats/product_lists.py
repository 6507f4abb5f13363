"""Text lists of image and class: CSV with a header (Products-10K), lines of parts (Product1M)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snellen.core.storage.user_files import TableLines, is_file, leads_outside, refuse_irregular, unfilled_rows
from snellen.curated_sets.datasets.formats.lists import MAX_LINE
from snellen.datasets.formats.file_tree import layout_folders, name_below
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Note, RawSample, labelled_image


@dataclass(frozen=True)
class ProductList:
    """Settings of the layout.

    `lists` pairs a list's file name with the folder of its images. Lines are split at `separator`; with `header` the
    first line names the columns, else columns are numbers from 0. `name` is the image's column (`suffix` is appended),
    `label` the class's, `group` the object's ("" for the single `object`; else "OBJECT GROUP"). If an image may show
    several products, `several` separates them and only images of one are used.
    """

    object: str
    lists: tuple[tuple[str, str], ...]
    name: str
    label: str
    group: str = ""
    separator: str = ","
    header: bool = True
    suffix: str = ""
    several: str = ""

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Lists as declared, lines in file order; an image named twice counts once."""
        for base in layout_folders(root, tuple(name for name, _ in self.lists), "list"):
            for name, folder in self.lists:
                if (base / name).is_file():
                    yield from self._list(root, base / name, base / folder)
                else:
                    yield Note("odd", "list is missing", name_below(base / name, root))

    def _list(self, root: Path, list_: Path, folder: Path) -> Iterator[RawSample | Note]:
        record_ids = set[str]()
        try:
            for number, row in self._rows(list_):
                location = f"{name_below(list_, root)} line {number}"
                try:
                    sample = self._row(root, folder, row)
                except KeyError as error:
                    yield Note("unreadable", f"line without column {error.args[0]}", location)
                    continue
                if isinstance(sample, str):
                    yield Note("left out", sample, location)
                elif not sample.record_id or sample.record_id in record_ids:
                    yield Note("odd", "image named twice or outside the folder", location)
                else:
                    record_ids.add(sample.record_id)
                    exists = is_file(sample.image.path)
                    yield sample if exists else Note("missing", "image of a list", sample.record_id)
        except (OSError, ValueError, csv.Error) as error:
            yield Note("unreadable", "not a list in UTF-8", f"{name_below(list_, root)}: {error}")

    def _rows(self, list_: Path) -> Iterator[tuple[int, dict[str, str]]]:
        refuse_irregular(list_)
        with list_.open(encoding="utf-8-sig", newline="") as file:
            lines = TableLines[str](file, MAX_LINE)
            if self.header:
                for number, row in unfilled_rows(csv.DictReader(lines, delimiter=self.separator)):
                    lines.row_size = 0
                    yield number, {name: cell for name, cell in row.items() if name}
            else:
                for number, line in enumerate(lines, 1):
                    lines.row_size = 0
                    if line.strip():
                        cells = line.rstrip("\r\n").split(self.separator)
                        yield number, {str(column): cell for column, cell in enumerate(cells)}

    def _row(self, root: Path, folder: Path, row: dict[str, str]) -> RawSample | str:
        """The sample of a line, or the reason for leaving it out. The id is empty if it is outside the folder."""
        name = Path(f"{row[self.name].strip()}{self.suffix}")
        names = row[self.label].split(self.several) if self.several else [row[self.label]]
        labels = dict.fromkeys(label.strip() for label in names if label.strip())
        if len(labels) != 1:
            return "several products in one image" if labels else "no class"
        object = f"{self.object} {row[self.group].strip()}" if self.group else self.object
        path = folder / name
        inside = not leads_outside(str(name))
        return labelled_image(name_below(path, root) if inside else "", ImageFile(path), next(iter(labels)), object)
