"""The printed numbers against each other, and as golden values of our own formulas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
import yaml

from snellen.core.condition import parse_conditions
from snellen.core.suite import SuiteCard
from snellen.suites.vfm_bench.items import INDUSTRIES, LEVELS, SHOTS, TASK
from snellen.suites.vfm_bench.published import (
    ABLATIONS,
    HUMAN,
    QUERIES,
    RANDOM,
    TABLE_1,
    TABLE_4,
    TABLE_7,
    TABLE_8,
    published,
)
from snellen.suites.vfm_bench.scoring import PROTOCOLS
from snellen.suites.vfm_bench.shot_curves import Curve, average, delta, eta, gain_at, rounded
from snellen.suites.vfm_bench.tasks import AXES
from tests.published.vfm_bench import (
    CONCEPTS,
    DATASETS,
    REASONING,
    TABLE_5,
    TASKS,
)

EVERYONE = {"human": HUMAN, **TABLE_1}


def load_yaml(name: str) -> Any:
    return yaml.safe_load(files("snellen.suites.vfm_bench").joinpath(name).read_text("utf-8"))


CARD = SuiteCard.model_validate(load_yaml("suite.yaml"))


def column(formula: Callable[[Curve], float | None], places: int) -> list[float]:
    values = [formula(row.curve) for row in EVERYONE.values()]
    return [round(value, places) for value in values if value is not None]


def test_eta_and_delta_of_every_row() -> None:
    assert column(eta, 4) == [0.9333, 0.9355, 0.8895, 0.8857, 0.8538, 0.8148, 0.7478, 0.8444, 0.8667, 0.7652]
    assert column(delta, 4) == [0.5833, 0.4143, 0.4024, 0.3062, 0.2643, 0.2785, 0.2000, 0.4108, 0.3043, 0.2173]
    assert column(average, 4) == [0.6850, 0.5417, 0.4417, 0.3967, 0.3450, 0.3933, 0.2833, 0.5133, 0.2983, 0.3367]
    assert round(average(RANDOM.curve) or 0, 4) == 0.2717
    assert Counter(RANDOM.curve.values()) == {0.27: 5, 0.28: 1}


def test_the_gain_of_one_shot_over_none_is_the_printed_phi_vdpi() -> None:
    gains = column(lambda curve: 100 * (gain_at(curve, 1) or 0), 1)
    assert gains == [63.6, 86.7, 162.5, 105.3, 87.5, 52.4, 85.7, 80.8, 266.7, 26.3]
    assert all({0, 1} <= TABLE_1[name].certain for name in TABLE_4)
    assert {name for name, row in TABLE_1.items() if not {0, 1} <= row.certain} == set(TABLE_1) - set(TABLE_4)


def test_no_derived_number_depends_on_the_uncertain_order_of_the_shots() -> None:
    for row in EVERYONE.values():
        later = sorted(row.curve[k] for k in row.curve if k > 1)
        sorted_curve = dict(zip(sorted(row.curve), [row.curve[0], row.curve[1], *later], strict=True))
        for formula in (eta, delta, average):
            assert formula(sorted_curve) == pytest.approx(formula(row.curve))


def test_claims_of_section_4_2() -> None:
    best = {name: max(row.curve.values()) for name, row in TABLE_1.items()}
    assert max(best, key=lambda name: best[name]) == "Gemini-2.5-pro"
    assert [name for name, row in TABLE_1.items() if row.curve[0] > 0.27] == ["GPT-o3"]


def test_table_7_adds_up_to_table_8_except_medical() -> None:
    assert {row.industry for row in TABLE_7} == set(TABLE_8) == set(INDUSTRIES) == set(TABLE_5)
    assert {row.level for row in TABLE_7} == set(LEVELS)
    assert {row.name for row in TABLE_7} < {row.name for rows in TABLE_5.values() for row in rows}
    assert all(row.samples == 1050 for row in TABLE_8.values())
    medical = TABLE_8["Medical"]
    assert (medical.average, rounded(medical.concepts / medical.tasks)) == (2.37, 2.41)


def test_counts_of_the_paper() -> None:
    assert (DATASETS, QUERIES, TASKS, CONCEPTS) == (31, 4200, 171, 512)
    assert CARD.counts == {
        "queries": 4200, **dict.fromkeys(INDUSTRIES, 1050),
        "datasets": 31, "concept tasks": 171, "concepts": 513,
    }  # fmt: skip


def test_the_printed_tables_have_all_shots_people_and_changes() -> None:
    by_shots, by_change = published()
    assert list(by_shots.rows) == list(TABLE_1)
    assert [(column.task, column.setting, column.level) for column in by_shots.columns] == [
        (TASK, "shots", str(shots)) for shots in range(SHOTS + 1)
    ]
    assert {column.metric for column in by_shots.columns} == {p.metrics[0].name for p in PROTOCOLS.values()}
    assert by_shots.rows["GPT-o3"] == ["0.30", "0.56", "0.59?", "0.59?", "0.60?", "0.61?"]
    assert by_shots.people == ["0.44", "0.72", "", "0.79", "", "0.79"]
    assert by_change.rows["Gemini-2.5-pro"] == [
        "0.26", "+81 %", "+15 %", "", "0.51", "-9 %", "-17 %", "-37 %",
    ]  # fmt: skip
    (ceiling,) = CARD.ceilings
    assert (ceiling.task, ceiling.metric, ceiling.value) == (TASK, "accuracy", HUMAN.curve[SHOTS])


def test_ablations_name_existing_conditions() -> None:
    assert set(ABLATIONS) == set(TABLE_4["GPT-4o"]._fields) - {"base", "ava"}
    for ablation in ABLATIONS.values():
        (point,) = parse_conditions(AXES, ablation.condition)
        assert point.changed
        assert set(ablation.shots) <= set(range(SHOTS + 1))


def test_run_settings_have_a_source() -> None:
    settings = load_yaml("paper.yaml")
    assert {entry["name"] for entry in settings["models"]} == set(TABLE_1)
    assert {entry["name"] for entry in settings["models"] if entry.get("reasoning")} == set(REASONING)
    for group, entries in settings.items():
        for entry in entries if group != "not_said" else ():
            assert entry["source"]
            for part in entry.get("ours", "").split(", "):
                if "=" in part.partition(" ")[0] and ";" not in part:
                    parse_conditions(AXES, part)
