"""Dataset folders as written by the Hugging Face libraries, a few pixels per image.

Layouts: `Dataset.save_to_disk` of datasets 5.2 (Arrow streams `data-00000-of-00001.arrow`, `state.json`; one folder
per split below `dataset_dict.json`), and Parquet shards `data/SPLIT-00000-of-00001.parquet` of `push_to_hub`;
features are in the schema's metadata. `tests/datasets/test_hub_tables.py` compares both with the library itself.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from snellen.core.seeds import stream
from tests.helpers.own_images import SIZE

IMAGE = {"_type": "Image"}
IMAGE_TYPE = pa.struct({"bytes": pa.binary(), "path": pa.string()})


def class_label(*names: str) -> dict[str, Any]:
    """The feature of a column of classes."""
    return {"names": list(names), "_type": "ClassLabel"}


def cell(*key: str | int, size: tuple[int, int] = SIZE) -> dict[str, Any]:
    """An image of noise determined by its key, as stored by `datasets`."""
    buffer = io.BytesIO()
    pixels = stream("own picture", *key).integers(0, 256, (size[1], size[0], 3), dtype="uint8")
    Image.fromarray(pixels).save(buffer, "PNG")
    return {"bytes": buffer.getvalue(), "path": None}


def write_shard(path: Path, columns: Mapping[str, Sequence[Any]], features: Mapping[str, Any], group: int = 4) -> Path:
    """A shard, Parquet or Arrow by its suffix, with this number of rows per group."""
    types = {name: IMAGE_TYPE if feature == IMAGE else None for name, feature in features.items()}
    arrays = {name: pa.array(cells, types.get(name)) for name, cells in columns.items()}
    table = pa.table(arrays).replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=group)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=group)
    return path


def labelled_shard(path: Path, count: int, *labels: str) -> Path:
    """`count` images of each class, classes in turn, as a ClassLabel."""
    keys = [(label, k) for k in range(count) for label in labels]
    columns: dict[str, list[Any]] = {
        "image": [cell(*key) for key in keys],
        "label": [labels.index(label) for label, _ in keys],
    }
    return write_shard(path, columns, {"image": IMAGE, "label": class_label(*labels)})
