"""Folders and files in an order that is the same on every machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".gif", ".webp", ".ppm", ".pgm"})
DEPTH = 3
"""An archive may unpack into a folder or two of its own before the layout begins."""


def entries(folder: Path) -> list[Path]:
    """What lies in a folder, by name; hidden files and what macOS leaves in archives left out. Empty: no folder."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith((".", "__MACOSX")))
    except OSError:
        return []


def subfolders(folder: Path) -> list[Path]:
    """The folders in a folder, by name."""
    return [path for path in entries(folder) if path.is_dir()]


def images(folder: Path) -> list[Path]:
    """The image files directly in a folder, by name (by their suffix; nothing is opened)."""
    return [path for path in entries(folder) if path.suffix.lower() in SUFFIXES]


def images_below(folder: Path) -> Iterator[Path]:
    """All image files below a folder: those of a folder first, then its folders in order of name."""
    yield from images(folder)
    for inner in subfolders(folder):
        yield from images_below(inner)


def folders_holding(root: Path, parts: tuple[str, ...], depth: int = DEPTH) -> Iterator[Path]:
    """Folders at most `depth` below the root that hold one of `parts` (relative paths), the root itself included.

    Below such a folder nothing more is looked for.
    """
    if any((root / part).exists() for part in parts):
        yield root
    elif depth:
        for inner in subfolders(root):
            yield from folders_holding(inner, parts, depth - 1)


def name_below(path: Path, root: Path) -> str:
    """The path below the root in POSIX form: what record ids are made of."""
    return path.relative_to(root).as_posix()


def masks_by_image(folder: Path) -> dict[str, list[Path]]:
    """Mask files of a folder by the stem of the image they mark.

    `7.png`, `7_mask.png`, `7_mask2.png` and every image in the folder `7` mark the image whose stem is 7: MVTec AD,
    AITEX and MVTec LOCO AD write so.
    """
    masks: dict[str, list[Path]] = {}
    for path in entries(folder):
        if path.is_dir():
            masks.setdefault(path.name, []).extend(images(path))
        elif path.suffix.lower() in SUFFIXES:
            masks.setdefault(re.sub(r"_mask\d*$", "", path.stem), []).append(path)
    return masks
