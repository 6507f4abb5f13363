"""Small tables in the layouts of other tools, and their item sets."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from snellen.core.build_options import BuildOptions
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.suites.questions import SUITE

Row = Mapping[str, Any]


def image_bytes(key: str | int = 0) -> bytes:
    """A PNG of noise determined by its key."""
    pixels = stream("table image", key).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "png")
    return buffer.getvalue()


def image_text(key: str | int = 0) -> str:
    """The same image as base64."""
    return base64.b64encode(image_bytes(key)).decode()


def image_file(folder: Path, key: str | int = 0) -> str:
    """The same image as a file; returns its name in the folder."""
    (folder / f"{key}.png").write_bytes(image_bytes(key))
    return f"{key}.png"


def write_jsonl(path: Path, rows: Sequence[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def write_csv(path: Path, rows: Sequence[Row]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_parquet(path: Path, rows: Sequence[Row], features: Mapping[str, Any] | None = None) -> Path:
    """A shard as `datasets` writes it, with the types of its columns in the metadata."""
    table = pa.Table.from_pylist([dict(row) for row in rows])
    if features:
        metadata = json.dumps({"info": {"features": features}})
        table = table.replace_schema_metadata({"huggingface": metadata})
    pq.write_table(table, path)
    return path


def build_set(table: Path, out: Path, images: Path | None = None, **options: Any) -> ItemSet:
    """The item set of a table."""
    sources = {"table": table} | ({"images": images} if images else {})
    return SUITE.recipes["table"].build(BuildOptions(out, sources=sources, show_progress=False, **options))


def plan(table: Path, **options: Any) -> Mapping[str, Any]:
    """What would be built of a table; writes nothing."""
    built = BuildOptions(table.parent / "set", sources={"table": table}, show_progress=False, **options)
    return SUITE.recipes["table"].plan(built)
