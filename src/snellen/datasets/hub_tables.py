"""Dataset folders of the Hugging Face libraries: Arrow shards of `save_to_disk`, Parquet shards of the hub.

pyarrow reads them. The types of columns are JSON in a shard's schema, under `huggingface`. An image is the bytes in its
cell: paths in cells are never followed.
"""

from __future__ import annotations

import json
import os
import struct
import threading
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.errors import SnellenError
from snellen.core.plain_text import printable
from snellen.core.storage import files
from snellen.core.storage.user_files import MAX_DATASET_BYTES, bounded_json
from snellen.datasets.image_files import image_format

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIXES = (".parquet", ".arrow")
MAX_IMAGE_BYTES, MAX_FEATURES_BYTES = 200_000_000, 64_000_000
"""Limits of a cell, and of a shard's description of its columns."""
MAX_DEPTH = 2
"""Maximum depth of shards: a configuration or split, and `data`."""
IMAGE_COLUMNS = ("image", "img", "picture", "photo")


def find_shards(root: Path) -> list[Path]:
    """The shards of a dataset folder by path, or `root` itself if it is one; none in another kind of folder.

    Links to folders are not followed. In a folder written by `save_to_disk`, shards are the files listed in its
    `state.json`; caches of `datasets` (`cache-*.arrow`) are skipped.
    """
    if root.is_file():
        return [root] if root.suffix.lower() in SUFFIXES else []
    shards: list[Path] = []
    for folder, folder_names, names in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        folder_names[:] = sorted(name for name in folder_names if name[0] != "." and depth < MAX_DEPTH)
        paths = [Path(folder) / name for name in sorted(names) if Path(name).suffix.lower() in SUFFIXES]
        shards += _current([path for path in paths if not path.name.startswith((".", "cache-"))], Path(folder))
    return shards


def _current(paths: list[Path], folder: Path) -> list[Path]:
    """The paths without shards of an earlier `save_to_disk` into the same folder."""
    state = folder / "state.json"
    if not paths or not state.is_file() or state.stat().st_size > MAX_FEATURES_BYTES:
        return paths
    try:
        names = {entry["filename"] for entry in json.loads(bounded_json(state.read_bytes()))["_data_files"]}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        return paths
    return [path for path in paths if path.name in names or path.suffix.lower() != ".arrow"]


@dataclass(frozen=True)
class TableShard:
    """One file of rows: its columns, their types (`features`, in the form of `datasets`), and the group starts."""

    path: Path
    schema: pa.Schema = field(compare=False, repr=False)
    features: Mapping[str, Any] = field(compare=False, repr=False)
    group_starts: tuple[int, ...]

    def find_column(self, names: Sequence[str]) -> str:
        """The first of these columns that exists, ignoring case; empty if none does."""
        by_name = {column.casefold(): column for column in reversed(self.schema.names)}
        return next((by_name[name] for name in names if name in by_name), "")

    def image_column(self) -> str:
        """The column of images. Raises SnellenError if there is none, or several without a usual name."""
        of_features = [name for name, feature in self.features.items() if _kind(feature) == "Image"]
        columns = [name for name in of_features if name in self.schema.names] or [
            column.name for column in self.schema if _holds_bytes(column.type)
        ]
        usual = self.find_column([name for name in IMAGE_COLUMNS if name in map(str.casefold, columns)])
        if usual or len(columns) == 1:
            return usual or columns[0]
        problem = f"several image columns ({_listed(columns)}); name one" if columns else "no image column"
        raise SnellenError(f"{self.path}: {problem} 'image'{'' if columns else f'; it has {self.columns()}'}")

    def label_column(self, names: Sequence[str]) -> str:
        """The column of classes: the first of `names`, or the only ClassLabel. Raises SnellenError if there is none."""
        of_features = [name for name, feature in self.features.items() if _kind(feature) == "ClassLabel"]
        if column := self.find_column(names):
            return column
        if len(of_features) == 1 and of_features[0] in self.schema.names:
            return of_features[0]
        raise SnellenError(f"{self.path}: no column {' or '.join(names[:3])}; it has {self.columns()}")

    def columns(self) -> str:
        """The column names, for a message."""
        return _listed(self.schema.names)

    def class_names(self, column: str) -> tuple[str, ...] | None:
        """The class names of a ClassLabel column; None for another column."""
        return class_names(self.features.get(column))

    def rows(self, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Cells of these columns, row by row, in order. Raises SnellenError for damage."""
        with _reading(self.path):
            for batch in _batches(self.path, columns, None):
                yield from files.batch_rows(batch)


def _listed(names: Sequence[str]) -> str:
    return printable(", ".join(names))[:200]


def _kind(feature: Any) -> str:
    return str(feature.get("_type", "")) if isinstance(feature, Mapping) else ""


def class_names(feature: Any) -> tuple[str, ...] | None:
    """The names of a ClassLabel, or of a list of them; None for another feature."""
    for _ in range(8):
        if _kind(feature) == "ClassLabel" and isinstance(feature.get("names"), list):
            return tuple(str(name) for name in feature["names"])
        feature = feature.get("feature") if isinstance(feature, Mapping) else None
    return None


def _holds_bytes(column_type: pa.DataType) -> bool:
    import pyarrow as pa

    if pa.types.is_struct(column_type):
        return int(column_type.get_field_index("bytes")) >= 0
    return bool(pa.types.is_binary(column_type) or pa.types.is_large_binary(column_type))


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, MemoryError, ValueError, struct.error) as error:
        reason = printable(str(error).splitlines()[0] if str(error) else type(error).__name__)[:200]
        raise SnellenError(f"{path}: cannot be read as a table ({reason}); copy or save the dataset again") from None


def open_shard(path: Path) -> TableShard:
    """The metadata of a shard. Raises SnellenError if it is not a table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    starts = [0]
    with _reading(path):
        if not path.is_file():
            raise OSError("not a file")
        if path.suffix.lower() == ".parquet":
            with pq.ParquetFile(path) as file:
                schema = file.schema_arrow
                for group in range(file.num_row_groups):
                    starts.append(starts[-1] + file.metadata.row_group(group).num_rows)
        else:
            with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
                schema = stream.schema
            with pa.memory_map(str(path)) as source:
                if any(map(_is_compressed, pa.ipc.MessageReader.open_stream(source))):
                    raise OSError("its columns are compressed, so that their size is unknown")
    raw = (schema.metadata or {}).get(b"huggingface", b"{}")
    try:
        features = json.loads(bounded_json(raw))["info"]["features"] if len(raw) <= MAX_FEATURES_BYTES else {}
    except (ValueError, RecursionError, KeyError, TypeError):
        features = {}
    return TableShard(path, schema, features if isinstance(features, dict) else {}, tuple(starts))


def _is_compressed(message: pa.ipc.Message) -> bool:
    """True if the buffers of a message are compressed: field 3 of its record batch (Message.fbs of Arrow)."""
    raw = message.metadata.to_pybytes()

    def follow(position: int, field: int) -> int:
        """Where a field of the table of FlatBuffers there leads to; 0 if the table has none."""
        fields = position - struct.unpack_from("<i", raw, position)[0]
        is_there = 4 + 2 * field < struct.unpack_from("<H", raw, fields)[0]
        place = position + (struct.unpack_from("<H", raw, fields + 4 + 2 * field)[0] if is_there else 0)
        return place + int(struct.unpack_from("<I", raw, place)[0]) if place > position else 0

    header = follow(struct.unpack_from("<I", raw)[0], 2)
    header = follow(header, 1) if message.type == "dictionary" else header
    return message.type != "schema" and follow(header, 3) > 0


def _batches(path: Path, columns: Sequence[str], group: int | None) -> Iterator[pa.RecordBatch]:
    """The rows of a row group, or of all (None), a few at a time. An Arrow file is one group, memory-mapped."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.suffix.lower() == ".parquet":
        with pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            yield from files.bounded_batches(file, list(columns), MAX_DATASET_BYTES, group)
    else:
        with pa.memory_map(str(path)) as source, pa.ipc.open_stream(source) as stream:
            count = 0
            for chosen in (batch.select(list(columns)) for batch in stream):
                if (count := count + len(chosen)) > files.MAX_TABLE_ROWS:
                    raise ValueError(f"more than {files.MAX_TABLE_ROWS} rows")
                chosen.validate(full=True)  # otherwise offsets outside the buffer would go unnoticed
                rows = files.rows_at_once(chosen.get_total_buffer_size())
                yield from (chosen.slice(start, rows) for start in range(0, len(chosen), rows))


class ShardReader:
    """Reads images forward: one row group is open, with a few of its rows in memory.

    Requests in order read each row group once; going back rereads it from its beginning. Threads take turns.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._position: tuple[Path, str, int] | None = None
        self._batches: Iterator[pa.RecordBatch] = iter(())
        self._batch: pa.RecordBatch | None = None
        self._start = 0

    def read(self, shard: TableShard, column: str, row: int) -> Any:
        """The cell of a row. Raises SnellenError for damage."""
        with self._lock, _reading(shard.path):
            try:
                return self._read(shard, column, row)
            except BaseException:
                self._position = None
                raise

    def _read(self, shard: TableShard, column: str, row: int) -> Any:
        group = max(bisect_right(shard.group_starts, row) - 1, 0)
        position = (shard.path, column, group)
        if position != self._position or row < self._start:
            self._batches, self._batch = _batches(shard.path, [column], group), None
            self._position, self._start = position, shard.group_starts[group]
        while self._batch is None or row >= self._start + len(self._batch):
            self._start += 0 if self._batch is None else len(self._batch)
            self._batch = next(self._batches, None)
            if self._batch is None:
                raise OSError(f"it has no row {row}")
        return files.batch_rows(self._batch.slice(row - self._start, 1))[0][column]


@dataclass(frozen=True)
class ShardCell:
    """A cell of a shard that is read when needed; cells of one column share a reader, which goes forward."""

    reader: ShardReader = field(compare=False, repr=False)
    shard: TableShard
    column: str
    row: int

    def content(self) -> Any:
        """What the cell holds. Raises SnellenError for damage."""
        return self.reader.read(self.shard, self.column, self.row)


@dataclass(frozen=True)
class TableRow(ShardCell):
    """An image in a row of a shard."""

    @property
    def path(self) -> Path:
        """See `SourceImage`."""
        return self.shard.path

    def read(self, location: str) -> tuple[bytes, str]:
        """See `SourceImage`. The cell holds bytes, or the {bytes, path} of `datasets`."""
        cell = self.content()
        raw = cell.get("bytes") if isinstance(cell, Mapping) else cell
        if not isinstance(raw, bytes) or not raw or len(raw) > MAX_IMAGE_BYTES:
            raise SnellenError(f"{location}: a cell without image bytes; save the dataset with its images")
        return raw, image_format(raw, location)

    def inspect(self, location: str) -> None:
        """See `SourceImage`. The cell is read."""
        self.read(location)


def reading_order(image: object) -> tuple[str, int]:
    """Sort key for the most efficient reading of shard rows; images in separate files are equal."""
    return (str(image.path), image.row) if isinstance(image, TableRow) else ("", 0)


def label_text(cell: Any, class_names: Sequence[str] | None) -> str:
    """A class or id as text; empty if the cell has none."""
    if isinstance(cell, bool) or not isinstance(cell, int | str):
        return ""
    if class_names is None or isinstance(cell, str):
        return str(cell)
    return class_names[cell] if 0 <= cell < len(class_names) else ""
