"""Planned looks: their intervals, the items that they are of, and a checkup that ends at one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest

from snellen.analysis.grading.coverage import stopping_note
from snellen.analysis.grading.deciding import PlannedLook, in_order, look_at
from snellen.analysis.grading.results import SEQUENTIAL, unit_interval
from snellen.analysis.grading.rows import ResultRow
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import SetDeclaration
from snellen.core.storage.runfolder import read_run_card
from snellen.exam.checkup_growth import _instalments_needed
from snellen.exam.checkup_sets import INSTALMENTS, LOOKS
from snellen.exam.run import run
from snellen.scoring.protocols import ACCURACY
from snellen.scoring.uncertainty import wilson
from snellen.suites import SUITES
from tests.exam.test_instalments import SUITE, TASK, first_instalment, items  # noqa: F401  # fixtures
from tests.helpers.look_rates import DESIGNS, PLANS, rates


def set_of(instalments: int, plan: tuple[int, ...], tasks: tuple[str, ...] = ()) -> ItemSet:
    """Four test items of two tasks in each instalment, and one training item in the first."""
    parts = [
        tuple(
            SimpleNamespace(item_id=f"{task}-{part}-{n}", task=task, split="test")
            for task in ("naming", "counting")
            if part == 0 or not tasks or task in tasks
            for n in range(4)
        )
        for part in range(instalments)
    ]
    parts[0] += (SimpleNamespace(item_id="train", task="naming", split="train"),)
    declaration = SetDeclaration(instalments=6, options={"tasks": list(tasks)}, planned_looks=plan)
    return cast(ItemSet, SimpleNamespace(card=SimpleNamespace(declaration=declaration), instalments=tuple(parts)))


def ids(count: int, task: str = "naming") -> list[str]:
    return [f"{task}-{n // 4}-{n % 4}" for n in range(count)]


def test_a_look_is_of_all_items_of_its_instalments() -> None:
    task = cast(Any, SimpleNamespace(id="naming", asks=lambda item, condition: True))
    for instalments in (1, 2, 3, 4):
        assert look_at(set_of(instalments, (1, 3)), task, {}, ids(4)) == PlannedLook(1, 2), "whatever was drawn since"
    assert look_at(set_of(3, (1, 3)), task, {}, ids(12)) == PlannedLook(2, 2)
    for count in (3, 5, 8, 11, 16):
        assert look_at(set_of(4, (1, 3)), task, {}, ids(count)) is None, "not planned"
    assert look_at(set_of(2, (3, 5)), task, {}, ids(8)) is None, "two of three instalments"
    assert look_at(set_of(2, (3,)), task, {}, ids(8)) is None
    assert look_at(set_of(2, ()), task, {}, ids(8)) is None
    some = cast(
        Any, SimpleNamespace(id="naming", asks=lambda item, condition: item.item_id[-1] != condition["without"])
    )
    three = [name for name in ids(4) if name[-1] != "3"]
    assert look_at(set_of(1, (1, 3)), some, {"without": "3"}, three) == PlannedLook(1, 2), (
        "the condition leaves one out"
    )
    assert look_at(set_of(1, (1, 3)), some, {"without": "2"}, three) is None


def test_a_task_that_does_not_grow_is_looked_at_once() -> None:
    counting = cast(Any, SimpleNamespace(id="counting", asks=lambda item, condition: True))
    for instalments in (1, 2, 4):
        assert look_at(set_of(instalments, (2, 4), ("naming",)), counting, {}, ids(4, "counting")) == PlannedLook(1, 1)


def test_the_error_is_divided_among_the_looks() -> None:
    frame = pd.DataFrame({"value": [1.0, 0.0] * 12, "cluster_id": [str(n) for n in range(24)]})
    order = {str(n): n for n in range(24)}
    once, first, sequence = (
        unit_interval(in_order(frame, order, planned), ACCURACY, ("look",))
        for planned in (PlannedLook(1, 1), PlannedLook(1, 2), None)
    )
    plain = unit_interval(frame, ACCURACY, ("look",))
    assert once[:2] == plain[:2]
    assert first[:2] == pytest.approx(wilson(12, 24, 0.975), abs=0.005), "97.5 % each: 95 % together"
    assert first.low < once.low
    assert sequence.low < first.low, "a sequence costs more than two looks"
    assert first.kind.endswith("; look 1 of 2")
    assert sequence.kind == SEQUENTIAL


def test_the_page_says_how_many_looks_were_planned() -> None:
    rows = [ResultRow(interval="95 % Wilson, adjusted for clusters; look 1 of 2"), ResultRow(interval=SEQUENTIAL)]
    assert "planned looks: 1 at look 1 of 2." in stopping_note(rows, [])
    assert stopping_note(rows[1:], []) == ""


def test_further_instalments_end_at_a_planned_look() -> None:
    declaration = SetDeclaration(instalments=10, options={}, planned_looks=(2, 5))
    card = cast(Any, SimpleNamespace(instalments=(None, None), instalments_left=8, declaration=declaration))
    assert [_instalments_needed(growth, card) for growth in (1.1, 2.0, 2.5, 3.0)] == [3, 3, 3, 4]


def test_looks_of_the_checkup_rise_and_begin_where_it_ends() -> None:
    for name, plan in LOOKS.items():
        _, first, most = INSTALMENTS[name]
        assert plan[0] == first
        assert list(plan) == sorted(set(plan))
        assert plan[-1] <= most


def test_encoders_and_fakes_are_asked_all_items_of_a_look(items: ItemSet, tmp_path: Path) -> None:  # noqa: F811
    declaration = items.card.declaration
    assert declaration is not None
    card = items.card.model_copy(update={"declaration": declaration.model_copy(update={"planned_looks": (1,)})})
    planned = replace(items, card=card)
    examination = run(
        planned, ["fake:oracle"], tmp_path / "run", until_decided=True, max_instalments=1, show_progress=False
    )
    count = sum(item.split == "test" and item.task == TASK for item in items.items)
    assert len(examination.responses) == count, "no early end"
    assert [arm.decide for arm in read_run_card(tmp_path / "run").arms] == ["look"]
    rows = examination.all_results()
    assert set(rows[rows["factor"] == ""].interval) == {"95 % Wilson, adjusted for clusters; look 1 of 1"}
    assert SUITES.get(items.card.suite) is SUITE


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_planned_looks_are_seldom_wrong(plan: tuple[int, ...]) -> None:
    for name, design in DESIGNS.items():
        for truth in (0.4375, 0.625):
            assert max(rates(design, plan, truth, 2000, beyond=True)) <= 0.05, (name, truth)
