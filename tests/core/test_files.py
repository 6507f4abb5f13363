"""Tables of many rows are written and read in batches, and are the same tables."""

from __future__ import annotations

import pyarrow as pa
import pytest

from snellen.core import files

SCHEMA = pa.schema({"name": pa.string(), "numbers": pa.list_(pa.float64())})


@pytest.mark.parametrize("count", [0, 2, 3, 7])
def test_batches_make_the_table_of_all_rows(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "BATCH", 3)
    rows = [{"name": None if n % 4 == 0 else f"row {n}", "numbers": [n / 2] * (n % 3)} for n in range(count)]
    table = files.table_of(iter(rows), SCHEMA)
    assert table.equals(pa.Table.from_pylist(rows, SCHEMA))
    assert list(files.rows_of(table)) == rows
