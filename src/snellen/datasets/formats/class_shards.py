"""Parquet files of a dataset on the Hugging Face hub, with an image and a class per row; or one folder per class."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.datasets.formats.class_folders import ClassFolders
from snellen.datasets.formats.file_tree import name_below
from snellen.datasets.hub_tables import ShardReader, TableRow, find_shards, label_text, open_shard
from snellen.datasets.inventory import Note
from snellen.datasets.sample import RawSample, labelled_image


@dataclass(frozen=True)
class ClassShards:
    """Settings of the layout. A folder without Parquet or Arrow files is read as `ClassFolders`."""

    object: str
    label: str = "label"

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
        image, column = shard.image_column(), shard.label_column((self.label,))
        for number, row in enumerate(shard.rows([column])):
            if label := label_text(row[column], shard.class_names(column)):
                yield labelled_image(f"{name}#{number}", TableRow(reader, shard, image, number), label, self.object)
            else:
                yield Note("odd", "row without a class", f"{name}#{number}")
