"""Digests of folders and of this package's code: whether something that was made still says what it was made of."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from snellen.core.hashing import digest, sha256

LIBRARIES = ("jinja2", "matplotlib", "numpy", "pandas", "pillow", "pyarrow", "scikit-learn", "scipy")
"""Packages whose version may change a number or a figure."""
UNREAD = ("media", "parts", "lock", "stamp.json", "__pycache__")
"""Names in a run and an item set that tables are made of, or that the hashes in these tables stand for."""


def tree_digest(path: Path) -> str:
    """A digest of a file, or of all files of a folder that tables are made of; of what is not there, one of nothing."""
    return digest([[str(file.relative_to(path)), sha256(file.read_bytes())] for file in tree_files(path)])


@functools.cache
def code_digest() -> str:
    """A digest of this package's own files and of the versions of libraries."""
    package = Path(__file__).parents[1]
    return digest([tree_digest(package), {name: version(name) for name in LIBRARIES}])


def marks_digest(folder: Path) -> str:
    """A digest of names, sizes and times of change of the files two levels down, as media lie: nothing is read."""
    folders = [entry.path for entry in os.scandir(folder) if entry.is_dir()] if folder.is_dir() else []
    stats = ((entry.name, entry.stat()) for path in folders for entry in os.scandir(path))
    return digest(sorted([name, stat.st_size, stat.st_mtime_ns] for name, stat in stats))


def tree_files(path: Path) -> Iterable[Path]:
    """A file itself, or all files of a folder but `UNREAD` ones, in order."""
    return sorted(_walk(path)) if path.is_dir() else [path] if path.is_file() else []


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in UNREAD:
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path
