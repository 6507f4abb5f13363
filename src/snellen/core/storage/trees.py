"""Digests of folders and of this package's code, to tell whether a product is up to date."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.storage.user_files import MAX_LIST_BYTES, file_fault, file_mark

LIBRARIES = ("jinja2", "matplotlib", "numpy", "pandas", "pillow", "pyarrow", "scikit-learn", "scipy")
"""Packages whose versions may change a number or a figure."""
UNREAD = ("media", "parts", "drawing", "lock", "stamp.json", "revealed.json", "__pycache__")
"""Names in a run or item set that digests skip, since the tables or the hashes in them represent their content."""


def refuse_links(root: Path) -> None:
    """Raise SnellenError if what is written in a run or set would be written elsewhere: it may be a stranger's."""
    if link := next((path for path in root.rglob("*") if path.is_symlink()), None):
        raise SnellenError(f"{link}: a link, but what is written in {root.name} stays there; copy what it leads to")


def tree_digest(path: Path) -> str:
    """A digest of a file, or of `tree_files` of a folder; a missing path has the digest of an empty list."""
    return digest([[str(file.relative_to(path)), file_mark(file)] for file in tree_files(path)])


@functools.cache
def code_digest() -> str:
    """A digest of this package's files and of the versions of `LIBRARIES`."""
    package = Path(__file__).parents[2]
    return digest([tree_digest(package), {name: version(name) for name in LIBRARIES}])


def marks_digest(folder: Path) -> str:
    """A digest of names, sizes and modification times of files two levels down, as in a media folder. Reads no file."""
    folders = [entry.path for entry in os.scandir(folder) if entry.is_dir()] if folder.is_dir() else []
    stats = ((entry.name, entry.stat()) for path in folders for entry in os.scandir(path) if entry.is_file())
    return digest(sorted([name, stat.st_size, stat.st_mtime_ns] for name, stat in stats))


def tree_files(path: Path) -> Iterable[Path]:
    """The file itself, or all regular files of a folder but `UNREAD` ones, in order; links to folders are skipped."""
    return sorted(filter(Path.is_file, _walk(path)))


def odd_file(path: Path) -> Path | None:
    """A file in a folder, or the path itself, that is no regular file below 2 GB; None if there is none."""
    return next((file for file in _walk(path) if file_fault(file, MAX_LIST_BYTES)), None)


def _walk(root: Path) -> Iterator[Path]:
    """All files of a folder, of any kind, or the path itself. No link inside is followed: it may lead in a circle."""
    if not root.is_dir():
        yield root
        return
    for path in root.iterdir():
        if path.name in UNREAD:
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        else:
            yield path
