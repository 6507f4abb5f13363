"""Tables of questions in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.core.errors import SnellenError
from snellen.datasets.question_tables import find_tables


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
