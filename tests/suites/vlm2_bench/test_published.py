"""The printed numbers and their consequences."""

from __future__ import annotations

from importlib.resources import files

import pytest
import yaml

from snellen.core.suite import SuiteCard
from snellen.scoring.metrics import acc_num, expected_acc_num
from snellen.suites.vlm2_bench.published import (
    CAMERA_READY,
    CHANCE,
    COLUMNS,
    HUMAN,
    METRIC_OF,
    PAIRS,
    QUERIES,
    SCORED_PAIRS,
    TABLE_1,
    mean_of,
    published,
)
from snellen.suites.vlm2_bench.sequences import PATTERNS_OC
from snellen.suites.vlm2_bench.tasks import TASKS, protocols
from tests.published.lookup import recomputed, verdicts
from tests.published.vlm2_bench import CAMERA_READY_CHANCE_DELTA, TABLE_5_COUNTS, derived_numbers


def load_yaml(name: str) -> dict[str, object]:
    fields = yaml.safe_load(files("snellen.suites.vlm2_bench").joinpath(name).read_text("utf-8"))
    assert isinstance(fields, dict)
    return fields


CARD = SuiteCard.model_validate(load_yaml("suite.yaml"))


def test_printed_averages_are_means_of_nine_columns_except_that_of_chance() -> None:
    nine = recomputed(derived_numbers, "mean of all nine columns", 3)
    assert list(nine.values()) == [39.346, 43.324, 22.591, 37.848, 42.374, 54.820, 41.231, 45.594, 60.362, 95.162]
    assert recomputed(derived_numbers, "Average of chance", 5) == {"": 33.71875}
    assert recomputed(derived_numbers, "Averages that leave out VID") == {"": 1}
    with pytest.raises(ValueError, match="only 8 of 9 columns"):
        mean_of(CHANCE.scores, 9)


def test_the_camera_ready_uses_means_of_eight_columns() -> None:
    eight = recomputed(derived_numbers, "eight columns without VID", 3)
    assert list(eight.values())[:9] == [
        38.358, 41.365, 24.946, 40.891, 45.640, 55.860, 45.729, 48.575, 59.564,
    ]  # fmt: skip
    assert list(eight) == [*TABLE_1, *CAMERA_READY]
    assert mean_of(HUMAN.scores, 8) == pytest.approx(94.5575)
    assert recomputed(derived_numbers, "Average of people", 4) == {"": 94.4425}
    assert recomputed(derived_numbers, "Distance of chance from people") == {"": -60.72}
    assert CAMERA_READY_CHANCE_DELTA == CHANCE.delta_human == -61.44


def test_mat_and_trk_were_scored_over_259_and_219_ids() -> None:
    for task, units, pairs in (("gc-mat", 259, 260), ("gc-trk", 219, 220)):
        assert set(verdicts(derived_numbers, f"{task}: a share of {units} units").values()) == {
            "match",
            "known mismatch",
        }
        assert recomputed(derived_numbers, f"{task}: scores that are shares of the {pairs} pairs") == {"": 0}
    qwen = TABLE_1["Qwen2.5-VL-7B"].scores
    rounded = [round(100 * right / count, 2) for right, count in ((93, 259), (95, 219), (257, 360), (160, 200))]
    assert [qwen[0], qwen[1], qwen[2], qwen[5]] == rounded == [35.91, 43.38, 71.39, 80.00]
    assert {task: PAIRS[task] - units for task, units in SCORED_PAIRS.items()} == {
        "gc-mat": 1, "gc-trk": 1, "oc-cpr": 0, "pc-cpr": 0,
    }  # fmt: skip


def test_vid_scores_are_quarters_of_a_point_with_a_hundred_videos_per_pattern() -> None:
    off = [name for name, verdict in verdicts(derived_numbers, "multiple of 0.25").items() if verdict != "match"]
    assert off == ["GPT-4o-2024-11-20"], "some verdicts were left out"
    assert TABLE_1["GPT-4o"].scores[8] == 66.75


def test_computed_chance_agrees_with_the_printed_one_except_cpr() -> None:
    # E(2) = (1 + 0) / 2, E(3) = 1 / 3, E(4) = (4 + 4 x .104042 + 4 x .039735 / 2 + 4 x .066967) / 16
    assert [expected_acc_num(n) for n in (2, 3, 4)] == pytest.approx([0.5, 1 / 3, 0.284714], abs=1e-6)
    chance = recomputed(derived_numbers, "Chance: uniform independent guesses", 4)
    assert (chance["oc-cnt"], chance["pc-cnt"]) == pytest.approx((34.8762, 34.8665), abs=2e-4)
    off = [task for task, verdict in verdicts(derived_numbers, "uniform independent").items() if verdict != "match"]
    assert off == ["oc-cpr", "pc-cpr"]


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


def test_counts_of_the_paper_add_up() -> None:
    queries = QUERIES
    assert recomputed(derived_numbers, "Questions: sum over tasks") == {"": 3060}
    families = [sum(n for task, n in queries.items() if task.startswith(family)) for family in ("gc", "oc", "pc")]
    assert families == [960, 1280, 820]
    shares = recomputed(derived_numbers, "Share of a format of answer")
    assert shares == {"true_false": 67.97, "choice": 9.80, "integer": 15.69, "description": 6.54}
    assert recomputed(derived_numbers, "Sequences: sum over patterns") == {"oc": 360, "pc": 260}


def test_finding_iii_follows_from_table_1() -> None:
    gaps = recomputed(derived_numbers, "PC above OC")
    assert gaps == {"cpr": 7.65, "cnt": 9.75, "grp": 11.83}
    assert recomputed(derived_numbers, "Verdicts that people share") == {"": 98.89}


def test_published_rows_are_fractions_of_the_first_metric_of_each_task() -> None:
    rows = list(published())
    assert len(rows) == 9 * 9 + 3 * 9 - 1, "VID of one model is not given"
    for row in rows:
        assert row["metric"] == protocols(row["task"])["published"].metrics[0].name
        assert 0 <= row["value"] <= 1
    (row,) = [row for row in rows if (row["subject"], row["task"]) == ("GPT-4o", "oc-cnt")]
    assert row == {"task": "oc-cnt", "metric": "acc_num", "subject": "GPT-4o", "factor": "", "level": "",
                   "value": pytest.approx(0.8062), "source": "Table 1", "decimals": 4}  # fmt: skip


def test_the_card_has_the_printed_ceilings_and_counts() -> None:
    ceilings = {ceiling.task: (ceiling.metric, ceiling.value) for ceiling in CARD.ceilings}
    assert ceilings == {
        task: (METRIC_OF[task], round((score or 0) / 100, 4)) for task, score in zip(COLUMNS, HUMAN.scores, strict=True)
    }
    assert CARD.counts == {"questions": 3060, **QUERIES}
    assert {name for name in CARD.needs_real if "=" not in name} == {task for task in TASKS if task.startswith("pc")}


def test_run_settings_have_a_source_and_name_existing_tasks() -> None:
    entries = [
        entry
        for group, group_entries in load_yaml("paper.yaml").items()
        if group != "not_said"
        for entry in group_entries  # type: ignore[attr-defined]
    ]
    assert {entry["name"] for entry in entries if "name" in entry} == set(TABLE_1)
    for entry in entries:
        assert entry["source"]
        assert set(entry.get("tasks", [])) <= set(COLUMNS)
