"""Files are complete or named as damaged; tables written as text have no cell that a spreadsheet runs as a formula."""

from __future__ import annotations

import errno
import fcntl
import os
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snellen.core.errors import SnellenError
from snellen.core.storage import files
from snellen.core.storage.files import (
    all_or_nothing,
    bounded_batches,
    kernel_lock,
    read_table,
    remove_halves,
    write_csv,
    write_table,
)
from tests.helpers.refusals import assert_refused


def test_a_table_is_written_unchanged_except_formulas(tmp_path: Path) -> None:
    rows = [["a", -1.0, 2, None], ["b, c", float("nan"), -3, "x"]]
    table = pd.DataFrame(rows, columns=["text", "number", "count", "text"])
    write_csv(tmp_path / "a.csv", table)
    assert (tmp_path / "a.csv").read_text() == table.to_csv(index=False)
    hostile = pd.DataFrame({"=head": ["=1+1", "fine"], "n": [-1, 2]})
    write_csv(tmp_path / "b.csv", hostile)
    assert (tmp_path / "b.csv").read_text() == "'=head,n\n'=1+1,-1\nfine,2\n"
    assert list(hostile.columns) == ["=head", "n"]
    assert hostile["=head"][0] == "=1+1"


def test_a_flipped_bit_of_a_table_s_pages_is_found(tmp_path: Path) -> None:
    path, rng = tmp_path / "table.parquet", np.random.default_rng(0)
    write_table(path, pa.table({"x": np.arange(2000.0), "y": [f"text {n}" for n in range(2000)]}))
    whole = path.read_bytes()
    table = read_table(path)
    for position in rng.integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            assert read_table(path).equals(table)
        except SnellenError as error:
            assert "cannot be read as Parquet" in str(error)  # noqa: PT017


def test_a_small_table_that_expands_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, text = tmp_path / "table.parquet", pa.DictionaryArray.from_arrays([0] * 3000, ["x" * 10_000])
    pq.write_table(pa.table({"a": text, "b": range(3000)}), path, store_schema=False, dictionary_pagesize_limit=2**20)
    with pq.ParquetFile(path) as file:
        sizes = [len(batch) for batch in bounded_batches(file, limit=31_000_000)]
        assert sum(sizes) == 3000
        with pytest.raises(ValueError, match="more than 4 GB"):
            list(bounded_batches(file, limit=30_000_000))
    monkeypatch.setattr(files, "MAX_TABLE_BYTES", 16_000_000)
    with pq.ParquetFile(path) as file:
        batches = bounded_batches(file, ["a"], limit=31_000_000)
        assert max(len(batch) for batch in batches) * 10_000 < 2_000_000  # an eighth of the limit, decoded at a time
    assert path.stat().st_size < 20_000
    with pytest.raises(SnellenError, match=r"cannot be read as Parquet .its values take more than"):
        read_table(path)


def test_a_table_of_rows_without_values_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"a": pa.nulls(50_000)}), path)
    assert len(read_table(path)) == 50_000
    monkeypatch.setattr(files, "MAX_TABLE_ROWS", 49_999)
    with pytest.raises(SnellenError, match="or 49999 rows"):
        read_table(path)


def test_lists_without_values_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They count as no bytes."""
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"a": [1], "b": pa.ListArray.from_arrays([0, 50_000], pa.nulls(50_000))}), path)
    monkeypatch.setattr(files, "MAX_NESTED", 49_999)
    assert len(read_table(path, schema=pa.schema({"a": pa.int64()}))) == 1
    with pytest.raises(SnellenError, match="lists of more than 49999 values in a row group"):
        read_table(path)


def test_missing_file_locks_are_not_mistaken_for_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with (
        pytest.raises(SnellenError, match=r"lock: cannot be locked \(No locks available\)"),
        kernel_lock(tmp_path / "lock", "a run"),
    ):
        pass


@pytest.mark.parametrize("path", [".", "..", "folder"])
def test_a_folder_in_place_of_a_file_is_refused(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "folder").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    assert_refused(lambda: files.write_bytes(Path(path), b"x"), f"{path}: cannot be written")
    assert [file.name for file in tmp_path.rglob("*")] == ["here", "folder"]


def test_partial_files_of_ended_processes_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "ab"
    child = os.fork()
    if child == 0:
        with all_or_nothing(folder / "x.png") as half:
            half.write_bytes(b"ha")
            os._exit(0)
    os.waitpid(child, 0)
    (left,) = folder.iterdir()
    elsewhere, other = folder / f"x.png.elsewhere-{child}.half", folder / "of others.half"
    for path in (elsewhere, other):
        path.write_bytes(b"")
    with all_or_nothing(folder / "y.png") as half:
        half.write_bytes(b"ha")
        remove_halves(tmp_path, "*/*")
        assert set(folder.iterdir()) == {half, elsewhere, other}
    assert not left.exists()


def test_tables_of_several_row_groups_and_batches_keep_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "BATCH", 2)
    rows = [{"n": n, "text": f"t{n}", "list": [n] * n} for n in range(7)]
    schema = pa.schema({"n": pa.int64(), "text": pa.string(), "list": pa.list_(pa.int64())})
    table = files.table_of(iter(rows), schema)
    assert list(files.rows_of(table)) == rows
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    assert list(files.rows_of(read_table(tmp_path / "a.parquet", schema=schema))) == rows
    assert read_table(tmp_path / "a.parquet", schema=pa.schema([schema.field("text")])).column_names == ["text"]
    with pq.ParquetFile(tmp_path / "a.parquet") as file:
        for group, numbers in ((None, range(7)), (0, range(3)), (1, range(3, 6)), (2, [6])):
            batches = list(bounded_batches(file, ["n"], group=group))
            assert [n for batch in batches for n in batch.column("n").to_pylist()] == list(numbers)
            assert max(map(len, batches)) <= 2
        assert [files._extent(file, 2, names)[1] for names in (None, ["list"], ["n"])] == [6, 6, 0]
    for odd, name in (({"n": pa.string()}, "n"), ({"x": pa.int64(), "n": pa.int64()}, "x")):
        message = f"a.parquet: missing or retyped columns ({name}); fetch it"
        assert_refused(partial(read_table, tmp_path / "a.parquet", schema=pa.schema(odd), remedy="fetch it"), message)
    assert_refused(lambda: read_table(tmp_path / "none.parquet"), "none.parquet: missing; build or copy it again")
    assert [files.rows_at_once(size) for size in (0, 50_000_000, 10**9, 10**12)] == [2, 2, 1, 1]


def test_values_of_all_json_columns_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brackets and commas: of these 3, 2 and 1."""
    columns = [pa.array(["[1,2]", '{"a":1}']), pa.chunked_array([["{}"], [None, "1,2"]]), pa.array(["["])]
    monkeypatch.setattr(files, "MAX_VALUES", 6)
    files.refuse_vast_json(tmp_path, columns)
    monkeypatch.setattr(files, "MAX_VALUES", 5)
    assert_refused(lambda: files.refuse_vast_json(tmp_path, columns), "its texts of JSON have more than 5 values")
