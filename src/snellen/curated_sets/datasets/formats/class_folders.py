"""One folder per class, possibly inside further folders of an archive."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.datasets.formats.file_tree import SPLITS, entries, images, name_below, subfolders
from snellen.datasets.hub_tables import ShardReader, TableRow, find_shards, label_text, open_shard
from snellen.datasets.image_files import ImageFile
from snellen.datasets.sample import Note, RawSample, labelled_image


@dataclass(frozen=True)
class ClassFolders:
    """Settings of the layout. The class is the nearest folder around the image that is not a split (`SPLITS`).

    `between` is the number of folders between a class and its images (Fabrics: one, the sample). If the root has a
    folder called `only`, nothing else is read: the other folders contain the same images again. Images in the folders
    `not_classes` have no class and are left out.
    """

    object: str
    between: int = 0
    only: str = ""
    not_classes: tuple[str, ...] = ()

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Folders and images by name."""
        tops = subfolders(root)
        selected = [folder for folder in tops if folder.name == self.only]
        if not selected:
            yield from self._folder(root, root)
            return
        for folder in tops:
            if folder in selected:
                yield from self._folder(root, folder)
            else:
                yield Note("left out", f"duplicate of {self.only}", name_below(folder, root))

    def _folder(self, root: Path, folder: Path) -> Iterator[RawSample | Note]:
        label = self._label(root, folder)
        for path in images(folder):
            if label in self.not_classes:
                yield Note("left out", f"image in {label}", name_below(path, root))
            elif label:
                yield labelled_image(name_below(path, root), ImageFile(path), label, self.object)
            else:
                yield Note("odd", "image outside a class folder", name_below(path, root))
        below = subfolders(folder)
        for subfolder in below:
            yield from self._folder(root, subfolder)
        if not below and folder != root and not any(path.is_file() for path in entries(folder)):
            yield Note("odd", "class without images", name_below(folder, root))

    def _label(self, root: Path, folder: Path) -> str:
        names = folder.relative_to(root).parts
        names = names[: len(names) - self.between] if self.between else names
        return next((name for name in reversed(names) if name.lower() not in SPLITS), "")


@dataclass(frozen=True)
class ClassShards:
    """Settings of the layout: Parquet files of the Hugging Face hub, with an image and a class per row.

    A folder without Parquet or Arrow files is read as `ClassFolders`.
    """

    object: str

    def scan(self, root: Path) -> Iterator[RawSample | Note]:
        """See `Reader`. Files by name, rows in order. Files are counted against the number in their names."""
        paths, reader = find_shards(root), ShardReader()
        if not paths:
            yield from ClassFolders(self.object).scan(root)
        numbered = Counter(match.groups() for path in paths if (match := re.match(r"(.+)-\d+-of-(\d+)", path.name)))
        for (stem, total), present in sorted(numbered.items()):
            if present < int(total):
                yield Note("missing", "files of a numbered series", f"{stem}: {present} of {int(total)}")
        for path in paths:
            try:
                yield from self._rows(root, path, reader)
            except SnellenError as error:
                yield Note("unreadable", "not a table of images and classes", str(error))

    def _rows(self, root: Path, path: Path, reader: ShardReader) -> Iterator[RawSample | Note]:
        shard, name = open_shard(path), name_below(path, root)
        image, column = shard.image_column(), shard.label_column(("label",))
        for number, row in enumerate(shard.rows([column])):
            if label := label_text(row[column], shard.class_names(column)):
                yield labelled_image(f"{name}#{number}", TableRow(reader, shard, image, number), label, self.object)
            else:
                yield Note("odd", "row without a class", f"{name}#{number}")
