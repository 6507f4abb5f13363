"""Tables with an image, options and the right option per row: TSV as for VLMEvalKit, or Parquet.

GMAI-MMBench: columns index, image (base64), question, A … E, answer (a letter), and the subject of the question.
"""

from __future__ import annotations

import base64
import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.core.storage.user_files import (
    MAX_DATASET_BYTES,
    MAX_MEDIA_BYTES,
    TableLines,
    is_file,
    leads_outside,
    refuse_irregular,
)
from snellen.datasets.formats.file_tree import files_below, name_below
from snellen.datasets.hub_tables import ShardReader, open_shard
from snellen.datasets.image_files import ImageFile, image_format
from snellen.datasets.sample import Note, RawSample, SourceImage, labelled_image

REFERENCE = 64
"""Shorter texts in the image column are the index of the row that has the image (as in VLMEvalKit)."""
MAX_RATIO = 1000
"""Limit of a table's values by the size of its file, which may hold an image once for millions of rows."""


@dataclass(frozen=True)
class TableCell:
    """An image inside a table. `row` is a row number in Parquet, the byte offset of a row in TSV."""

    path: Path
    row: int
    column: str
    reader: ShardReader = field(default_factory=ShardReader, compare=False, repr=False)

    def read(self, location: str) -> tuple[bytes, str]:
        """See `SourceImage`. The cell holds base64 text, bytes, or the {bytes, path} of the Hugging Face layout."""
        try:
            cell = self._content()
        except (OSError, ValueError, LookupError, StopIteration, csv.Error) as error:
            raise SnellenError(f"{self.path}: row at {self.row} cannot be read; copy the table again") from error
        if isinstance(cell, Mapping):
            cell = cell.get("bytes")
        try:
            raw = cell if isinstance(cell, bytes) else base64.b64decode(str(cell or ""), validate=True)
        except ValueError as error:
            raise SnellenError(f"{self.path}: row at {self.row} is not base64; copy the table again") from error
        return raw, image_format(raw, location)

    def _content(self) -> Any:
        if self.path.suffix.lower() == ".tsv":
            return next(_tsv_rows(self.path, self.row))[1].get(self.column)
        shard = open_shard(self.path)
        return self.reader.read(shard, shard.find_column([self.column]), self.row)

    def inspect(self, location: str) -> None:
        """See `SourceImage`. The row is read."""
        self.read(location)


@dataclass(frozen=True)
class OptionTable:
    """Settings of the layout; column names ignore case.

    The class is the text of the option that the column `answer` names. `objects` are columns that together form the
    object, as far as they exist. A table without the column `image` must have `image_path`, relative to the table.
    """

    objects: tuple[str, ...]

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Tables by name, rows in file order."""
        paths = list(files_below(root, (".tsv", ".parquet")))
        if not paths:
            yield Note("missing", "no table (*.tsv or *.parquet)", str(root))
        for path in paths:
            try:
                yield from self._table(root, path)
            except (OSError, ValueError, csv.Error) as error:
                message = str(error).splitlines()[0] if str(error) else type(error).__name__
                yield Note("unreadable", "not a table", f"{name_below(path, root)}: {message}")

    def _table(self, root: Path, path: Path) -> Iterator[RawSample | Note]:
        cells_by_index: dict[str, TableCell] = {}
        number, reader = -1, ShardReader()
        for number, (position, row) in enumerate(_rows(path)):
            id = f"{name_below(path, root)}#{number}"
            if not {"image", "image_path"} & set(row):
                yield Note("missing", "column image", name_below(path, root))
                return
            letter = str(row.get("answer") or "").strip()
            label = str(row.get(letter.lower()) or "").strip() if letter else ""
            image = self._image(TableCell(path, position, "image", reader), row, cells_by_index)
            if image is None:
                yield Note("missing", "image of a row", id)
            elif not label or label == "nan":
                yield Note("left out", "no right option given", id)
            else:
                object = " / ".join(str(row[name]).strip() for name in self.objects if row.get(name))
                yield labelled_image(id, image, label, object or path.stem)
        if number < 0:
            yield Note("missing", "rows of a table", name_below(path, root))

    def _image(
        self, own: TableCell, row: Mapping[str, Any], cells_by_index: dict[str, TableCell]
    ) -> SourceImage | None:
        cell = row.get("image")
        if isinstance(cell, str) and 0 < len(cell) <= REFERENCE:
            return cells_by_index.get(cell)
        if cell:
            cells_by_index.setdefault(str(row.get("index")), own)
            return own
        name = row.get("image_path")
        file = own.path.parent / str(name) if name and not leads_outside(str(name)) else None
        return ImageFile(file) if file is not None and is_file(file) else None


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows with their `TableCell.row`; column names in lower case."""
    if path.suffix.lower() == ".tsv":
        yield from _tsv_rows(path)
        return
    import pyarrow.parquet as pq

    number = 0
    with pq.ParquetFile(path) as file:
        for batch in files.bounded_batches(file, None, min(MAX_DATASET_BYTES, MAX_RATIO * path.stat().st_size)):
            for row in files.batch_rows(batch):
                yield number, {name.lower(): cell for name, cell in row.items()}
                number += 1


def _tsv_rows(path: Path, start: int = 0) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows from byte `start` (0: the first after the header), each with its byte offset."""
    refuse_irregular(path)
    with files.long_cells(), path.open("rb") as file:
        position, table = 0, TableLines[bytes](file, MAX_MEDIA_BYTES, MAX_DATASET_BYTES)

        # csv does not read ahead: when it returns a row, exactly that row's lines have been counted, however many line
        # ends its quoted cells contain. So a row can be read again later without the rows before it.
        def lines() -> Iterator[str]:
            nonlocal position
            for line in table:
                position += len(line)
                yield line.decode("utf-8")

        reader = csv.reader(lines(), delimiter="\t")
        header = [name.lower() for name in next(reader, [])]
        if start:
            file.seek(start)
            position = start
            reader = csv.reader(lines(), delimiter="\t")
        row_start = position
        for cells in reader:
            table.row_size = 0
            if cells:
                yield row_start, dict(zip(header, cells, strict=False))
            row_start = position
