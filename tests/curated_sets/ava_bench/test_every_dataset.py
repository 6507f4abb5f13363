"""Every dataset in its exact layout, against every ability that uses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.curated_sets.ava_bench.abilities import CURATIONS
from snellen.curated_sets.ava_bench.recipe import find_candidates
from snellen.curated_sets.ava_bench.selection.choices import read_choices
from snellen.curated_sets.ava_bench.selection.datasets import TASKS_OF_DATASET
from snellen.curated_sets.ava_bench.selection.splits import curated_groups
from tests.curated_sets.ava_bench.selection.fixtures import curating
from tests.curated_sets.datasets.annotated_layouts import ANNOTATED_LAYOUTS
from tests.curated_sets.datasets.layouts import write
from tests.suites.ava_bench.fixtures import ATOMIC, COMPOSITES


def test_all_fourteen_are_curated_and_one_composite() -> None:
    tasks = [task for group in curated_groups(CURATIONS) for task in group.tasks]
    assert sorted(tasks) == sorted([*ATOMIC, "nearer-localization"])


@pytest.mark.parametrize("source", list(TASKS_OF_DATASET))
def test_a_dataset_serves_the_abilities_that_its_card_names(source: str, tmp_path: Path) -> None:
    tasks = {task for group in curated_groups(CURATIONS) if source in group.curation.datasets for task in group.tasks}
    assert tasks - set(COMPOSITES) == set(TASKS_OF_DATASET[source])
    folder = write(tmp_path / source, ANNOTATED_LAYOUTS[source]())
    context = curating(choices=read_choices())
    groups = [group for group in curated_groups(CURATIONS) if source in group.curation.datasets]
    candidates = find_candidates({source: folder}, groups, context, show_progress=False)
    for group, of_group in zip(groups, candidates, strict=True):
        # Everything in the few pixels is a candidate or in the ledger: nothing is lost silently.
        assert of_group or any(key[:2] == (group.name, source) for key in context.ledger.dropped)
        assert all(candidate.origin.source == source for candidate in of_group)
