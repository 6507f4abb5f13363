"""Rows of files with recorded answers, within limits: JSON lines, JSON, CSV, TSV (all also as .gz), XLSX and Parquet.

XLSX is read as zipped XML, which is all that a table of texts needs (ECMA-376, part 1, section 18.3).
"""

from __future__ import annotations

import csv
import errno
import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias
from xml.parsers import expat

from snellen.core.errors import SnellenError
from snellen.core.plain_text import encodable, short_reason
from snellen.core.storage.files import batch_rows, bounded_batches, long_cells
from snellen.core.storage.item_rows import changed
from snellen.core.storage.user_files import (
    MAX_LINES,
    MAX_LIST_BYTES,
    TableLines,
    bounded_json,
    distinct,
    file_fault,
    table_encoding,
    table_header,
)

MAX_LINE = 16 * 2**20
"""Bytes or characters of a line; a cell with an image has some megabytes."""
MAX_JSON_BYTES = MAX_XLSX_BYTES = 256 * 2**20
MAX_ROWS, MAX_COLUMNS = 5_000_000, 16_384
MAX_TOLD, MAX_VALUES, MAX_VALUE = 500, 20, 60
"""Columns among which is one that tells rows apart, its different values, and characters of each."""
ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".xlsx", ".parquet")
MAX_FILLED = 100
"""Columns of XLSX of which an empty cell is an empty text, as in CSV."""
_SHEET = re.compile(r"xl/worksheets/sheet\d{1,4}\.xml")
_REFERENCE = re.compile(r"([A-Z]{1,3})\d{1,7}")
_ESCAPE, _SURROGATE = re.compile(r"_x([0-9A-Fa-f]{4})_"), re.compile(rb"\\u[dD][89a-fA-F]")
_READ_ERRORS = (
    *(OSError, EOFError, zlib.error, ValueError, RecursionError, MemoryError, csv.Error),
    *(zipfile.BadZipFile, NotImplementedError, RuntimeError, LookupError, expat.ExpatError),
)
Row: TypeAlias = Mapping[str, Any]


def read_rows(path: Path) -> Iterator[tuple[int, Row]]:
    """The rows of a file with their numbers from 1, without a head; cells by column.

    Raises SnellenError, which names the row, for a file that is damaged, too large, or of another kind.
    """
    number = 0
    try:
        for number, row in enumerate(_rows(path), 1):
            if number > MAX_ROWS:
                raise ValueError(f"more than {MAX_ROWS} rows; split the file")
            yield number, row
    except _READ_ERRORS as error:
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
        advice = "; save it as UTF-8" * isinstance(error, UnicodeError)
        raise SnellenError(f"{path} row {number + 1}: not readable ({short_reason(reason, 200)}){advice}") from error


def telling_column(path: Path, keys: Mapping[int, Hashable], known_names: Collection[str]) -> tuple[str, list[str]]:
    """The column of a file whose values tell rows with equal keys apart, and its values; empty if there is none.

    `keys` are by the number of a row. It is none of the `known_names`, and has at most `MAX_VALUES` different values.
    """
    rows, columns = [(keys[number], row) for number, row in read_rows(path) if number in keys], []
    for name in [name for name in rows[0][1] if name not in known_names][:MAX_TOLD]:
        cells = [row.get(name) for _, row in rows]
        are_words = all(isinstance(cell, str | int) and 0 < len(str(cell)) <= MAX_VALUE for cell in cells)
        values = list(dict.fromkeys(map(str, cells))) if are_words else []
        if 1 < len(values) <= MAX_VALUES and len({(key, row[name]) for key, row in rows}) == len(rows):
            columns.append((isinstance(cells[0], int), len(values), name, values))
    return min(columns)[2:] if columns else ("", [])


def _rows(path: Path) -> Iterator[Row]:
    if fault := file_fault(path, MAX_LIST_BYTES):
        raise OSError(errno.EINVAL, fault)
    inner = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    ending = inner.suffix.lower()
    if ending not in ENDINGS:
        raise ValueError(f"its name ends in none of {', '.join(ENDINGS)}, .eval; all texts also as .gz")
    if path.suffix.lower() in (".xlsx", ".parquet"):
        yield from _xlsx(path) if ending == ".xlsx" else _parquet(path)
        return
    with gzip.open(path) if inner != path else path.open("rb") as file:
        if ending in (".csv", ".tsv"):
            yield from _table(file, ending)
        elif ending == ".json":
            if len(text := file.read(MAX_JSON_BYTES + 1)) > MAX_JSON_BYTES:
                raise ValueError("more bytes than are read; split the file")
            yield from map(json_object, _listed(_parsed(text)))
        else:
            brackets = 0
            for line in (lines := TableLines[bytes](file, MAX_LINE, MAX_LIST_BYTES)):
                lines.row_size, brackets = 0, brackets + line.count(b"[") + line.count(b"{")
                if brackets > 4 * MAX_ROWS:  # all rows are in memory at once
                    raise ValueError(f"more than {4 * MAX_ROWS} objects and lists; split the file")
                if line.strip():
                    yield json_object(_parsed(line))


def _parsed(text: bytes) -> Any:
    value = json.loads(bounded_json(text, 8 * MAX_ROWS), object_pairs_hook=distinct)
    return changed(value, encodable) if _SURROGATE.search(text) else value


def _parquet(path: Path) -> Iterator[Row]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        for batch in bounded_batches(file):
            yield from batch_rows(batch)


def _listed(content: Any) -> list[Any]:
    """The rows of a list, of `{"data": list}`, or of an object of replies by id (MMMU) or of rows by id.

    A table of Weights & Biases has `columns` beside its `data` (docs.wandb.ai/guides/track/log/log-tables).
    """
    rows, columns = content, None
    if isinstance(content, dict):
        rows, columns = content.get("data", content), content.get("columns")
    if isinstance(rows, list) and isinstance(columns, list):
        return [dict(zip(map(str, columns), row, strict=False)) if isinstance(row, list) else row for row in rows]
    if isinstance(rows, dict) and rows and all(isinstance(cell, str | dict) for cell in rows.values()):
        return [{"id": key, **(cell if isinstance(cell, dict) else {"reply": cell})} for key, cell in rows.items()]
    if not isinstance(rows, list):
        raise ValueError(f"a {type(rows).__name__}, neither a list of objects nor replies by id")
    return rows


def json_object(row: Any) -> Row:
    """The row itself. Raises ValueError if it is no object."""
    if not isinstance(row, dict):
        raise ValueError(f"a {type(row).__name__}, not an object")
    return row


def _table(raw_file: Any, ending: str) -> Iterator[Row]:
    text = io.TextIOWrapper(raw_file, table_encoding(raw_file.peek(2)), newline="")
    with long_cells():
        text_lines = TableLines[str](text, MAX_LINE, MAX_LIST_BYTES)
        header, separator = table_header(text_lines)
        rows = csv.reader(chain([header], text_lines), delimiter="\t" if ending == ".tsv" else separator, strict=True)
        head = _head(next(rows, []))
    while True:
        with long_cells():  # the limit is the process's, so not while others run
            row = next(rows, None)
        text_lines.row_size = 0
        if row is None:
            return
        if len(row) > len(head):
            raise ValueError(f"{len(row)} cells under {len(head)} columns")
        if any("\0" in cell for cell in row):
            raise ValueError("it has NUL bytes; save it as UTF-8")
        if row:
            yield dict(zip(head, row, strict=False))


def _head(cells: list[str]) -> list[str]:
    if not any(cells) or len(cells) > MAX_COLUMNS or len(set(cells)) < len(cells):
        raise ValueError(f"the first row must name the columns, each once, at most {MAX_COLUMNS}")
    return cells


def _xlsx(path: Path) -> Iterator[Row]:
    """The rows of the first sheet; the first row has the names of the columns."""
    with zipfile.ZipFile(path) as archive:
        sheets = sorted((len(name), name) for name in archive.namelist() if _SHEET.fullmatch(name))
        if not sheets:
            raise ValueError("no sheet in it")
        strings = "xl/sharedStrings.xml"
        texts = [text for ((_, text),) in _xml_rows(archive, strings, [])] if strings in archive.NameToInfo else []
        rows = map(dict, _xml_rows(archive, sheets[0][1], texts))
        head = next(rows, {})
        columns = _head([head.get(n, "") for n in range(max(head, default=-1) + 1)])
        for row in rows:
            if row:  # a row may be a few bytes, and the columns thousands
                known = {columns[n]: text for n, text in row.items() if n < len(columns)}
                yield dict.fromkeys(columns[:MAX_FILLED], "") | known


def _xml_rows(archive: zipfile.ZipFile, name: str, texts: Sequence[str]) -> Iterator[list[tuple[int, str]]]:
    """Columns, from 0, and texts of the cells of each row; for shared texts, each as the only cell of a row.

    `texts` are the shared texts.
    """
    rows: list[list[tuple[int, str]]] = []
    cells: list[tuple[Mapping[str, str], list[str]]] = []
    tags: list[str] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        tags.append(tag.rpartition(":")[2])
        if tags[-1] in ("c", "si"):
            cells.append((attributes, []))
        if len(tags) > 50 or len(cells) > MAX_COLUMNS:
            raise ValueError(f"nested too deeply, or more than {MAX_COLUMNS} columns")

    def add(text: str) -> None:
        if cells and tags[-1] in ("v", "t") and "rPh" not in tags:  # rPh: how a text is pronounced
            cells[-1][1].append(text)

    def finish(tag: str) -> None:
        if tags.pop() in ("row", "si"):
            rows.append([_xml_cell(n, *cell, texts) for n, cell in enumerate(cells)])
            cells.clear()

    def refuse(*declaration: Any) -> None:
        raise ValueError("it declares a document type")

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = begin, finish, add
    parser.StartDoctypeDeclHandler = refuse
    if archive.getinfo(name).file_size > MAX_XLSX_BYTES:  # of a member, no more is read than it states
        raise ValueError("more bytes than are read; split the file")
    with archive.open(name) as file:
        count = 0
        # Some versions of expat read a token again from its beginning for each chunk.
        for chunk in chain(iter(lambda: file.read(1 << 24), b""), [b""]):
            parser.Parse(chunk, not chunk)
            if (count := count + len(rows)) > MAX_LINES:  # rows without cells too
                raise ValueError(f"more than {MAX_LINES} rows; split the file")
            yield from rows
            rows.clear()


def _xml_cell(n: int, attributes: Mapping[str, str], parts: Sequence[str], texts: Sequence[str]) -> tuple[int, str]:
    """Column and text of the cell with index `n` in its row. Raises ValueError for odd references."""
    text = "".join(parts)
    if reference := attributes.get("r"):
        if not (match := _REFERENCE.fullmatch(reference)):
            raise ValueError(f"{reference!r:.40} is no cell")
        n = reduce(lambda number, letter: 26 * number + ord(letter) - 64, match.group(1), 0) - 1
    if attributes.get("t") == "s" and text:
        if not 0 <= int(text) < len(texts):
            raise ValueError(f"no shared text {int(text)}")
        return n, texts[int(text)]
    text = {"1": "TRUE", "0": "FALSE"}.get(text, text) if attributes.get("t") == "b" else text
    return n, encodable(_ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), text))
