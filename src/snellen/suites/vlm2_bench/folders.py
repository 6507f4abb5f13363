"""Folders of the user's images and videos, and the items made from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.item import Item, Media
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.curation.draws import shuffled
from snellen.curation.results import StepResult
from snellen.suites.vlm2_bench.items import STREAMS, SUITE

IMAGES = (".jpg", ".jpeg", ".png", ".webp")


@dataclass(frozen=True)
class CuratedItems:
    """Items, notes for the card, and the results of steps that they were made from, by input."""

    items: tuple[Item, ...]
    notes: tuple[str, ...] = ()
    results: Mapping[str, StepResult] = field(default_factory=dict)


def source_folder(options: BuildOptions, name: str, task: str, layout: str) -> Path:
    """The folder of a source. Raises SnellenError describing the layout if it is missing."""
    if name not in options.sources:
        raise SnellenError(f"vlm2-bench/{task}: --source {name}=DIR is missing; {layout}")
    if not options.sources[name].is_dir():
        raise SnellenError(f"--source {name}={options.sources[name]}: not a folder; {layout}")
    return options.sources[name]


def add_distinct(media: MediaFolder, paths: Iterable[Path]) -> dict[Path, Media]:
    """Store image files, each read once. Raises SnellenError if two have the same bytes.

    The same image for two objects would make the truth wrong, and twice for one object would make a comparison trivial.
    """
    images: dict[Path, Media] = {}
    by_hash: dict[str, Path] = {}
    for path in paths:
        images[path] = image = media.add_file(path)
        if (other := by_hash.setdefault(image.sha256, path)) != path:
            raise SnellenError(f"{path}: the same image as {other}; keep one of them and replace the other")
    return images


def folders_in(root: Path) -> list[Path]:
    """Folders sorted by name, without hidden ones; empty if `root` is not a folder."""
    paths = root.iterdir() if root.is_dir() else ()
    return sorted(path for path in paths if path.is_dir() and not path.name.startswith("."))


def images_in(folder: Path) -> tuple[Path, ...]:
    """Image files (`IMAGES`) sorted by name, without hidden ones; empty if `folder` is not a folder."""
    paths = folder.iterdir() if folder.is_dir() else ()
    return tuple(sorted(path for path in paths if path.suffix.lower() in IMAGES and not path.name.startswith(".")))


def at_most(items: list[Item], options: BuildOptions) -> list[Item]:
    """With --n, at most n groups per task (a pair of Mat, Trk or Cpr is one), drawn by the seed, in their order."""
    if options.n is None or not items or items[0].suite != SUITE:
        return items
    options.need_items(SUITE)
    group_ids: set[str] = set()
    for task in dict.fromkeys(item.task for item in items):
        groups = list(dict.fromkeys(item.group_id for item in items if item.task == task))
        group_ids |= {*shuffled(groups, stream(SUITE, STREAMS, options.seed, "at most", task))[: options.n]}
    return [item for item in items if item.group_id in group_ids]
