"""Tables of questions in a folder, and the columns of rows that differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.datasets.question_tables import QuestionTable, find_tables


def test_the_tables_of_a_folder_are_its_visible_files_by_name_or_its_shards(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.csv", "._a.csv", "c.csv.gz", "d.txt", "e.json.gz", "g.TSV", "h.json"):
        (tmp_path / name).touch()
    (tmp_path / "i.csv").mkdir()
    names = [table.path.name for table in find_tables(tmp_path)]
    assert names == ["a.csv", "b.jsonl", "c.csv.gz", "g.TSV", "h.json"]
    (tmp_path / "x.parquet").touch()
    assert [table.path.name for table in find_tables(tmp_path)] == ["x.parquet"]
    for name, message in (("d.txt", "d.txt: not a table; give .jsonl, .json"), ("i.csv", "no table in this folder")):
        with pytest.raises(SnellenError, match=message):
            find_tables(tmp_path / name)


@pytest.mark.parametrize(("number", "columns"), [(20, ["a", "b"]), (21, ["a"])])
def test_columns_of_json_are_the_keys_of_the_first_twenty_rows(number: int, columns: list[str], tmp_path: Path) -> None:
    rows = [{"a": n} | ({"b": n} if n == number else {}) for n in range(1, 30)]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert QuestionTable(path).columns() == columns
