"""What is read from every declared dataset, and what every curation chooses of it, equal the goldens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from snellen.curated_sets.ava_bench.abilities import CURATIONS
from snellen.curated_sets.ava_bench.recipe import find_candidates
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curated_sets.ava_bench.selection.splits import curated_groups
from snellen.curated_sets.datasets import DATASETS
from tests.curated_sets.ava_bench.selection.fixtures import curating
from tests.curated_sets.datasets.annotated_layouts import ANNOTATED_LAYOUTS
from tests.curated_sets.datasets.layouts import LAYOUTS, write
from tests.goldens.golden import assert_golden


def plain(value: Any, folder: Path) -> str:
    """One line for a value, without the folder of the test."""
    return " ".join(repr(value).replace(str(folder), "").split())


@pytest.mark.parametrize("name", list(DATASETS))
def test_datasets_are_read_as_they_were(name: str, tmp_path: Path) -> None:
    layout = LAYOUTS[name] if name in LAYOUTS else ANNOTATED_LAYOUTS[name]
    root, dataset = write(tmp_path / name, layout()), DATASETS.get(name)
    lines = [plain(sample, tmp_path) for sample in dataset.samples(root)]
    lines += [plain(note, tmp_path) for note in dataset.check(root).notes]
    context = curating(choices=read_choices())
    groups = [group for group in curated_groups(CURATIONS) if name in group.curation.datasets]
    candidates = find_candidates({name: root}, groups, context, show_progress=False) if groups else []
    for group, chosen in zip(groups, candidates, strict=True):
        lines += [f"{group.name}: {plain(candidate, tmp_path)}" for candidate in chosen]
    lines += [f"dropped {plain(key, tmp_path)}: {count}" for key, count in context.ledger.dropped.items()]
    assert_golden(f"datasets/{name}.txt", "\n".join(lines) + "\n")
