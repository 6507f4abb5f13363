"""The plan in `run.json`: transforms in use, and the number of items per arm."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from snellen.core.condition import Axis
from snellen.core.item import Item, View
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import Transform, Trial, ViewContext
from snellen.runs.asking.views import show_items
from snellen.runs.planning.plan import Plan, run_card
from tests.helpers.journey import arm, colour_set, says, suite_of, task

Trials = Sequence[Trial]


@dataclass(frozen=True)
class RandomNumber:
    """Writes a number of its stream into the question."""

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        return replace(view, question=str(rng.integers(10**9)))


def random_number(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return (RandomNumber(),)


def test_transforms_are_those_of_tasks_that_are_asked(tmp_path: Path) -> None:
    """One of two tasks with a transform lacks the axis of the condition; a third task has no items."""
    axis = Axis("shots", (0, 1))
    tasks = [
        task(axes=("shots",), transforms=random_number),
        task(id="other", transforms=random_number),
        task(id="none"),
    ]
    suite, built = suite_of(axis, tasks=tasks), colour_set(tmp_path / "set")
    for condition, names in (("shots=1", ["task"]), ("vanilla", ["task"])):
        card = run_card(Plan(built, suite, [arm(says("own:red", "red"), suite, condition)]))
        assert card.transforms == [f"{name}: RandomNumber()" for name in names]
        assert [a.test_items for a in card.arms] == [{"task": 4}]
    alone = suite_of(axis, transforms=random_number, tasks=[task(transforms=random_number)])
    card = run_card(Plan(built, alone, [arm(says("own:red", "red"), alone, "shots=1")]))
    assert card.transforms == []
    assert [a.test_items for a in card.arms] == [{}]


def test_an_adaptive_schedule_states_no_number_of_items(tmp_path: Path) -> None:
    def halves(trials: Trials) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        yield tuple(trials[:2])

    suite, built = suite_of(), colour_set(tmp_path / "set")
    card = run_card(Plan(built, suite, [arm(says("own:red", "red"), suite, schedule=halves)]))
    assert [a.test_items for a in card.arms] == [{}]


def test_draws_of_a_transform_depend_on_seed_and_stimulus_only(tmp_path: Path) -> None:
    built = colour_set(tmp_path / "set")
    first, second, *_ = built.items
    items = [first, replace(first, item_id="twin"), second]

    def numbers(seed: int) -> list[str]:
        context: Any = None
        views = show_items(items, context, task(transforms=random_number), seed, built.media)
        return [views[item.item_id].question for item in items]

    original, twin, different = numbers(0)
    assert original == twin != different
    assert numbers(0) == [original, twin, different] != numbers(1)
