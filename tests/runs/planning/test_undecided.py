"""Which tasks of which arms are undecided after all drawn items, and so need more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.itemset_cards import Instalment, SetDeclaration
from snellen.core.suite import all_trials
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from snellen.runs.planning.undecided import is_undecided, undecided_tasks
from tests.helpers.journey import NAMED, arm, item, says, suite_of, task

COUNTS = {"few": 3, "many": 5, "own": 2}
SUITE = suite_of(
    tasks=[task(id=name, schedule=(lambda items: all_trials) if name == "own" else None) for name in COUNTS]
)


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    """Three tasks, of which the last has a schedule of its own; every second answer is red."""
    return write_itemset(tmp_path / "set", [
        item(f"{name}-{n}", [], ("red", "blue")[n % 2], "choice", options=NAMED, task=name)
        for name, count in COUNTS.items() for n in range(count)
    ], source="generated", recipe={})  # fmt: skip


class Decider:
    """Keeps what it is asked; a growth of 0 says that a score is decided."""

    def __init__(self, growth: float) -> None:
        self.growth, self.questions = growth, list[tuple[str, list[float], bool, bool]]()

    def growth_needed(
        self, task: Any, values: Mapping[str, float], axes: Any, is_fitted: bool, at_looks: bool
    ) -> float:
        self.questions.append((task.id, [*values.values()], is_fitted, at_looks))
        return self.growth


def arms_of(decides: Mapping[str, Any]) -> list[Arm]:
    return [replace(arm(says(name, "red"), SUITE), decide=decide) for name, decide in decides.items()]


def plan_of(built: ItemSet, arms: list[Arm], growth: float = 2.5, **fields: Any) -> tuple[Plan, Decider]:
    decider: Any = Decider(growth)
    return Plan(built, SUITE, arms, deciders=[decider], **{"max_items": 9, **fields}), decider


def test_only_arms_that_are_asked_until_decided_need_more_items(built: ItemSet, tmp_path: Path) -> None:
    arms = arms_of({"own:all": "", "own:none": "none", "own:look": "look"})
    plan, decider = plan_of(built, arms)
    responses = ask(tmp_path / "run", replace(plan, arms=[replace(arm, decide="") for arm in arms]))
    names = [(arm.subject.card.name, name, growth) for arm, name, growth in undecided_tasks(plan, responses)]
    assert names == [(name, task_id, 2.5) for name in ("own:none", "own:look") for task_id in ("few", "many")]
    few, many = [1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0, 1.0]
    assert decider.questions == [
        (name, values, False, is_look) for is_look in (False, True) for name, values in (("few", few), ("many", many))
    ]
    assert not is_undecided(plan, responses), "the set cannot grow"
    declaration = SetDeclaration(instalments=2, options={})
    first = Instalment(items=10, content_hash="c", rows_hash="r")
    card = built.card.model_copy(update={"declaration": declaration, "instalments": (first,)})
    growing = replace(plan, items=replace(built, card=card))
    assert is_undecided(growing, responses)
    whole = card.model_copy(update={"instalments": (first, first)})
    assert not is_undecided(replace(plan, items=replace(built, card=whole)), responses)
    assert list(undecided_tasks(plan_of(built, arms, 0.0)[0], responses)) == [], "all are decided"


def test_tasks_that_were_not_asked_whole_or_have_the_most_items_need_none(built: ItemSet, tmp_path: Path) -> None:
    arms = arms_of({"own:none": "none"})
    responses = ask(tmp_path / "run", plan_of(built, arms_of({"own:none": ""}))[0])

    def names(given: list[Response], **fields: Any) -> list[str]:
        return [name for _, name, _ in undecided_tasks(plan_of(built, arms, **fields)[0], given)]

    assert names(responses) == ["few", "many"]
    assert names([response for response in responses if response.item_id != "few-1"]) == ["many"]
    assert names([response for response in responses if response.task != "many"]) == ["few"]
    assert names(responses, max_items=5) == ["few"]
    assert names(responses, max_items=6) == ["few", "many"]
    fitted = [
        replace(response, fingerprint="after training") if response.item_id == "few-0" else response
        for response in responses
    ]
    plan, decider = plan_of(built, arms)
    list(undecided_tasks(plan, fitted))
    assert [is_fitted for _, _, is_fitted, _ in decider.questions] == [True, False]
