"""Reading files within size limits.

A file that the user names may be a pipe. Files that are found in a folder, which may be a stranger's, are read only if
they are regular: a pipe or a device might never end.
"""

from __future__ import annotations

import ast
import codecs
import csv
import errno
import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, AnyStr

from snellen.core.errors import SnellenError

MAX_LIST_BYTES = 2_000_000_000
"""Limit of a list of records of a dataset or another tool; LLaVA's has 1.03 GB."""
MAX_MEDIA_BYTES = 200_000_000
"""Limit of an image or a video."""
MAX_CARD_BYTES = 100_000_000
"""Limit of a folder's card."""
MAX_YAML_BYTES = 2_000_000
"""Limit of a file written by hand; reading a file of this size takes half a minute."""
MAX_DATASET_BYTES = 10**12
"""Limit of a file that is read piece by piece."""
MAX_VALUES, MAX_CARD_VALUES = 40_000_000, 4_000_000
"""Values of a JSON text, and of a card: an empty list takes 60 bytes as data, and 280 while pydantic reads it."""
MAX_CELLS = 1_000_000
"""Values of a list in a cell of a table."""
MAX_LITERAL = 100_000
"""Characters of a Python list: its parser takes much memory."""
MAX_LINES = 10_000_000
"""Lines of a table, blank ones too: a compressed file of a megabyte may have a billion."""
_PIECE = 1_000_000


def file_fault(path: Path, limit: int = MAX_MEDIA_BYTES) -> str:
    """The reason why a file is not read, or an empty text. It is not opened: a pipe or device might never end."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return "there is no such file"
    if not stat.S_ISREG(status.st_mode):
        return "not a file"
    return f"file of more than {limit // 1_000_000} MB" if status.st_size > limit else ""


def is_file(path: Path) -> bool:
    """True for a regular file; False also for a name that a file cannot have, for which `Path.is_file` raises."""
    return not file_fault(path, MAX_DATASET_BYTES)


def refuse_irregular(path: Path, limit: int = MAX_DATASET_BYTES) -> None:
    """Raise OSError with the reason of `file_fault`: FileNotFoundError for a missing file."""
    if fault := file_fault(path, limit):
        raise OSError(errno.EINVAL if path.exists() else errno.ENOENT, fault, str(path))


def read_file(path: Path, limit: int = MAX_MEDIA_BYTES) -> bytes:
    """The bytes of a regular file. Raises OSError as `refuse_irregular`."""
    refuse_irregular(path, limit)
    return path.read_bytes() if path.stat().st_size else b""  # some files in /proc state no size and never end


def file_mark(path: Path) -> str:
    """SHA-256 of a regular file, which is never whole in memory, or else the reason why it is not read."""
    if fault := file_fault(path, MAX_LIST_BYTES):
        return fault
    checksum, left = hashlib.sha256(), path.stat().st_size
    with path.open("rb") as file:
        while piece := file.read(min(left, _PIECE)):
            checksum.update(piece)
            left -= len(piece)
    return checksum.hexdigest()


def read_bytes(path: Path, limit: int = MAX_LIST_BYTES) -> bytes:
    """The bytes of a file. Raises OSError if there are more than `limit`."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        raw = b"" if size > limit else file.read() if path.is_file() else file.read(limit + 1)  # a pipe has no size
    if max(size, len(raw)) > limit:
        raise OSError(errno.EFBIG, f"more than the {limit} bytes that are read; split it or shrink it", str(path))
    return raw


def leads_outside(name: str) -> bool:
    """True if a path in a file leads out of the folder that it is relative to: the file may be a stranger's."""
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts


def own_file(folder: Path, path: Path) -> Path:
    """The path of a file that was found in a folder, which may be a stranger's.

    Raises SnellenError for a link to a file elsewhere, whose content would be published with the folder's. Snapshots in
    the Hub's cache link to `blobs` beside them.
    """
    target, root = path.resolve(), folder.resolve()
    places = [root, *(place.parent / "blobs" for place in root.parents if place.name == "snapshots")]
    if not any(map(target.is_relative_to, places)):
        raise SnellenError(f"{path}: a link to a file outside of {folder}; copy the file there if you trust it")
    return path


def bounded_json(json_text: AnyStr, limit: int = 0) -> AnyStr:
    """The JSON text itself. Raises ValueError if its brackets and commas are more than `limit` (0: `MAX_VALUES`)."""
    limit = limit or MAX_VALUES
    marks: Any = {str: "[{,", bytes: (b"[", b"{", b",")}.get(type(json_text), "")
    if len(json_text) > limit and sum(json_text.count(mark) for mark in marks) > limit:
        raise ValueError(f"more than {limit} values in one text; split it")
    return json_text


def bounded_literal(text: str) -> Any:
    """The Python literal; a long one only if it is a list of texts without quotes in them, such as base64."""
    return ast.literal_eval(text) if len(text) <= MAX_LITERAL else bounded_list(text.replace("'", '"'))


def bounded_list(json_text: str) -> Any:
    """What a cell of a table holds as JSON, with at most `MAX_CELLS` values."""
    return json.loads(bounded_json(json_text, MAX_CELLS))


class TableLines(Iterator[AnyStr]):
    """The lines of an open table: at most `MAX_LINES`, and `left` characters in all.

    `row_size` is that of the lines since the reader set it to 0, at most `longest`.
    """

    def __init__(self, file: Any, longest: int, left: float = MAX_LIST_BYTES) -> None:
        self.file, self.longest, self.left, self.row_size, self.count = file, longest, left, 0, 0

    def __next__(self) -> AnyStr:
        line: AnyStr = self.file.readline(self.longest + 1)
        if not line:
            raise StopIteration
        self.count, self.row_size, self.left = self.count + 1, self.row_size + len(line), self.left - len(line)
        if self.row_size > self.longest:
            raise ValueError(f"a line of more than {self.longest} characters, or a quotation mark that is not closed")
        if self.count > MAX_LINES or self.left < 0:
            raise ValueError(f"more than {MAX_LINES} lines, or more bytes than are read; split the file")
        return line


def unfilled_rows(reader: csv.DictReader[str]) -> Iterator[tuple[int, dict[Any, str]]]:
    """Line and cells of each row, extra cells under None. Unfilled: a row may be a byte, and its header millions."""
    names = [*(reader.fieldnames or ()), None]
    return ((reader.reader.line_num, dict(zip(names, row, strict=False))) for row in reader.reader if row)


def distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object of a JSON text (`object_pairs_hook`). Raises ValueError for a key that is there twice."""
    cells = dict(pairs)
    if len(cells) < len(pairs):
        raise ValueError(f"an object has the key {Counter(name for name, _ in pairs).most_common(1)[0][0]!r:.60} twice")
    return cells


def table_header(lines: Iterator[str]) -> tuple[str, str]:
    """The line of a table that names its columns, and the separator: the most frequent of comma, semicolon and tab.

    Excel may state the separator in a line above (`sep=;`).
    """
    header = next(lines, "")
    stated = header.strip().lower().removeprefix("sep=")
    if header[:4].lower() == "sep=" and len(stated) == 1:
        return next(lines, ""), stated
    return header, max(",;\t", key=header.count)


def table_encoding(start: bytes) -> str:
    """The encoding of a user's table by its first bytes: UTF-16 where its mark stands (Excel's "Unicode text")."""
    return "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def read_text(path: Path, encoding: str = "utf-8", limit: int = MAX_LIST_BYTES, *, regular: bool = False) -> str:
    """The text of a file; with "utf-8-sig", of one that another program wrote (`table_encoding`).

    Raises OSError as `read_bytes`, or as `read_file` for a `regular` one; UnicodeDecodeError.
    """
    raw = (read_file if regular else read_bytes)(path, limit)
    text = raw.decode(table_encoding(raw) if encoding == "utf-8-sig" else encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n")
