"""Atomic writing of files: a kill or a full disk never leaves half a file under its final name."""

from __future__ import annotations

import contextlib
import csv
import errno
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from snellen.core.errors import SnellenError
from snellen.core.plain_text import no_formula, printable
from snellen.core.storage.system_calls import IS_POSIX, UNFOLLOWED, bounded_memory, lock, machine_name
from snellen.core.storage.user_files import MAX_LIST_BYTES, MAX_VALUES, file_fault

if TYPE_CHECKING:
    import pandas as pd

BATCH = 10_000
"""Rows of a table converted at a time."""
MAX_TABLE_BYTES = 4_000_000_000
"""Memory of a table that is read; a file of some kilobytes may expand to many gigabytes."""
MAX_TABLE_ROWS = 10_000_000
"""Rows of a table that is read; those without values take no memory before they are lists."""
MAX_NESTED = 125_000_000
"""Cells of lists in a row group: billions without values are bytes in a file, and gigabytes once they are read."""


def cannot_write(path: Path, error: OSError) -> SnellenError:
    """The error for a file that cannot be written."""
    return SnellenError(f"{path}: cannot be written ({error.strerror}); fix that and run the same command again")


@contextlib.contextmanager
def all_or_nothing(
    path: Path,
    refuse: Callable[[Path, OSError], SnellenError] = cannot_write,
    *,
    durable: bool = True,
    rename: Callable[[Path, Path], object] | None = None,
) -> Iterator[Path]:
    """Yield a temporary file in the same folder, which is renamed to `path` when all is written.

    A `durable` file is synced to disk first, so that a power cut leaves the old file or the new one; others (many
    files that can be made again) only survive a kill. On any exception the temporary file is removed; an OSError
    becomes the SnellenError that `refuse` makes. `rename` replaces the renaming.
    """
    half = path.parent / f"{path.name}.{machine_name()}-{os.getpid()}.half"  # also of a folder, which has no name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield half
        if durable:
            _sync(half)
        (rename or Path.replace)(half, path)
        if durable:
            _sync(path.parent)
    except BaseException as error:
        with contextlib.suppress(OSError):  # the folder may be what cannot be written
            half.unlink()
        if isinstance(error, OSError):
            raise refuse(path, error) from error
        raise


def _sync(path: Path) -> None:
    """Wait until a file, or a folder's names, are on disk."""
    if path.is_dir() and not IS_POSIX:
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.EROFS, errno.ENOTSUP):  # file systems without sync
            raise
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def kernel_lock(path: Path, address: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the kernel's lock on a file, which ends with the process in any case; `address` is for messages.

    Raises SnellenError if another process holds it (with `wait`, it waits instead), or if the file cannot be opened or
    locked.
    """
    try:
        flags = os.O_WRONLY | os.O_CREAT | UNFOLLOWED  # no link of a stranger's, no pipe
        file = os.fdopen(os.open(path, flags, 0o666), "w")
    except OSError as error:
        raise cannot_write(path, error) from error
    with file:
        try:
            lock(file.fileno(), wait=wait)
        except BlockingIOError as error:
            raise SnellenError(
                f"{address}: another process is writing there; wait for it or choose another --out"
            ) from error
        except OSError as error:
            raise SnellenError(
                f"{path}: cannot be locked ({error.strerror}); put its folder on a disk that supports locks"
            ) from error
        yield


def write_bytes(path: Path, raw: bytes, *, durable: bool = True) -> None:
    """Write all or nothing. Raises SnellenError naming the file if it cannot be written."""
    with all_or_nothing(path, durable=durable) as half:
        half.write_bytes(raw)


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, all or nothing."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """A table of rows of plain data, converted `BATCH` rows at a time."""
    rows = iter(rows)
    chunks = iter(lambda: list(islice(rows, BATCH)), [])
    return pa.Table.from_batches([pa.RecordBatch.from_pylist(chunk, schema) for chunk in chunks], schema)


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a table as plain data, converted `BATCH` rows at a time."""
    for batch in table.to_batches(max_chunksize=BATCH):
        yield from batch_rows(batch)


def batch_rows(record_batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """The rows as plain data. Raises SnellenError if they take too much memory, as billions of empty values would."""
    try:
        with bounded_memory(MAX_TABLE_BYTES):
            return list(record_batch.to_pylist())
    except MemoryError:
        raise SnellenError(f"rows of a table take more than {MAX_TABLE_BYTES / 1e9:g} GB; use another file") from None
    except OverflowError as error:
        raise SnellenError(f"a table has a time out of range ({error}); use another file") from None


def remove_halves(folder: Path, pattern: str = "*") -> None:
    """Remove temporary files that killed processes of this machine left; `pattern` is without `.half`."""
    for half in folder.glob(f"{pattern}.half"):
        writer, _, process = half.stem.rpartition("-")
        is_ours = writer.endswith(f".{machine_name()}")  # processes of other machines are unknown
        if is_ours and process.isdecimal() and not _is_alive(int(process)):
            with contextlib.suppress(OSError):  # another user's
                half.unlink()


def _is_alive(process: int) -> bool:
    if not IS_POSIX:
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def write_table(path: Path, table: pa.Table) -> None:
    """Write a Parquet file (zstd), all or nothing."""
    buffer = pa.BufferOutputStream()
    pq.write_table(table, buffer, compression="zstd", write_page_checksum=True)
    write_bytes(path, buffer.getvalue().to_pybytes())


def _columns(file: pq.ParquetFile, names: Sequence[str]) -> pa.Table:
    """Some columns of a Parquet file, read one after the other, since batches of long texts have few rows."""
    columns, left = {}, MAX_TABLE_BYTES
    for name in names:
        batches, kind = bounded_batches(file, [name], left), file.schema_arrow.field(name).type
        columns[name] = pa.chunked_array([batch.column(0) for batch in batches], kind)
        left -= columns[name].nbytes
    return pa.table(columns).combine_chunks().replace_schema_metadata(file.schema_arrow.metadata)


def read_table(path: Path, *, remedy: str = "build or copy it again", schema: pa.Schema | None = None) -> pa.Table:
    """Read a Parquet file. Raises SnellenError, ending with `remedy`, if it is missing, cut short or not Parquet.

    Invalid UTF-8 and inconsistent lists are refused too. With a `schema`, the table has its columns and no others; a
    file without one of them, or with another type, is refused.
    """
    if fault := file_fault(path, MAX_LIST_BYTES):
        raise SnellenError(f"{path}: {fault if path.exists() else 'missing'}; {remedy}")
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            kinds = {name: file.schema_arrow.field(n).type for n, name in enumerate(file.schema_arrow.names)}
            odd = [field.name for field in schema or () if kinds.get(field.name) != field.type]
            table = pa.table({} if odd else _columns(file, list(kinds) if schema is None else schema.names))
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise SnellenError(f"{path}: cannot be read as Parquet ({printable(reason)}); {remedy}") from error
    if odd:
        raise SnellenError(f"{path}: missing or retyped columns ({printable(', '.join(odd))}); {remedy}")
    return table


def bounded_batches(
    file: pq.ParquetFile, names: Sequence[str] | None = None, limit: int = MAX_TABLE_BYTES, group: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file or of one row group, a few at a time; with `names`, these columns only.

    Raises ValueError once they take more than `limit` bytes. A page may hold a text once for millions of rows, but no
    text is longer than the pages of its column. So few rows are decoded at a time that even texts of this length fit.
    """
    groups = [n for n in range(file.num_row_groups) if group in (None, n)]
    sizes, nested = zip((0, 0), *(_extent(file, n, names) for n in groups), strict=True)
    if max(nested) > MAX_NESTED or 32 * sum(nested) > limit:  # bytes that a cell may take as data
        raise ValueError(f"lists of more than {MAX_NESTED} values in a row group, or of as many in a table")
    rows, batches = 0, file.iter_batches(rows_at_once(max(sizes)), row_groups=groups, columns=names)
    while True:
        with bounded_memory(MAX_TABLE_BYTES):  # whatever the file states
            batch = next(batches, None)
        if batch is None:
            return
        limit, rows = limit - batch.nbytes, rows + len(batch)
        if limit < 0 or rows > MAX_TABLE_ROWS:
            raise ValueError(f"its values take more than {MAX_TABLE_BYTES / 1e9:g} GB, or {MAX_TABLE_ROWS} rows")
        yield batch


def rows_at_once(longest: int) -> int:
    """Rows that are decoded at a time where no cell is longer than so many bytes."""
    return min(BATCH, MAX_TABLE_BYTES // 8 // max(longest, 1)) or 1


def _extent(file: pq.ParquetFile, group: int, names: Sequence[str] | None) -> tuple[int, int]:
    """The bytes of the pages of some columns in a row group, and their cells in lists."""
    row_group, starts = file.metadata.row_group(group), tuple(f".{name}." for name in names or ())
    chunks = [(row_group.column(n), file.schema.column(n)) for n in range(row_group.num_columns)]
    chosen = [pair for pair in chunks if names is None or f".{pair[0].path_in_schema}.".startswith(starts)]
    nested = sum(chunk.num_values for chunk, column in chosen if column.max_repetition_level)
    return sum(chunk.total_uncompressed_size for chunk, _ in chosen), nested


def refuse_vast_json(path: Path, json_columns: Iterable[pa.Array | pa.ChunkedArray]) -> None:
    """Raise SnellenError if JSON in columns has more values than one text may have (`user_files.bounded_json`)."""
    import pyarrow.compute as pc

    count = sum(pc.sum(pc.count_substring(column, mark)).as_py() or 0 for column in json_columns for mark in "[{,")
    if count > MAX_VALUES:
        raise SnellenError(f"{path}: its texts of JSON have more than {MAX_VALUES} values; build a smaller one")


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Write a table without its index, all or nothing. No cell or head is a formula (`no_formula`)."""
    plain = table.copy()
    for place in range(len(plain.columns)):  # by position, since heads may be equal
        column = plain.iloc[:, place]
        if column.dtype == object or str(column.dtype).startswith("str"):
            plain.isetitem(place, column.map(no_formula).array)
    plain.columns = [no_formula(name) for name in plain.columns]
    write_text(path, plain.to_csv(index=False, lineterminator="\n"))


@contextlib.contextmanager
def long_cells() -> Iterator[None]:
    """Lift the csv module's limit on the length of cells, since some hold images. Restores it at exit."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)
