"""Rows of a user's table of questions, one after the other: JSON, JSONL, CSV, TSV, Parquet and Arrow.

    JSONL (also .gz), JSON list or {"data": [...]}, LLaVA's `conversations`, CSV and TSV (also .gz), Hugging Face shards

Only one row is in memory at a time. Images in shards are read when they are asked for (`hub_tables.ShardCell`).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.plain_text import printable
from snellen.core.storage import files
from snellen.core.storage.user_files import (
    MAX_LIST_BYTES,
    TableLines,
    bounded_json,
    distinct,
    file_fault,
    own_file,
    table_encoding,
    table_header,
)
from snellen.datasets.formats.json_stream import stream_json
from snellen.datasets.hub_tables import IMAGE_COLUMNS, ShardCell, ShardReader, find_shards, open_shard
from snellen.datasets.own_images import shown_name

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv")
LINE_SUFFIXES = (".jsonl", ".csv", ".tsv")
"""Files that are read line by line, and may be compressed (.gz)."""
MAX_ROW_BYTES, MAX_FILE_BYTES = 64_000_000, 1 << 45
"""Limits of a row of text, which holds an image of 48 MB as base64, and of a file that is not compressed."""
SAMPLE = 20
"""Rows of a file of JSON whose keys are its columns."""
IN_SHARD = re.compile(rf"(?:decoded_)?(?:{'|'.join(IMAGE_COLUMNS)})(?:s|_|\d|$)", re.IGNORECASE)
"""Columns of shards whose text may be images as base64."""
TURN = "conversations."
"""Prefix of the columns made from LLaVA's `conversations`, one per speaker."""


class BadRow(SnellenError):
    """A row that cannot be used. The message names file, line or row, and column."""


@dataclass(frozen=True)
class RawRow:
    """A row: its file, its number from 1, its place for messages, its cells by column; `fault` if it is not a row."""

    file: Path
    number: int
    location: str
    cells: Mapping[str, Any]
    fault: str = ""

    def bad(self, column: str, problem: str) -> BadRow:
        """The error for a cell."""
        return BadRow(f"{self.location}, column `{shown_name(column)}`: {printable(problem)}")


@dataclass(frozen=True)
class QuestionTable:
    """A file of rows. Raises SnellenError if it cannot be read."""

    path: Path

    def columns(self) -> list[str]:
        """The names of the columns: the header, or the keys of the first rows of JSON."""
        names: dict[str, None] = {}
        for number, row in enumerate(self.rows()):
            names.update(dict.fromkeys(row.cells))
            if number + 1 >= (SAMPLE if ".json" in self.path.name else 1):
                break
        if not names:
            raise SnellenError(f"{self.path}: has no rows; write one question per row")
        return list(names)

    def rows(self) -> Iterator[RawRow]:
        """The rows in order."""
        if fault := file_fault(self.path, MAX_FILE_BYTES):
            raise SnellenError(f"{self.path}: {fault}")
        kind = _kind(self.path)
        with _reading(self.path):
            if kind == ".jsonl" or (kind == ".json" and _first_line_is_object(self.path)):
                yield from map(_with_turns, self._json_lines())
            elif kind == ".json":
                yield from map(_with_turns, self._json_list())
            elif kind in LINE_SUFFIXES:
                yield from self._delimited("\t" if kind == ".tsv" else "")
            else:
                yield from map(_with_turns, self._shard_rows())

    def _row(self, number: int, unit: str, position: int, cells: Any) -> RawRow:
        location = f"{self.path} {unit} {position}"
        if not isinstance(cells, dict):
            return RawRow(self.path, number, location, {}, "not a JSON object with the columns of a row, each once")
        return RawRow(self.path, number, location, {str(name): _cell(cell) for name, cell in cells.items()})

    def _json_lines(self) -> Iterator[RawRow]:
        number = 0
        with _lines(self.path) as lines:
            for place, line in enumerate(lines, 1):
                lines.row_size = 0
                if line.strip():
                    number += 1
                    yield self._row(number, "line", place, _parsed(line))

    def _json_list(self) -> Iterator[RawRow]:
        number = 0
        for key, inner, value in stream_json(self.path, frozenset({"data"})):
            if key in ("", "data") and inner is None:
                number += 1
                yield self._row(number, "row", number, value)

    def _delimited(self, delimiter: str) -> Iterator[RawRow]:
        with files.long_cells(), _lines(self.path) as lines:
            header, separator = table_header(lines)
            delimiter = delimiter or separator
            names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter, strict=True), [])]
            if repeated := next((name for name, count in Counter(names).items() if count > 1), None):
                raise ValueError(f"two columns are called {repeated!r:.60}")
            reader, number, place = csv.reader(lines, delimiter=delimiter, strict=True), 0, 2
            for cells in reader:
                if cells:
                    number += 1
                    row = self._row(number, "line", place, dict(zip(names, cells, strict=False)))
                    fault = f"has {len(cells)} cells, but the header has {len(names)}"
                    yield row if len(cells) <= len(names) else replace(row, fault=fault)
                lines.row_size, place = 0, 2 + reader.line_num

    def _shard_rows(self) -> Iterator[RawRow]:
        shard = open_shard(self.path)
        images = [f.name for f in shard.schema if "binary" in str(f.type) or IN_SHARD.match(f.name)]
        texts = [name for name in shard.schema.names if name not in images]
        names_of_classes = {name: names for name in texts if (names := shard.class_names(name))}
        readers = {name: ShardReader() for name in images}
        count = shard.group_starts[-1] if not texts else None
        for number, cells in enumerate(shard.rows(texts) if count is None else ({} for _ in range(count))):
            for name, names in names_of_classes.items():
                if isinstance(cells[name], int) and 0 <= cells[name] < len(names):
                    cells[name] = names[cells[name]]
            lazy = {name: ShardCell(reader, shard, name, number) for name, reader in readers.items()}
            yield self._row(number + 1, "row", number + 1, cells | lazy)


def find_tables(path: Path) -> list[QuestionTable]:
    """The tables at a path: the file itself, or those in a folder. Raises SnellenError if there are none.

    In a folder with Hugging Face shards, other files are not read: they describe the shards.
    """
    if path.is_file():
        if not _kind(path):
            forms = f"{', '.join(SUFFIXES)}, .parquet, or a folder of such files (a spreadsheet: saved as CSV)"
            raise SnellenError(f"{path}: not a table; give {forms}")
        return [QuestionTable(path)]
    found_paths = find_shards(path) or sorted(
        own_file(path, file)
        for file in path.glob("*")
        if _kind(file) and file.is_file() and not file.name.startswith(".")
    )
    if not found_paths:
        raise SnellenError(f"{path}: no table in this folder ({', '.join(SUFFIXES)}, .parquet)")
    return [QuestionTable(file) for file in found_paths]


def _kind(path: Path) -> str:
    """The suffix that determines the reader, without .gz; empty for other files."""
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if suffixes[-1:] == [".gz"]:
        return suffixes[0] if len(suffixes) == 2 and suffixes[0] in LINE_SUFFIXES else ""
    return suffixes[-1] if suffixes and suffixes[-1] in (*SUFFIXES, ".parquet", ".arrow") else ""


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except SnellenError:
        raise
    except (OSError, EOFError, ValueError, csv.Error, zlib.error, RecursionError, MemoryError) as error:
        reason = printable(str(error).splitlines()[0] if str(error) else type(error).__name__)[:200]
        advice = "save it again" + " as UTF-8" * isinstance(error, UnicodeError)
        raise SnellenError(f"{path}: cannot be read as a table ({reason}); {advice}") from None


@contextmanager
def _lines(path: Path) -> Iterator[TableLines[str]]:
    """The lines of a text file, decompressed if it ends in .gz; what it unpacks to is limited."""
    is_packed = path.suffix.lower() == ".gz"
    with gzip.open(path, "rb") if is_packed else path.open("rb") as file:
        text = io.TextIOWrapper(file, table_encoding(file.peek(2)), newline="\n")
        yield TableLines[str](text, MAX_ROW_BYTES, MAX_LIST_BYTES if is_packed else math.inf)


def _parsed(text: str) -> Any:
    """The JSON value; None if it is none."""
    try:
        return json.loads(bounded_json(text), object_pairs_hook=distinct)
    except (ValueError, RecursionError):
        return None


def _first_line_is_object(path: Path) -> bool:
    """True for JSONL that is called .json."""
    with _lines(path) as lines:
        value = _parsed(next(lines, ""))
    return isinstance(value, dict) and not isinstance(value.get("data"), list)


def _cell(cell: Any) -> Any:
    """The cell, with None for an empty one or NaN."""
    is_empty = cell == "" if isinstance(cell, str) else isinstance(cell, float) and math.isnan(cell)
    return None if is_empty else cell


def _with_turns(row: RawRow) -> RawRow:
    """The row with LLaVA's conversation as one column per speaker."""
    turns = row.cells.get("conversations")
    if not isinstance(turns, Sequence) or isinstance(turns, str):
        return row
    pairs = [(turn.get("from"), turn.get("value")) for turn in turns if isinstance(turn, Mapping)]
    if [speaker for speaker, _ in pairs] != ["human", "gpt"] or len(pairs) < len(turns):
        fault = "`conversations` is not one question (from human) and one answer (from gpt); give one question per row"
        return replace(row, fault=fault)
    cells = {name: cell for name, cell in row.cells.items() if name != "conversations"}
    spoken = {f"{TURN}{speaker}": _cell(value) for speaker, value in pairs}
    return replace(row, cells=cells | spoken)
