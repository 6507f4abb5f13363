"""The printed numbers, and what follows from them."""

from __future__ import annotations

from importlib.resources import files

import pytest
import yaml

from snellen.core.suite import SuiteCard
from snellen.scoring.metrics import acc_num, expected_acc_num
from snellen.suites.vlm2_bench.published import (
    CAMERA_READY,
    CAMERA_READY_AVERAGES,
    CAMERA_READY_CHANCE_DELTA,
    CAMERA_READY_HUMAN_AVERAGE,
    CAMERA_READY_HUMAN_GRP,
    CHANCE,
    COLUMNS,
    FINDING_III_MODELS,
    HUMAN,
    JUDGE_AGREED,
    JUDGE_CHECKED,
    LENGTHS,
    METRIC_OF,
    PAIRS,
    PEOPLE_ABOVE_OBJECTS,
    PRINTED_FORMATS,
    QUERIES,
    SCORED_PAIRS,
    TABLE_1,
    TABLE_5_COUNTS,
    computed_chance,
    mean_of,
    published,
)
from snellen.suites.vlm2_bench.sequences import PATTERNS_OC, PC_COUNTS
from snellen.suites.vlm2_bench.tasks import TASKS, protocols

EVERYONE = {**TABLE_1, "human": HUMAN}
CENT = 0.00501  # half of the last printed digit


def told(name: str) -> dict[str, object]:
    held = yaml.safe_load(files("snellen.suites.vlm2_bench").joinpath(name).read_text("utf-8"))
    assert isinstance(held, dict)
    return held


CARD = SuiteCard.model_validate(told("suite.yaml"))


def test_printed_averages_are_means_of_nine_columns_but_that_of_chance() -> None:
    nine = {name: round(mean_of(row.scores, 9), 3) for name, row in EVERYONE.items()}
    assert list(nine.values()) == [39.346, 43.324, 22.591, 37.848, 42.374, 54.820, 41.231, 45.594, 60.362, 95.162]
    assert all(row.average == pytest.approx(nine[name], abs=CENT) for name, row in EVERYONE.items())
    assert mean_of(CHANCE.scores, 8) == 33.71875
    assert CHANCE.average == 33.72
    with pytest.raises(ValueError, match="only 8 of 9 columns"):
        mean_of(CHANCE.scores, 9)


def test_the_camera_ready_adopts_means_of_eight_columns() -> None:
    eight = {name: mean_of(row.scores, 8) for name, row in TABLE_1.items()}
    assert [round(value, 3) for value in eight.values()] == [
        38.358, 41.365, 24.946, 40.891, 45.640, 55.860, 45.729, 48.575, 59.564,
    ]  # fmt: skip
    assert {name: pytest.approx(value, abs=CENT) for name, value in eight.items()} == CAMERA_READY_AVERAGES
    assert {name: row.average for name, row in CAMERA_READY.items()} == {
        name: pytest.approx(mean_of(row.scores, 8), abs=CENT) for name, row in CAMERA_READY.items()
    }
    changed = [*HUMAN.scores[:4], CAMERA_READY_HUMAN_GRP, *HUMAN.scores[5:]]
    assert mean_of(HUMAN.scores, 8) == pytest.approx(94.5575)
    assert mean_of(changed, 8) == pytest.approx(94.4425)
    assert abs(CAMERA_READY_HUMAN_AVERAGE - 94.4425) < CENT
    assert CHANCE.average - CAMERA_READY_HUMAN_AVERAGE == pytest.approx(-60.72)
    assert CAMERA_READY_CHANCE_DELTA == CHANCE.delta_human == -61.44


def test_distances_from_humans_are_differences_of_averages() -> None:
    for row in (*EVERYONE.values(), CHANCE):
        assert row.delta_human == pytest.approx(row.average - 95.16)


def test_mat_and_trk_were_scored_over_259_and_219_ids() -> None:
    def fits(score: float | None, of: int) -> bool:
        return score in [round(100 * right / of, 2) for right in range(of + 1)]

    for row in TABLE_1.values():
        assert [fits(row.scores[0], of) for of in (259, 260)] == [True, False]
        assert [fits(row.scores[1], of) for of in (219, 220)] == [True, False]
        assert [fits(row.scores[n], of) for n, of in ((2, 360), (4, 200), (5, 200), (7, 100))] == [True] * 4
    qwen = TABLE_1["Qwen2.5-VL-7B"].scores
    rounded = [round(100 * right / of, 2) for right, of in ((93, 259), (95, 219), (257, 360), (160, 200))]
    assert [qwen[0], qwen[1], qwen[2], qwen[5]] == rounded == [35.91, 43.38, 71.39, 80.00]
    assert {task: PAIRS[task] - held for task, held in SCORED_PAIRS.items()} == {
        "gc-mat": 1, "gc-trk": 1, "oc-cpr": 0, "pc-cpr": 0,
    }  # fmt: skip


def test_vid_moves_in_quarters_of_a_point_with_a_hundred_videos_a_pattern() -> None:
    assert all((4 * (row.scores[8] or 0.5)).is_integer() for row in EVERYONE.values())
    assert TABLE_1["GPT-4o"].scores[8] == 66.75
    assert not (4 * (CAMERA_READY["GPT-4o-2024-11-20"].scores[8] or 0.0)).is_integer(), "some verdicts were left out"


def test_computed_chance_agrees_with_the_printed_one_but_for_cpr() -> None:
    # E(2) = (1 + 0) / 2, E(3) = 1 / 3, E(4) = (4 + 4 x .104042 + 4 x .039735 / 2 + 4 x .066967) / 16
    assert [expected_acc_num(n) for n in (2, 3, 4)] == pytest.approx([0.5, 1 / 3, 0.284714], abs=1e-6)
    computed = computed_chance()
    assert (computed["oc-cnt"], computed["pc-cnt"]) == pytest.approx((34.8762, 34.8665), abs=1e-4)
    for task, score in zip(COLUMNS[:8], CHANCE.scores, strict=False):
        assert score == (50 if task.endswith("-cpr") else pytest.approx(computed[task], abs=CENT))


def guess_of(counts: dict[str, int]) -> float:
    """Percent that a uniform guess gets over the nine patterns of OC, given the true count of each."""
    each = [
        sum(acc_num(count, said, len(pattern)) for said in range(1, len(pattern) + 1)) / len(pattern)
        for pattern, count in counts.items()
    ]
    return 100 * sum(each) / len(each)


def test_only_the_true_counts_of_the_patterns_give_the_printed_chance() -> None:
    assert tuple(TABLE_5_COUNTS) == PATTERNS_OC
    assert guess_of({pattern: len(set(pattern)) for pattern in PATTERNS_OC}) == pytest.approx(34.8762, abs=1e-4)
    assert guess_of(TABLE_5_COUNTS) == pytest.approx(34.849, abs=1e-3)


def test_counts_of_the_paper_add_up() -> None:
    queries = QUERIES
    assert sum(queries.values()) == 3060
    families = [sum(n for task, n in queries.items() if task.startswith(family)) for family in ("gc", "oc", "pc")]
    assert families == [960, 1280, 820]
    formats = {"true_false": 2080, "choice": 300, "integer": 480, "description": 200}
    shares = {name: round(100 * n / 3060, 2) for name, n in formats.items()}
    assert shares == {**PRINTED_FORMATS, "choice": 9.80, "integer": 15.69}
    assert {task: 2 * pairs for task, pairs in PAIRS.items()} == {task: queries[task] for task in PAIRS}
    assert {task: sum(lengths.values()) for task, lengths in LENGTHS.items()} == {
        task: queries[task] for task in LENGTHS
    }
    of_length = {n: sum(len(pattern) == n for pattern in PATTERNS_OC) for n in (2, 3, 4)}
    assert LENGTHS["oc-cnt"] == {n: 40 * count for n, count in of_length.items()}
    assert sum(PC_COUNTS.values()) == 260


def test_finding_iii_follows_from_table_1() -> None:
    rows = [TABLE_1[name].scores for name in FINDING_III_MODELS]
    gaps = [sum((row[n + 3] or 0) - (row[n] or 0) for row in rows) / 3 for n in (2, 3, 4)]
    assert list(PEOPLE_ABOVE_OBJECTS.values()) == pytest.approx(gaps, abs=CENT)
    assert round(100 * JUDGE_AGREED / JUDGE_CHECKED, 2) == 98.89
    assert 20 * len(TABLE_1) == JUDGE_CHECKED


def test_published_rows_are_fractions_of_the_first_metric_of_each_task() -> None:
    rows = list(published())
    assert len(rows) == 9 * 9 + 3 * 9 - 1, "VID of one model is not given"
    for row in rows:
        assert row["metric"] == protocols(row["task"])["published"].metrics[0].name
        assert 0 <= row["value"] <= 1
    (one,) = [row for row in rows if (row["subject"], row["task"]) == ("GPT-4o", "oc-cnt")]
    assert one == {"task": "oc-cnt", "metric": "acc_num", "subject": "GPT-4o", "factor": "", "level": "",
                   "value": pytest.approx(0.8062), "source": "Table 1"}  # fmt: skip


def test_the_card_has_the_printed_ceilings_and_counts() -> None:
    held = {ceiling.task: (ceiling.metric, ceiling.value) for ceiling in CARD.ceilings}
    assert held == {
        task: (METRIC_OF[task], round((score or 0) / 100, 4)) for task, score in zip(COLUMNS, HUMAN.scores, strict=True)
    }
    assert CARD.counts == {"questions": 3060, **QUERIES}
    assert {name for name in CARD.needs_real if "=" not in name} == {task for task in TASKS if task.startswith("pc")}


def test_run_settings_have_a_source_and_name_tasks_there_are() -> None:
    entries = [entry for group, held in told("paper.yaml").items() if group != "not_said" for entry in held]  # type: ignore[attr-defined]
    assert {entry["name"] for entry in entries if "name" in entry} == set(TABLE_1)
    for entry in entries:
        assert entry["source"]
        assert set(entry.get("tasks", [])) <= set(COLUMNS)
