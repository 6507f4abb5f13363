"""Boxes in Hugging Face dataset folders: a column `objects` with bbox and category for each image."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.storage.media import open_image
from snellen.datasets.fitting import fit_annotations
from snellen.datasets.hub_tables import ShardReader, TableRow, TableShard, class_names, label_text, open_shard
from snellen.datasets.own_images import CLASS_COLUMNS, clean_label, shard_name, shown_name
from snellen.datasets.sample import Annotation, Note, RawSample

OBJECT_COLUMNS = ("objects", "annotations", "boxes")
BOX_FIELDS, CATEGORY_FIELDS = ("bbox", "box"), ("category", *CLASS_COLUMNS)
MAX_OBJECTS = 10_000
"""Maximum per image."""


def read_hub_boxes(root: Path, shards: Sequence[Path]) -> Iterator[RawSample | Note]:
    """One sample per row. Boxes are [x, y, width, height] in pixels, as in COCO.

    Further fields of an object are those of a CSV file of boxes (`own_boxes`), as text in `extra`. Each image's header
    is read. Raises SnellenError for shards without such columns.
    """
    reader = ShardReader()
    for shard in map(open_shard, shards):
        image_column, object_column = shard.image_column(), shard.find_column(OBJECT_COLUMNS)
        if not object_column:
            raise SnellenError(f"{shard.path}: no column 'objects' with bbox and category; it has {shard.columns()}")
        names = _category_names(shard, object_column)
        for number, row in enumerate(shard.rows([object_column])):
            record = f"{shown_name(shard_name(root, shard.path))}#{number}"
            image = TableRow(reader, shard, image_column, number)
            yield from _sample(record, image, row[object_column], names)


def _category_names(shard: TableShard, column: str) -> tuple[str, ...] | None:
    """Names of the category numbers; `datasets` nests features of lists in several ways."""
    feature = shard.features.get(column)
    for _ in range(8):
        if not isinstance(feature, Mapping):
            return None
        if field := next((name for name in CATEGORY_FIELDS if name in feature), None):
            return class_names(feature[field])
        feature = feature.get("feature")
    return None


def _sample(record: str, table_row: TableRow, cell: Any, names: tuple[str, ...] | None) -> Iterator[RawSample | Note]:

    try:
        raw, _ = table_row.read(record)
        with open_image(io.BytesIO(raw)) as header:
            size = header.size
    except Exception:  # noqa: BLE001  # a damaged image may raise any exception
        yield Note("unreadable", "not a readable image", shown_name(record))
        return
    entries = _entries(cell)
    annotations, lost = [], max(0, len(entries) - MAX_OBJECTS)
    if lost:
        yield Note("odd", f"more than {MAX_OBJECTS} objects", shown_name(record))
    for entry in entries[:MAX_OBJECTS]:
        annotation = _annotation(entry, names)
        if annotation is None:
            lost += 1
            yield Note("odd", "object without a category or four numbers", shown_name(record))
        else:
            annotations.append(annotation)
    fitted, notes = fit_annotations(annotations, size, shown_name(record))
    yield from notes
    lost += len(annotations) - len(fitted)
    yield RawSample(record_id=record, image=table_row, annotations=fitted, size=size, lost=lost)


def _entries(cell: Any) -> list[Mapping[str, Any]]:
    """Objects one by one, from a list of objects or from lists of their fields; missing fields are None.

    An invalid entry is returned empty, so that it still counts as an object.
    """
    if isinstance(cell, Mapping):
        columns = {name: column for name, column in cell.items() if isinstance(column, list)}
        count = max(map(len, columns.values()), default=0)
        return [{name: c[n] if n < len(c) else None for name, c in columns.items()} for n in range(count)]
    return [entry if isinstance(entry, Mapping) else {} for entry in cell] if isinstance(cell, list) else [{}]


def _annotation(entry: Mapping[str, Any], names: tuple[str, ...] | None) -> Annotation | None:
    box = next((entry[name] for name in BOX_FIELDS if entry.get(name) is not None), None)
    category = next((entry[name] for name in CATEGORY_FIELDS if entry.get(name) is not None), None)
    label = clean_label(label_text(category, names)) if names or isinstance(category, str) else ""
    if not label or not isinstance(box, list) or len(box) != 4 or not all(isinstance(s, int | float) for s in box):
        return None
    x, y, width, height = map(float, box)
    extra = {name: str(field) for name, field in entry.items() if field is not None and not isinstance(field, list)}
    return Annotation(label, (x, y, x + width, y + height), extra=extra)
