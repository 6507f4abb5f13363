"""Tables whose rows hold a picture, options and the right one: TSV as VLMEvalKit reads it, or Parquet.

GMAI-MMBench: columns index, image (base64), question, A … E, answer (a letter), and what the question is about.
"""

from __future__ import annotations

import base64
import binascii
import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.core import files
from snellen.core.errors import SnellenError
from snellen.datasets.formats.walking import entries, name_below, subfolders
from snellen.datasets.reading import Found, Note
from snellen.datasets.records import InFile, InRow, Place

BATCH = 64
"""Rows of a Parquet file held at once: a row may hold some megabytes."""
REFERENCE = 64
"""A shorter text in place of a picture is the index of the row that holds it (VLMEvalKit does the same)."""


@dataclass(frozen=True)
class OptionTable:
    """Settings of the layout; columns are found whatever their capitals.

    The class is the text of the option that `answer` names. `objects` are columns that together make the object, those
    that are there. A table without the column `image` must have `image_path`, relative to the table.
    """

    objects: tuple[str, ...]
    image: str = "image"
    answer: str = "answer"
    row_name: str = "index"

    def scan(self, root: Path) -> Iterator[Found | Note]:
        """See `Reader`. Tables by name, rows as they stand."""
        nothing = True
        for path in _tables(root):
            nothing = False
            try:
                yield from self._table(root, path)
            except (OSError, ValueError, csv.Error) as error:
                told = str(error).splitlines()[0] if str(error) else type(error).__name__
                yield Note("unreadable", "not a table", f"{name_below(path, root)}: {told}")
        if nothing:
            yield Note("missing", "no table (*.tsv or *.parquet)", str(root))

    def _table(self, root: Path, path: Path) -> Iterator[Found | Note]:
        places: dict[str, InRow] = {}
        number = -1
        for number, (place, row) in enumerate(_rows(path)):
            id = f"{name_below(path, root)}#{number}"
            if not {self.image, "image_path"} & set(row):
                yield Note("missing", f"column {self.image}", name_below(path, root))
                return
            letter = str(row.get(self.answer) or "").strip()
            label = str(row.get(letter.lower()) or "").strip() if letter else ""
            picture = self._picture(path, row, place, places)
            if picture is None:
                yield Note("missing", "picture of a row", id)
            elif not label or label == "nan":
                yield Note("left out", "no right option told", id)
            else:
                object = " / ".join(str(row[name]).strip() for name in self.objects if row.get(name))
                yield Found(id, picture, label, object or path.stem)
        if number < 0:
            yield Note("missing", "rows of a table", name_below(path, root))

    def _picture(self, path: Path, row: Mapping[str, Any], place: int, places: dict[str, InRow]) -> Place | None:
        held = row.get(self.image)
        if isinstance(held, str) and 0 < len(held) <= REFERENCE:
            return places.get(held)
        if held:
            name = next(column for column in row if column == self.image)
            return places.setdefault(str(row.get(self.row_name)), InRow(path, place, name))
        told = row.get("image_path")
        file = path.parent / str(told) if told else None
        return InFile(file) if file is not None and file.is_file() else None


def read_cell(place: InRow) -> bytes:
    """The picture in a cell: base64 text, bytes, or the {bytes, path} of the Hugging Face layout.

    Raises SnellenError where table, row or picture is not there.
    """
    try:
        row = _row(place)
    except (OSError, ValueError, IndexError, StopIteration, csv.Error) as error:
        raise SnellenError(f"{place.path}: row at {place.place} cannot be read; copy the table again") from error
    held = row.get(place.column)
    if isinstance(held, Mapping):
        held = held.get("bytes")
    if isinstance(held, bytes):
        return held
    try:
        return base64.b64decode(str(held or ""), validate=True)
    except binascii.Error as error:
        raise SnellenError(f"{place.path}: row at {place.place} holds no base64; copy the table again") from error


def _tables(folder: Path) -> Iterator[Path]:
    yield from (path for path in entries(folder) if path.suffix.lower() in (".tsv", ".parquet"))
    for inner in subfolders(folder):
        yield from _tables(inner)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows with their `InRow.place`; names of columns in small letters."""
    if path.suffix.lower() == ".tsv":
        yield from _tsv_rows(path)
        return
    import pyarrow.parquet as pq

    number = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH):
            for row in batch.to_pylist():
                yield number, {name.lower(): cell for name, cell in row.items()}
                number += 1


def _tsv_rows(path: Path, start: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows from the byte `start` on (0: the first behind the header), each with the byte at which it begins."""
    with files.long_cells(), path.open("rb") as file:
        at = 0

        def lines() -> Iterator[str]:
            nonlocal at
            for line in file:
                at += len(line)
                yield line.decode("utf-8")

        reader = csv.reader(lines(), delimiter="\t")
        header = [name.lower() for name in next(reader, [])]
        if start:
            file.seek(start)
            at = start
            reader = csv.reader(lines(), delimiter="\t")
        began = at
        for cells in reader:
            if cells:
                yield began, dict(zip(header, cells, strict=False))
            began = at


def _row(place: InRow) -> dict[str, Any]:
    if place.path.suffix.lower() == ".tsv":
        return next(_tsv_rows(place.path, place.place))[1]
    import pyarrow.parquet as pq

    left = place.place
    with pq.ParquetFile(place.path) as file:
        for group in range(file.num_row_groups):
            count = file.metadata.row_group(group).num_rows
            if left < count:
                row = file.read_row_group(group).slice(left, 1).to_pylist()[0]
                return {name.lower(): cell for name, cell in row.items()}
            left -= count
    raise IndexError(place.place)
