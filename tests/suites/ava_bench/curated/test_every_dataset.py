"""Every dataset against every ability that is made of it, in its exact layout."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.suites.ava_bench.candidates.choices import read_choices
from snellen.suites.ava_bench.candidates.datasets import TASKS_OF_DATASET
from snellen.suites.ava_bench.curated.recipe import curated_groups, find_candidates
from tests.datasets.annotated_layouts import ANNOTATED_LAYOUTS
from tests.datasets.layouts import write
from tests.suites.ava_bench.candidates.fixtures import curating
from tests.suites.ava_bench.fixtures import ATOMIC, COMPOSITES


def test_all_fourteen_are_curated_and_one_composite() -> None:
    made = [task for group in curated_groups() for task in group.tasks]
    assert sorted(made) == sorted([*ATOMIC, "nearer-localization"])


@pytest.mark.parametrize("source", list(TASKS_OF_DATASET))
def test_a_dataset_serves_the_abilities_that_its_card_names(source: str, tmp_path: Path) -> None:
    told = {task for group in curated_groups() if source in group.curation.datasets for task in group.tasks}
    assert told - set(COMPOSITES) == set(TASKS_OF_DATASET[source])
    folder = write(tmp_path / source, ANNOTATED_LAYOUTS[source]())
    at = curating(choices=read_choices())
    mine = [group for group in curated_groups() if source in group.curation.datasets]
    found = find_candidates({source: folder}, mine, at, show_progress=False)
    for group, held in zip(mine, found, strict=True):
        # Whatever a few pixels hold is either a candidate or has a line in the ledger: nothing is lost in silence.
        assert held or any(key[:2] == (group.name, source) for key in at.ledger.dropped)
        assert all(one.origin.source == source for one in held)
