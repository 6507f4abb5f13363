from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from snellen.core.annotations import Annotations, read_annotations, write_annotations
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from tests.helpers.journey import colour_set
from tests.helpers.refusals import assert_refused


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    return colour_set(tmp_path / "set")


@pytest.fixture
def captions(built: ItemSet) -> Annotations:
    rows: dict[str, dict[str, Any]] = {"001": {"caption": "grün"}, "000": {"caption": "", "box": [1, 2.5]}}
    return Annotations("captions", "fake:captioner", built.card.content_hash, rows)


def test_a_table_is_read_back_as_written(tmp_path: Path, built: ItemSet, captions: Annotations) -> None:
    write_annotations(tmp_path / "a.parquet", captions)
    read = read_annotations(tmp_path / "a.parquet", built)
    assert read == captions
    changes: list[dict[str, Any]] = [
        {}, {"name": "x"}, {"author": "x"}, {"about": "x"}, {"rows": {}}, {"rows": {**captions.rows, "001": {}}}
    ]  # fmt: skip
    assert len({replace(read, **change).hash for change in changes}) == len(changes)
    assert read.hash == captions.hash


def test_a_table_about_other_items_is_refused(tmp_path: Path, built: ItemSet, captions: Annotations) -> None:
    path = tmp_path / "a.parquet"
    write_annotations(path, replace(captions, about="0" * 64))
    with pytest.raises(SnellenError, match="annotates a different item set"):
        read_annotations(path, built)
    write_annotations(path, replace(captions, rows={"007": {}}))
    with pytest.raises(SnellenError, match="'007' is not in"):
        read_annotations(path, built)
    with pytest.raises(SnellenError, match="not an annotation table"):
        read_annotations(built.root / "items.parquet", built)


def test_an_altered_table_is_refused(tmp_path: Path, built: ItemSet, captions: Annotations) -> None:
    path = tmp_path / "a.parquet"
    write_annotations(path, captions)
    table = pq.read_table(path)
    pq.write_table(table.slice(0, 1), path)
    with pytest.raises(SnellenError, match=r"a\.parquet: altered"):
        read_annotations(path, built)
    rows = table.to_pydict()
    for text in ("{", "5", "[[1, 2]]", '"ab"', "[" * 5000, None):
        rows["row"][0] = text
        pq.write_table(type(table).from_pydict(rows, schema=table.schema), path)
        assert_refused(partial(read_annotations, path, built), "a.parquet: a row is not a JSON object")
    rows["item_id"][1], rows["row"][0] = None, "{}"
    pq.write_table(type(table).from_pydict(rows, schema=table.schema), path)
    assert_refused(partial(read_annotations, path, built), "a.parquet: altered")
