"""Variables of MATLAB files, versions 5 to 7.2: numbers, texts, cells and structures.

They are read here because `scipy.io.loadmat` crashes the process on some damaged files. A file consists of elements: a
type and a size of 4 bytes each, and content (MathWorks, MAT-File Format).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, TypeVar

from snellen.core.storage.user_files import read_file

T = TypeVar("T")
MAX_BYTES = 200_000_000
"""Limit of a file's size, packed and unpacked; the largest in the supported layouts has a few million bytes."""
MAX_DEPTH, MAX_ELEMENTS = 50, 200_000
"""Limits of nested cells and structures, and of the parts of each: 8 bytes of a file take 760 in memory."""
_HEADER, _COMPRESSED, _MATRIX = 128, 15, 14
_CELL, _STRUCT, _CHAR, _NUMERIC = 1, 2, 4, range(6, 16)
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_ENCODINGS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16"}


def read_variable(path: Path, variable: str, read: Callable[[Any], T]) -> T | str:
    """The result of `read` for the value of the variable, or the problem with the file.

    A value is a NumPy array of numbers of one dimension, a text, a list of values (cells), or a list of mappings from
    field to a function that reads its value (structures: lexicons of IIIT5K have millions of words).
    """
    try:
        raw = read_file(path, MAX_BYTES)
        if raw[124:128] in (b"\x00\x02IM", b"\x02\x00MI"):
            return "MATLAB 7.3 file, which is not supported; save it again in MATLAB with -v7"
        matrix = _find(raw, variable)
        return f"MATLAB file without the variable {variable}" if matrix is None else read(_value(*matrix))
    except FileNotFoundError:
        return "file of the layout is missing"
    except OSError as error:
        return f"unreadable MATLAB file ({error.strerror})"
    except (ValueError, TypeError, LookupError, StopIteration, struct.error, zlib.error) as error:
        reason = str(error) if isinstance(error, ValueError) else "damaged"
        return f"not a readable MATLAB file ({reason}); copy it again"


def _find(raw: bytes, variable: str) -> tuple[list[tuple[int, memoryview]], str] | None:
    """The parts of the matrix of this name and the byte order; None if there is none. Raises ValueError for damage."""
    order = {b"IM": "<", b"MI": ">"}.get(raw[126:128])
    if order is None:
        raise ValueError("not of version 5 to 7.2")
    unpacked_bytes = len(raw)
    for kind, content in _elements(memoryview(raw)[_HEADER:], order):
        if kind == _COMPRESSED:
            unpacker = zlib.decompressobj()
            unpacked = unpacker.decompress(content, MAX_BYTES + 1)
            unpacked_bytes += len(unpacked)
            if unpacked_bytes > MAX_BYTES:
                raise ValueError(f"it unpacks to more than {MAX_BYTES} bytes")
            if not unpacker.eof:
                raise ValueError("truncated")
            kind, content = next(_elements(memoryview(unpacked), order))
        parts = list(_elements(content, order)) if kind == _MATRIX else []
        if len(parts) > 2 and bytes(parts[2][1]) == variable.encode():
            return parts, order
    return None


def _value(elements: list[tuple[int, memoryview]], order: str, depth: int = 0) -> Any:
    """The value of a matrix: its elements are flags, dimensions, name, and what its class has."""
    import numpy as np

    if depth > MAX_DEPTH:
        raise ValueError(f"more than {MAX_DEPTH} nested levels")
    if not elements:  # an empty cell
        return []
    (_, flags), (_, sizes), _, *content = elements
    matrix_class = struct.unpack_from(f"{order}I", flags)[0] & 0xFF
    count = prod(size for (size,) in struct.iter_unpack(f"{order}I", sizes))
    if matrix_class == _CHAR:
        value: Any = "".join(_text(kind, part, order) for kind, part in content)
    elif matrix_class in _NUMERIC:
        numbers = [np.frombuffer(part, f"{order}{_NUMBERS[kind]}") for kind, part in content[:1]]
        value = numbers[0].astype(np.float64) if numbers else np.zeros(0)
    elif matrix_class == _CELL:
        value = [_inner(part, order, depth) for _, part in content]
    elif matrix_class == _STRUCT:
        (_, width), (_, names), *cells = content
        step = max(struct.unpack_from(f"{order}I", width)[0], 1)
        fields = [bytes(names[at : at + step]).partition(b"\0")[0].decode() for at in range(0, len(names), step)]
        readers = [partial(_inner, part, order, depth) for _, part in cells]
        rows = [readers[at : at + len(fields)] for at in range(0, len(readers), len(fields))]
        value = [dict(zip(fields, row, strict=True)) for row in rows]
    else:
        raise ValueError(f"a matrix of class {matrix_class}")
    if len(value) != count:
        raise ValueError(f"{len(value)} values instead of {count}")
    return value


def _inner(content: memoryview, order: str, depth: int) -> Any:
    return _value(list(_elements(content, order)), order, depth + 1)


def _text(element_type: int, content: memoryview, order: str) -> str:
    encoding = _ENCODINGS[element_type]
    return bytes(content).decode(f"{encoding}-{'le' if order == '<' else 'be'}" if encoding == "utf-16" else encoding)


def _elements(content: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """(type, content) of each element; a small one has its size in the upper half of the type, and 4 bytes."""
    place = count = 0
    while place + 8 <= len(content):
        count += 1
        if count > MAX_ELEMENTS:
            raise ValueError(f"more than {MAX_ELEMENTS} values in one place")
        kind, size = struct.unpack_from(f"{order}II", content, place)
        start = place + 8
        place = start + (size if kind == _COMPRESSED else -(-size // 8) * 8)
        if kind >> 16:
            kind, size, start, place = kind & 0xFFFF, kind >> 16, start - 4, start
        if start + size > min(len(content), max(place, start)):
            raise ValueError("truncated")
        yield kind, content[start : start + size]
