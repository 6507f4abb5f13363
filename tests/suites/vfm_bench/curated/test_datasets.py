"""The datasets of VFM Bench: each is declared, and what the paper's tables say of it is told to the user."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from snellen.datasets import DATASETS as DECLARED
from snellen.suites.vfm_bench.curated.datasets import DATASETS, Industry, Level


def test_the_31_datasets_of_table_5_are_declared() -> None:
    assert len(DATASETS) == 31
    assert list(DATASETS) == [name for name in DECLARED if name in DATASETS]


@pytest.mark.parametrize("name", list(DATASETS))
def test_table_row(name: str) -> None:
    row = DATASETS[name]
    assert row.industry in get_args(Industry)
    assert row.level in get_args(Level)
    page = (Path(__file__).parents[4] / "docs" / "sources.md").read_text("utf-8")
    rows = {line.split(" | ")[0].strip("| "): line for line in page.splitlines() if line.startswith("| ")}
    for text in (row.industry, row.level):
        assert text in rows[name], f"{name}: docs/sources.md does not say {text!r}"
