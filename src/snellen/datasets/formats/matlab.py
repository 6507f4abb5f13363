"""Variables of MATLAB files, versions 4 to 7.2."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from snellen.core.storage.user_files import read_bytes

T = TypeVar("T")
MAX_BYTES = 200_000_000
"""Limit of a file's size, packed and unpacked; the largest in the supported layouts has a few million bytes."""
MAX_DEPTH = 50
"""Limit of nested cells and structures: `loadmat` crashes the process at a few thousand."""
_HEADER, _COMPRESSED, _MATRIX = 128, 15, 14


def read_variable(path: Path, variable: str, read: Callable[[Any], T]) -> T | str:
    """The result of `read` for the variable, a NumPy array of one dimension, or the problem with the file."""
    import scipy.io

    try:
        raw = read_bytes(path, MAX_BYTES)
        if fault := _fault(raw):
            return fault
        variables = scipy.io.loadmat(io.BytesIO(raw), variable_names=[variable])  # type: ignore[arg-type]
        return read(variables[variable].reshape(-1))
    except FileNotFoundError:
        return "file of the layout is missing"
    except OSError as error:
        return f"unreadable MATLAB file ({error.strerror})"
    except NotImplementedError:
        return "MATLAB 7.3 file, which is not supported; save it again in MATLAB with -v7"
    except KeyError:
        return f"MATLAB file without the variable {variable}"
    except Exception as error:  # noqa: BLE001  # loadmat may raise anything for a damaged file
        return f"not a readable MATLAB file ({type(error).__name__}); copy it again"


def _fault(raw: bytes) -> str | None:
    """The reason why a file of version 5 must not be passed to `loadmat`, or None; `loadmat` finds other problems.

    Elements consist of a type, a size (4 bytes each) and content; a compressed one contains another element.
    """
    order = {b"IM": "<", b"MI": ">"}.get(raw[126:128])
    if order is None:  # version 4 has neither structures nor compression
        return None
    unpacked_bytes = len(raw)
    try:
        for kind, content in _elements(memoryview(raw)[_HEADER:], order):
            if kind == _COMPRESSED:
                unpacked = zlib.decompressobj().decompress(content, MAX_BYTES + 1)
                unpacked_bytes += len(unpacked)
                if unpacked_bytes > MAX_BYTES:
                    return f"MATLAB file that unpacks to more than the limit of {MAX_BYTES} bytes"
                content = memoryview(unpacked)
            elif kind == _MATRIX:
                content = memoryview(struct.pack(f"{order}II", kind, len(content)) + content)
            if _is_deep(content, order):
                return f"MATLAB file with more than {MAX_DEPTH} nested levels"
    except (zlib.error, struct.error):
        return "not a readable MATLAB file (truncated or damaged); copy it again"
    return None


def _is_deep(content: memoryview, order: str) -> bool:
    levels = [_elements(content, order)]
    while levels:
        kind, inner = next(levels[-1], (0, content))
        if kind == _MATRIX:
            levels.append(_elements(inner, order))
        elif kind == 0:
            levels.pop()
        if len(levels) > MAX_DEPTH:
            return True
    return False


def _elements(content: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """(type, content) of each element; a small one has its size in the upper half of the type."""
    place = 0
    while place + 8 <= len(content):
        kind, size = struct.unpack_from(f"{order}II", content, place)
        if kind >> 16:
            kind, size, place = kind & 0xFFFF, 0, place + 8
        else:
            place += 8
        yield kind or -1, content[place : place + size]
        place += size if kind == _COMPRESSED else -(-size // 8) * 8
