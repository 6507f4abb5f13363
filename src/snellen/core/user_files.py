"""Files that users point at, read whole: no larger, and no deeper, than they can be without meaning harm."""

from __future__ import annotations

import errno
import os
from pathlib import Path

MAX_LIST_BYTES = 2_000_000_000
"""Of a list of records as datasets and other tools write them: LLaVA's own has 1.03 GB."""
MAX_YAML_BYTES = 2_000_000
"""Of a file written by hand; reading so much takes half a minute."""


def read_bytes(path: Path, limit: int = MAX_LIST_BYTES) -> bytes:
    """The bytes of a file. Raises OSError, which says so, where there are more than `limit`."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        raw = b"" if size > limit else file.read() if path.is_file() else file.read(limit + 1)  # a pipe has no size
    if max(size, len(raw)) > limit:
        raise OSError(errno.EFBIG, f"more than the {limit} bytes that are read; split it or shrink it", str(path))
    return raw


def read_text(path: Path, encoding: str = "utf-8", limit: int = MAX_LIST_BYTES) -> str:
    """The text of a file. Raises OSError as `read_bytes` does, and UnicodeDecodeError."""
    return read_bytes(path, limit).decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
