"""The datasets of VFM Bench: each is declared, and the documentation states what the paper's tables record."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.vfm_bench.datasets import ROW_OF_DATASET
from snellen.suites.vfm_bench.class_images import Industry
from snellen.suites.vfm_bench.items import Level


def test_the_31_datasets_of_table_5_are_declared() -> None:
    assert len(ROW_OF_DATASET) == 31
    assert list(ROW_OF_DATASET) == [name for name in DATASETS if name in ROW_OF_DATASET]


@pytest.mark.parametrize("name", list(ROW_OF_DATASET))
def test_table_row(name: str) -> None:
    row = ROW_OF_DATASET[name]
    assert row.industry in get_args(Industry)
    assert row.level in get_args(Level)
    page = (Path(__file__).parents[3] / "docs" / "sources.md").read_text("utf-8")
    rows = {line.split(" | ")[0].strip("| "): line for line in page.splitlines() if line.startswith("| ")}
    for text in (row.industry, row.level):
        assert text in rows[name], f"{name}: docs/sources.md does not state {text!r}"
