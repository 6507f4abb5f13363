"""Annotation tables: captions, boxes, votes and decisions about the items of a set, with an author and a hash.

An item set is never edited. Later additions go into a separate table, keyed to the set's content hash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.storage import files
from snellen.core.storage.itemset import ItemSet


@dataclass(frozen=True)
class Annotations:
    """Rows by item id. `about` is the content hash of the item set, `hash` that of the rows."""

    name: str
    author: str
    about: str
    rows: Mapping[str, Mapping[str, Any]]

    @property
    def hash(self) -> str:
        """Digest of the whole table."""
        return digest([self.name, self.author, self.about, {key: dict(row) for key, row in self.rows.items()}])


def write_annotations(path: Path, annotations: Annotations) -> None:
    """Write a table as Parquet: `item_id`, and the row as JSON text."""
    rows = [{"item_id": key, "row": json.dumps(dict(row), sort_keys=True)} for key, row in annotations.rows.items()]
    table = pa.Table.from_pylist(rows, pa.schema({"item_id": pa.string(), "row": pa.string()}))
    metadata = {key: getattr(annotations, key) for key in ("name", "author", "about", "hash")}
    files.write_table(path, table.replace_schema_metadata({"snellen": json.dumps(metadata)}))


def read_annotations(path: Path, items: ItemSet) -> Annotations:
    """Read a table about `items`. Raises SnellenError if it is about another set, altered, or names unknown items."""
    table = files.read_table(path)
    try:
        metadata = json.loads((table.schema.metadata or {}).get(b"snellen", b"{}"))
    except (ValueError, RecursionError):
        metadata = {}
    facts = {"name", "author", "about", "hash"}
    if table.column_names != ["item_id", "row"] or not isinstance(metadata, dict) or metadata.keys() != facts:
        raise SnellenError(f"{path}: not an annotation table; make it with a run or import a CSV")
    files.refuse_vast_json(path, [table.column("row")])
    try:
        rows = {str(row["item_id"]): {**json.loads(row["row"])} for row in table.to_pylist()}
        annotations = Annotations(metadata["name"], metadata["author"], metadata["about"], rows)
        is_altered = annotations.hash != metadata["hash"]
    except (ValueError, TypeError, RecursionError) as error:
        raise SnellenError(f"{path}: a row is not a JSON object ({error}); make the table again") from error
    if is_altered:
        raise SnellenError(f"{path}: altered after it was written; make it again")
    if annotations.about != items.card.content_hash:
        raise SnellenError(f"{path}: annotates a different item set from {items.root}; make it again for this one")
    if unknown := next((key for key in annotations.rows if key not in items.by_id), None):
        raise SnellenError(f"{path}: item {unknown!r} is not in {items.root}")
    return annotations
