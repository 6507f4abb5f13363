"""The printed numbers and their consequences."""

from __future__ import annotations

from importlib.resources import files

import yaml

from snellen.core.suite import SuiteCard
from snellen.suites.ava_bench.abilities import ability_named
from snellen.suites.ava_bench.published import COLUMNS, METRIC_OF, TABLE_5, published
from tests.goldens.descriptions import assert_lines
from tests.published.ava_bench import (
    SECTION_COUNTS,
    TABLE_2,
    TABLE_2_SOURCES,
    TABLE_2_TOTAL,
    ranks,
    recomputed_ranks,
)
from tests.suites.ava_bench.fixtures import ATOMIC, COMPOSITES, TASK_BY_NAME


def load_yaml(name: str) -> dict[str, object]:
    fields = yaml.safe_load(files("snellen.suites.ava_bench").joinpath(name).read_text("utf-8"))
    assert isinstance(fields, dict)
    return fields


CARD = SuiteCard.model_validate(load_yaml("suite.yaml"))


def test_the_printed_tables_are_as_they_were() -> None:
    assert_lines("ava-bench/published.txt", published())


def test_ties_share_the_mean_of_their_ranks() -> None:
    assert ranks([3, 1, 3, 2], lower_is_better=False) == (1.5, 4, 1.5, 3)
    assert ranks([3, 1, 3, 2], lower_is_better=True) == (3.5, 1, 3.5, 2)
    assert ranks([5, 5, 5], lower_is_better=True) == (2, 2, 2)


def test_printed_and_recomputed_ranks_have_the_same_sum() -> None:
    for n, column in enumerate(zip(*recomputed_ranks().values(), strict=True)):
        assert sorted(row.ranks[n] for row in TABLE_5.values()) == list(range(1, 10))
        assert sum(column) == 45


def test_counts_of_the_paper() -> None:
    assert set(TABLE_2) == set(SECTION_COUNTS) == set(TABLE_2_SOURCES) == set(COLUMNS) == set(ATOMIC)
    train, test = TABLE_2_TOTAL
    tests = {task: count for task, (_, count) in TABLE_2.items()}
    assert CARD.counts == {"questions": train + test, "train": train, "test": test, **tests}


def test_the_printed_table_has_the_first_metric_of_each_task_and_ranks() -> None:
    (table,) = published()
    assert len(table.rows) == 9
    assert [column.task for column in table.columns] == list(COLUMNS)
    for column in table.columns:
        first = ability_named(column.task).protocols["published"].metrics[0]
        assert column.metric == first.name == METRIC_OF[column.task]
        assert column.scale == (100 if first.share else 1)
    cells = {(name, task): cell for name, row in table.rows.items() for task, cell in zip(COLUMNS, row, strict=True)}
    assert (cells["DINOv2", "ocr"], cells["SAM", "colour"], cells["SigLIP-2", "localization"]) == (
        "9.97", "9.87", "0.6738",
    )  # fmt: skip
    assert (table.ranks["MiDaS-3.0"][-1], table.rank_average["MiDaS-3.0"]) == (4, 8.0)


def test_the_card_and_the_run_settings_name_existing_tasks() -> None:
    assert set(CARD.needs_real) == {"emotion", "action", "scene"}
    assert all(task.split_by for task in TASK_BY_NAME.values())
    assert set(TASK_BY_NAME) == {*ATOMIC, *COMPOSITES}
    groups = {group: group_entries for group, group_entries in load_yaml("paper.yaml").items() if group != "not_said"}
    entries = [entry for group_entries in groups.values() for entry in group_entries]  # type: ignore[attr-defined]
    assert {entry["name"] for entry in entries if "name" in entry} == set(TABLE_5)
    scored = [task for entry in groups["scoring"] for task in entry["tasks"]]  # type: ignore[attr-defined]
    assert sorted(scored) == sorted(ATOMIC)
