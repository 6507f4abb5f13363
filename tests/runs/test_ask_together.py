"""Arms and tasks are asked together: limits, shared preparation, and unchanged responses."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from snellen.core.condition import Axis
from snellen.core.errors import SnellenError
from snellen.core.item import Item, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet, read_itemset, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, Subject, SubjectCard, TrainingExample
from snellen.core.suite import Suite, Transform, ViewContext
from snellen.runs.asking.ask import ask
from snellen.runs.planning.plan import Arm, Plan
from tests.helpers.journey import arm, item, patch, suite_of, task

COUNT, TASKS = 4, ("first", "second", "third")
PATIENCE = 10_000
"""Turns of the event loop after which no other call is expected."""


@dataclass
class Log:
    """The names of current calls, their largest number, and the order in which calls and fits began."""

    active: list[str] = field(default_factory=list)
    most: int = 0
    begun: list[str] = field(default_factory=list)

    def begin(self, name: str) -> None:
        self.active.append(name)
        self.most = max(self.most, len(self.active))
        self.begun.append(name)


@dataclass(frozen=True)
class Patient(Base):
    """Guesses; each call waits until `company` calls are in flight, or for some turns of the loop."""

    log: Log
    company: int = 1

    async def fit(self, examples: Sequence[TrainingExample], media: MediaFolder) -> Subject:
        self.log.begin(f"{self.card.name} learns")
        await asyncio.sleep(0)
        self.log.active.remove(f"{self.card.name} learns")
        return self

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        name = f"{self.card.name} {prompt.views[0].task}"
        self.log.begin(name)
        for _ in range(PATIENCE):
            if self.log.most >= self.company:
                break
            await asyncio.sleep(0)
        else:
            pytest.fail(f"only {self.log.most} calls came together")
        await asyncio.sleep(0)
        self.log.active.remove(name)
        return Reply(f"{rng.integers(10**9)}")


@pytest.fixture
def built(tmp_path: Path) -> ItemSet:
    media = MediaFolder(tmp_path / "set" / "media")
    image = patch(media, (200, 0, 0))
    items = [item(f"{name} {n}", [image], "red", "text", task=name) for name in TASKS for n in range(COUNT)]
    write_itemset(tmp_path / "set", items, source="generated", recipe={"seed": 0})
    return read_itemset(tmp_path / "set")


def suite(*axes: Axis, **fields: object) -> Suite:
    return suite_of(
        *axes, tasks=[task(id=name, kind="text", axes=tuple(a.name for a in axes), **fields) for name in TASKS]
    )


def patient(name: str, log: Log, company: int = 1, **card: object) -> Patient:
    return Patient(SubjectCard(name, **{"max_concurrency": 20, **card}), log, company)  # type: ignore[arg-type]


def run(root: Path, built: ItemSet, arms: Sequence[Arm]) -> list[tuple[object, ...]]:
    """Responses as cells."""
    responses = ask(root, Plan(built, suite(), arms))
    return [(r.subject, r.task, r.item_id, r.text, r.calls) for r in responses]


def test_tasks_and_subjects_overlap(tmp_path: Path, built: ItemSet) -> None:
    """Two subjects, three tasks of four items: all 24 calls are in flight before the first one ends."""
    log = Log()
    subjects = [patient(name, log, company=24) for name in ("own:a", "own:b")]
    assert len(run(tmp_path / "run", built, [arm(subject, suite()) for subject in subjects])) == 24
    assert log.most == 24


def test_one_limit_for_all_arms_and_tasks_of_a_subject(tmp_path: Path, built: ItemSet) -> None:
    log = Log()
    subject = patient("own:a", log, company=5, max_concurrency=5)
    run(tmp_path / "run", built, [arm(subject, suite(), repeat=repeat) for repeat in range(3)])
    assert log.most == 5


def test_local_models_are_asked_one_task_at_a_time(tmp_path: Path, built: ItemSet) -> None:
    log = Log()
    local = [patient(f"own:{name}", log, is_local=True, max_concurrency=2) for name in "ab"]
    run(tmp_path / "run", built, [arm(subject, suite()) for subject in local])
    assert log.most == 2  # the two calls of one task
    tasks = [name for name in dict.fromkeys(log.begun) if "learns" not in name]
    assert tasks == [f"own:{name} {task}" for name in "ab" for task in TASKS]
    assert log.begun.count("own:a learns") == len(TASKS)


def test_responses_are_those_of_arms_asked_separately(tmp_path: Path, built: ItemSet) -> None:
    arms = [arm(patient(f"own:{name}", Log(), max_concurrency=n), suite()) for n, name in enumerate("abc", 1)]
    together = run(tmp_path / "together", built, arms)
    alone = [row for n, each in enumerate(arms) for row in run(tmp_path / f"alone {n}", built, [each])]
    assert together == alone
    assert [row[:3] for row in together] == [
        (f"own:{s}", t, f"{t} {n}") for s in "abc" for t in TASKS for n in range(COUNT)
    ]


def test_items_are_shown_once_per_condition(tmp_path: Path, built: ItemSet) -> None:
    """Three subjects under two conditions: each item is shown twice, and no view is kept after all were asked."""
    item_ids: list[str] = []

    @dataclass(frozen=True)
    class Marking:
        """Records the items that it shows."""

        def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
            item_ids.append(view.item_id)
            return view

    def transforms(item: Item, context: ViewContext) -> tuple[Transform, ...]:
        return (Marking(),)

    several = suite(Axis("shots", (0, 1)), transforms=transforms)
    subjects = [patient(f"own:{name}", Log()) for name in "abc"]
    arms = [arm(subject, several, condition) for subject in subjects for condition in ("vanilla", "shots=1")]
    assert len(ask(tmp_path / "run", Plan(built, several, arms))) == 3 * 2 * 12
    assert sorted(item_ids) == sorted(2 * [item.item_id for item in built.items])


def test_an_error_stops_all_subjects_and_calls_in_flight_are_recorded(tmp_path: Path, built: ItemSet) -> None:
    """One subject breaks at its first call while another has five in flight: those five are recorded, no sixth."""
    log = Log()

    @dataclass(frozen=True)
    class Broken(Patient):
        """Breaks once five others are in flight."""

        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            for _ in range(PATIENCE):
                if self.log.begun.count("slow") == 5:
                    raise SnellenError("broken")
                await asyncio.sleep(0)
            raise AssertionError

    @dataclass(frozen=True)
    class Slow(Patient):
        """Takes a while."""

        async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
            self.log.begin("slow")
            for _ in range(100):
                await asyncio.sleep(0)
            return Reply("red")

    slow = Slow(SubjectCard("own:slow", max_concurrency=5), log)
    arms = [arm(slow, suite()), arm(Broken(SubjectCard("own:broken", max_concurrency=1), log), suite())]
    with pytest.raises(SnellenError, match="broken"):
        ask(tmp_path / "run", Plan(built, suite(), arms))
    assert log.begun.count("slow") == 5
    again = [replace(arms[0], subject=patient("own:slow", Log(), max_concurrency=5))]
    assert sum(text == "red" for *_, text, _ in run(tmp_path / "run", built, again)) == 5
