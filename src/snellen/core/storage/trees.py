"""Digests of folders and of this package's code, to tell whether a product is up to date."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from snellen.core.hashing import digest, sha256

LIBRARIES = ("jinja2", "matplotlib", "numpy", "pandas", "pillow", "pyarrow", "scikit-learn", "scipy")
"""Packages whose versions may change a number or a figure."""
UNREAD = ("media", "parts", "drawing", "lock", "stamp.json", "revealed.json", "__pycache__")
"""Names in a run or item set that digests skip, since the tables or the hashes in them represent their content."""


def tree_digest(path: Path) -> str:
    """A digest of a file, or of a folder's files but `UNREAD` ones; a missing path has the digest of an empty list."""
    return digest([[str(file.relative_to(path)), sha256(file.read_bytes())] for file in tree_files(path)])


@functools.cache
def code_digest() -> str:
    """A digest of this package's files and of the versions of `LIBRARIES`."""
    package = Path(__file__).parents[2]
    return digest([tree_digest(package), {name: version(name) for name in LIBRARIES}])


def marks_digest(folder: Path) -> str:
    """A digest of names, sizes and modification times of files two levels down, as in a media folder. Reads no file."""
    folders = [entry.path for entry in os.scandir(folder) if entry.is_dir()] if folder.is_dir() else []
    stats = ((entry.name, entry.stat()) for path in folders for entry in os.scandir(path))
    return digest(sorted([name, stat.st_size, stat.st_mtime_ns] for name, stat in stats))


def tree_files(path: Path) -> Iterable[Path]:
    """The file itself, or all files of a folder but `UNREAD` ones, in order."""
    return sorted(_walk(path)) if path.is_dir() else [path] if path.is_file() else []


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name in UNREAD:
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path
