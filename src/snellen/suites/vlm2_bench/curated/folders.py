"""Folders of the user's own images and videos, and what is made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import BuildOptions
from snellen.curation.results import StepResult

IMAGES = (".jpg", ".jpeg", ".png", ".webp")


@dataclass(frozen=True)
class CuratedItems:
    """Items, what the card says of how they came about, and the answers they were made from, by input."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    results: Mapping[str, StepResult] = field(default_factory=dict)


def source_folder(options: BuildOptions, name: str, task: str, layout: str) -> Path:
    """Where a source lies. Raises SnellenError that says how it should look."""
    if name not in options.sources:
        raise SnellenError(f"vlm2-bench/{task}: --source {name}=DIR is missing; {layout}")
    if not options.sources[name].is_dir():
        raise SnellenError(f"--source {name}={options.sources[name]}: not a folder; {layout}")
    return options.sources[name]


def add_distinct(media: MediaFolder, paths: Iterable[Path]) -> dict[Path, Media]:
    """Keep image files, each read once. Raises SnellenError where two hold the same bytes.

    The same image of two objects would make a truth false, and twice of one a comparison trivial.
    """
    images: dict[Path, Media] = {}
    by_hash: dict[str, Path] = {}
    for path in paths:
        images[path] = image = media.add_file(path)
        if (other := by_hash.setdefault(image.sha256, path)) != path:
            raise SnellenError(f"{path}: the same image as {other}; keep one of them and replace the other")
    return images


def folders_in(root: Path) -> list[Path]:
    """Folders by name, hidden ones left out; none where `root` is no folder."""
    paths = root.iterdir() if root.is_dir() else ()
    return sorted(path for path in paths if path.is_dir() and not path.name.startswith("."))


def images_in(folder: Path) -> tuple[Path, ...]:
    """Image files (`IMAGES`) by name, hidden ones left out; none where `folder` is no folder."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return tuple(sorted(path for path in paths if path.suffix.lower() in IMAGES and not path.name.startswith(".")))
