"""What is read from every declared dataset, and what every curation chooses of it, equal the goldens."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.curated_sets.ava_bench.abilities import CURATIONS
from snellen.curated_sets.ava_bench.recipe import find_candidates
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curated_sets.ava_bench.selection.splits import curated_groups
from snellen.curated_sets.datasets import DATASETS
from tests.curated_sets.ava_bench.selection.fixtures import curating
from tests.curated_sets.datasets.annotated_layouts import ANNOTATED_LAYOUTS
from tests.curated_sets.datasets.layouts import LAYOUTS, write
from tests.goldens.descriptions import line, masked
from tests.goldens.golden import assert_golden


@pytest.mark.parametrize("name", list(DATASETS))
def test_datasets_are_read_as_they_were(name: str, tmp_path: Path) -> None:
    layout = LAYOUTS[name] if name in LAYOUTS else ANNOTATED_LAYOUTS[name]
    root, dataset = write(tmp_path / name, layout()), DATASETS.get(name)
    lines = [line(value) for values in (dataset.samples(root), dataset.check(root).notes) for value in values]
    context = curating(choices=read_choices())
    groups = [group for group in curated_groups(CURATIONS) if name in group.curation.datasets]
    candidates = find_candidates({name: root}, groups, context, show_progress=False) if groups else []
    for group, chosen in zip(groups, candidates, strict=True):
        lines += [f"{group.name}: {line(candidate)}" for candidate in chosen]
    lines += [f"dropped {line(key)}: {count}" for key, count in context.ledger.dropped.items()]
    assert_golden(f"datasets/{name}.txt", masked("\n".join(lines), tmp_path) + "\n")
