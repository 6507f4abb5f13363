"""The printed numbers and their consequences."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import pytest
import yaml

from snellen.core.suite import SuiteCard
from snellen.scoring.metrics import acc_num, expected_acc_num
from snellen.suites.vlm2_bench.published import (
    CHANCE,
    COLUMNS,
    HUMAN,
    METRIC_OF,
    PAIRS,
    QUERIES,
    SCORED_PAIRS,
    TABLE_1,
    published,
)
from snellen.suites.vlm2_bench.sequences import PATTERNS_OC
from snellen.suites.vlm2_bench.tasks import TASKS, protocols
from tests.published.vlm2_bench import TABLE_5_COUNTS, mean_of


def load_yaml(name: str) -> dict[str, object]:
    fields = yaml.safe_load(files("snellen.suites.vlm2_bench").joinpath(name).read_text("utf-8"))
    assert isinstance(fields, dict)
    return fields


CARD = SuiteCard.model_validate(load_yaml("suite.yaml"))


def test_a_mean_needs_all_its_columns() -> None:
    assert mean_of(HUMAN.scores, 8) == pytest.approx(94.5575)
    with pytest.raises(ValueError, match="only 8 of 9 columns"):
        mean_of(CHANCE.scores, 9)


def test_chance_of_a_count_by_hand() -> None:
    # E(2) = (1 + 0) / 2, E(3) = 1 / 3, E(4) = (4 + 4 x .104042 + 4 x .039735 / 2 + 4 x .066967) / 16
    assert [expected_acc_num(n) for n in (2, 3, 4)] == pytest.approx([0.5, 1 / 3, 0.284714], abs=1e-6)


def guess_of(counts: dict[str, int]) -> float:
    """The percent score of a uniform guess over the nine patterns of OC, given the true count of each."""
    scores = [
        sum(acc_num(count, guess, len(pattern)) for guess in range(1, len(pattern) + 1)) / len(pattern)
        for pattern, count in counts.items()
    ]
    return 100 * sum(scores) / len(scores)


def test_only_the_true_counts_of_the_patterns_give_the_printed_chance() -> None:
    assert tuple(TABLE_5_COUNTS) == PATTERNS_OC
    assert guess_of({pattern: len(set(pattern)) for pattern in PATTERNS_OC}) == pytest.approx(34.8762, abs=1e-4)
    assert guess_of(TABLE_5_COUNTS) == pytest.approx(34.849, abs=1e-3)


def test_the_printed_table_has_the_first_metric_of_each_task() -> None:
    (table,) = published()
    assert len(table.rows) == 9 + 3
    assert table.rows["Gemini-2.0-flash"][COLUMNS.index("pc-vid")] == "", "VID of one model is not given"
    for column in table.columns:
        assert column.metric == protocols(column.task)["published"].metrics[0].name
    assert table.rows["GPT-4o"][COLUMNS.index("oc-cnt")] == "80.62"
    assert (table.people[-2:], table.chance[-2:]) == (["95.16", "0.00"], ["33.72", "-61.44"])


def test_the_card_has_the_printed_ceilings_and_counts() -> None:
    ceilings = {ceiling.task: (ceiling.metric, ceiling.value) for ceiling in CARD.ceilings}
    assert ceilings == {
        task: (METRIC_OF[task], round((score or 0) / 100, 4)) for task, score in zip(COLUMNS, HUMAN.scores, strict=True)
    }
    assert CARD.counts == {"questions": 3060, **QUERIES}
    families = [sum(n for task, n in QUERIES.items() if task.startswith(family)) for family in ("gc", "oc", "pc")]
    assert families == [960, 1280, 820]
    one_fewer = {"gc-mat": 1, "gc-trk": 1, "oc-cpr": 0, "pc-cpr": 0}
    assert {task: PAIRS[task] - units for task, units in SCORED_PAIRS.items()} == one_fewer
    assert {name for name in CARD.needs_real if "=" not in name} == {task for task in TASKS if task.startswith("pc")}


def test_run_settings_are_those_of_the_models_of_table_1() -> None:
    groups: Any = load_yaml("paper.yaml")
    entries = [entry for group, group_entries in groups.items() if group != "not_said" for entry in group_entries]
    assert {entry["name"] for entry in entries if "name" in entry} == set(TABLE_1)
