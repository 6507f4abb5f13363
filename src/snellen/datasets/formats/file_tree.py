"""Folders and files in the same order on every machine."""

from __future__ import annotations

from collections.abc import Container, Iterator
from pathlib import Path
from unicodedata import normalize
from urllib.parse import unquote

from snellen.core.storage.user_files import file_fault
from snellen.datasets.sample import MissingFiles, Note

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".gif", ".webp", ".ppm", ".pgm"})
SPLITS = frozenset({"train", "training", "test", "testing", "val", "valid", "validation", "images", "image"})
DEPTH = 3
"""Maximum depth of a layout's root: archives may unpack into one or two further folders."""


def name_on_disk(folder: Path, name: str) -> str:
    """The name by which a folder has a file; the same name if it has none.

    Other systems write backslashes for /, percent-encoded characters, and accents composed or as marks of their own.
    """
    plain = name.replace("\\", "/")
    spellings = [normalize(form, spelling) for spelling in (plain, unquote(plain)) for form in ("NFC", "NFD")]
    return next((spelling for spelling in (name, plain, *spellings) if not file_fault(folder / spelling)), name)


def entries(folder: Path) -> list[Path]:
    """The entries of a folder by name, without hidden files and macOS's archive remnants. Empty if it is no folder."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "__MACOSX")))
    except OSError:
        return []


def subfolders(folder: Path) -> list[Path]:
    """The folders in a folder, by name."""
    return [path for path in entries(folder) if path.is_dir()]


def images(folder: Path) -> list[Path]:
    """The image files directly in a folder, by name (by suffix; nothing is opened)."""
    return [path for path in entries(folder) if path.suffix.lower() in SUFFIXES]


def files_below(folder: Path, suffixes: Container[str]) -> Iterator[Path]:
    """All files with these suffixes in a folder and its subfolders: its own files first, then subfolders by name."""
    yield from (path for path in entries(folder) if path.suffix.lower() in suffixes)
    for inner in subfolders(folder):
        yield from files_below(inner, suffixes)


def images_below(folder: Path) -> Iterator[Path]:
    """All image files in a folder and its subfolders."""
    return files_below(folder, SUFFIXES)


def folders_holding(root: Path, parts: tuple[str, ...], depth: int = DEPTH) -> Iterator[Path]:
    """Folders at most `depth` below the root that contain one of `parts` (relative paths), including the root.

    The search stops at such a folder.
    """
    if any((root / part).exists() for part in parts):
        yield root
    elif depth:
        for inner in subfolders(root):
            yield from folders_holding(inner, parts, depth - 1)


def layout_folders(root: Path, parts: tuple[str, ...], what: str) -> Iterator[Path]:
    """As `folders_holding`. Raises MissingFiles if there are none; `what` is a noun for the parts."""
    empty = True
    for folder in folders_holding(root, parts):
        empty = False
        yield folder
    if empty:
        raise MissingFiles(Note("missing", f"no {what} {' or '.join(parts)}", str(root)))


def layout_folder(root: Path, parts: tuple[str, ...], what: str) -> Path:
    """The first of `layout_folders`."""
    return next(layout_folders(root, parts, what))


def name_below(path: Path, root: Path) -> str:
    """The path relative to the root in POSIX form, from which record ids are made."""
    return path.relative_to(root).as_posix()
