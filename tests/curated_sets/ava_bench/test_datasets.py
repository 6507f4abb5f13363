"""The datasets of AVA-Bench: each is declared, and the page names its tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.curated_sets.ava_bench.selection.datasets import TASKS_OF_DATASET
from snellen.curated_sets.datasets import DATASETS


def test_every_dataset_is_declared() -> None:
    assert list(TASKS_OF_DATASET) == [name for name in DATASETS if name in TASKS_OF_DATASET]


@pytest.mark.parametrize("name", list(TASKS_OF_DATASET))
def test_the_page_names_the_tasks(name: str) -> None:
    assert TASKS_OF_DATASET[name]
    page = (Path(__file__).parents[3] / "docs" / "sources.md").read_text("utf-8")
    rows = {line.split(" | ")[0].strip("| "): line for line in page.splitlines() if line.startswith("| ")}
    assert ", ".join(TASKS_OF_DATASET[name]) in rows[name]
