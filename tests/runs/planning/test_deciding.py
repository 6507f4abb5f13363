"""Tasks are asked until a grade is decided: where they stop, in which order, and that nothing else can change it."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from snellen.analysis.grading import deciding
from snellen.analysis.grading.coverage import stopping_note
from snellen.analysis.grading.deciding import sampled, turns, units_to_decide
from snellen.analysis.grading.results import SEQUENTIAL, results
from snellen.analysis.grading.rows import Grade, ResultRow, rows_of
from snellen.core.condition import Condition
from snellen.core.prompt import Prompt, Reply
from snellen.core.response import Response
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import ArmCard, read_run_card
from snellen.core.subject import SubjectCard
from snellen.core.suite import Trial
from snellen.runs.asking.ask import AHEAD, ask
from snellen.runs.asking.preview import estimates
from snellen.runs.asking.replay import replay
from snellen.runs.planning import deciding as runs_deciding
from snellen.runs.planning.deciding import BATCH, batches
from snellen.runs.planning.plan import Arm, Plan
from snellen.runs.scores.score import score
from tests.reports.exam import SUITE, Able, able, write_items

MAX_ITEMS = 120
NEVER_DECIDED = "sizing"
"""Its metric has no bounds, and so no confidence sequence."""


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> ItemSet:
    return write_items(tmp_path_factory.mktemp("deciding") / "items", 160, tasks=("naming", NEVER_DECIDED))


def examined(root: Path, items: ItemSet, subjects: Sequence[Able], **plan: Any) -> list[Response]:
    arms = [Arm(subject, Condition(SUITE.axes), decide="none") for subject in subjects]
    return ask(root, Plan(items, SUITE, arms, **{"max_items": MAX_ITEMS, **plan}))


def whole_tasks(root: Path, items: ItemSet, responses: Sequence[Response]) -> dict[tuple[str, str], ResultRow]:
    """The rows of results of whole tasks, by subject and task."""
    rows = results(score(responses, items, SUITE), items, SUITE, read_run_card(root).arms)
    lines = rows_of(rows[(rows["factor"] == "") & (rows["metric"] != "accuracy_rough")])
    return {(row.subject, row.task): row for row in lines}


def counts_by_task(responses: Sequence[Response]) -> Counter[str]:
    return Counter(response.task for response in responses)


def test_a_task_ends_as_soon_as_its_grade_is_decided(tmp_path: Path, items: ItemSet) -> None:
    crowd = [able("chat:sighted", items, {"naming": 1.0}), able("chat:blind", items, {"naming": 0.0})]
    responses = examined(tmp_path, items, crowd)
    rows = whole_tasks(tmp_path, items, responses)
    assert {row.interval for (_, task), row in rows.items() if task != NEVER_DECIDED} == {SEQUENTIAL}
    sighted, blind = rows["chat:sighted", "naming"], rows["chat:blind", "naming"]
    assert sighted.n <= (1 + AHEAD) * BATCH, "a batch or two show it, and others are under way"
    assert sighted.grade.word in ("some", "most")
    assert blind.grade.word == "none"
    assert sighted.n < blind.n <= MAX_ITEMS
    assert rows["chat:blind", NEVER_DECIDED].n == MAX_ITEMS, "undecided to the end"
    assert all(arm.decide == "none" and arm.test_items == {} for arm in read_run_card(tmp_path).arms)


def test_what_stops_asking_is_what_counts_as_decided(tmp_path: Path, items: ItemSet) -> None:
    crowd = [able(f"chat:near-{n}", items, {"naming": share}, seed=n) for n, share in enumerate((0.2, 0.25, 0.9, 0.0))]
    rows = whole_tasks(tmp_path, items, examined(tmp_path, items, crowd, max_items=160))
    of_naming = [row for (_, task), row in rows.items() if task == "naming"]
    assert all(row.n == 160 for row in of_naming if not row.grade.is_decided)
    decided = [row.items for row in of_naming if row.grade.is_decided]
    assert 2 <= len(decided) < 4
    note = stopping_note(of_naming, read_run_card(tmp_path).arms)
    assert f"{len(decided)} of 4 are decided, after {np.mean(decided):.0f} items on average; undecided:" in note


def test_the_stated_limit_is_that_of_tasks_asked_until_their_grade_is_decided() -> None:
    """Arms that are asked until a drop is decided have one of their own."""
    card: Any = {
        "fingerprint": "f", "settings": {}, "attributes": {}, "condition": "vanilla", "columns": {}, "repeat": 0,
    }  # fmt: skip
    rules: Any = {"none": 80, "drop": 240}
    arms = [ArmCard(subject=f"chat:{rule}", decide=rule, max_items=most, **card) for rule, most in rules.items()]
    note = stopping_note([ResultRow(interval=SEQUENTIAL, items=40, grade=Grade("some", "", ""))], arms)
    assert "80 items at most: 1 of 1 is decided, after 40 items on average." in note


def test_items_are_asked_in_the_order_of_the_set_alone(tmp_path: Path, items: ItemSet) -> None:
    """Each subject is asked a beginning of the same order, as few items of a cluster as possible, levels in turn."""
    task = SUITE.tasks["naming"]
    order, chosen = turns(items, task, MAX_ITEMS), sampled(items, task, MAX_ITEMS)
    assert len(order) == 80, "two questions about each image"
    assert len(chosen) == 160, "80 images have too few first questions"
    assert len(sampled(items, task, 70)) == 80
    crowd = [able("chat:sighted", items, {"naming": 1.0}), able("chat:blind", items, {"naming": 0.0})]
    responses = examined(tmp_path, items, crowd)
    for subject in crowd:
        ids = {r.item_id for r in responses if r.subject == subject.card.name and r.task == "naming"}
        places = {order[items.by_id[name].cluster_id] for name in ids}
        assert places == set(range(len(places)))
        answers = Counter(str(items.by_id[name].answer) for name in ids)
        assert max(answers.values()) - min(answers.values()) <= len(ids) / 4
    reversed_items = replace(items, items=items.items[::-1])
    assert turns(reversed_items, task, MAX_ITEMS) == order


def test_a_sheet_may_reach_beyond_the_limit(items: ItemSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a sheet of all items only some are chosen; the clusters of the others come last in the order."""
    task = SUITE.tasks["naming"]
    views = tuple(item.view() for item in items.items if item.task == "naming")
    few = {view.item_id for view in views[:4]}
    for module in (deciding, runs_deciding):
        monkeypatch.setattr(module, "sampled", lambda *_: few)
    order, sheet = turns(items, task, 4), Trial(views)
    assert order.keys() == {items.by_id[view.item_id].cluster_id for view in views}
    chosen = {items.by_id[name].cluster_id for name in few}
    assert sorted(order[name] for name in chosen) == list(range(len(chosen)))
    assert list(batches(items, task, [sheet], order, 4)) == [(sheet,)]


def test_limits_hold(tmp_path: Path, items: ItemSet) -> None:
    crowd = [able("chat:blind", items, {"naming": 0.0})]
    assert counts_by_task(examined(tmp_path / "a", items, crowd, limit=30))["naming"] == 30
    assert counts_by_task(examined(tmp_path / "b", items, crowd, max_items=30))["naming"] == 30


@dataclass(frozen=True)
class Late(Able):
    """Answers after a pause of its own for every item, so that answers arrive in another order than they were asked."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        reply = await super().answer(prompt, media, rng)
        await asyncio.sleep(float(rng.exponential(0.002)))
        return reply


def late(name: str, items: ItemSet, skill: float, concurrency: int) -> Late:
    return Late(SubjectCard(name, max_concurrency=concurrency), items.by_id, {"naming": skill})


def test_only_of_remote_subjects_more_batches_are_under_way(tmp_path: Path, items: ItemSet) -> None:
    remote = late("chat:sighted", items, 1.0, 8)
    local = replace(remote, card=SubjectCard("chat:local", is_local=True))
    counts = [
        counts_by_task(examined(tmp_path / subject.card.name[5:], items, [subject]))["naming"]
        for subject in (local, remote)
    ]
    assert counts[0] % BATCH == 0
    assert counts[1] - counts[0] == (AHEAD - 1) * BATCH


@pytest.mark.parametrize("skill", [0.0, 0.5])
def test_the_end_does_not_depend_on_which_answer_arrives_first(tmp_path: Path, items: ItemSet, skill: float) -> None:
    ends = [
        sorted(r.response_id for r in examined(tmp_path / str(n), items, [late("chat:one", items, skill, n)]))
        for n in (1, 3, 16)
    ]
    assert ends[0] == ends[1] == ends[2]


class Killed(Exception):
    """The end of a run at any moment."""


def test_a_killed_run_ends_like_an_undisturbed_one(tmp_path: Path, items: ItemSet) -> None:
    crowd = [late("chat:one", items, 0.5, 4), late("chat:two", items, 0.0, 4)]
    undisturbed = examined(tmp_path / "undisturbed", items, crowd)
    rng = np.random.default_rng(7)
    calls = 0

    def tick() -> None:
        nonlocal calls
        calls += 1
        if calls == moment:
            raise Killed

    for _ in range(5):
        calls, moment = 0, int(rng.integers(5, sum(counts_by_task(undisturbed).values())))
        with pytest.raises(Killed):
            examined(tmp_path / "killed", items, crowd, tick=tick)
    assert sorted(map(repr, examined(tmp_path / "killed", items, crowd))) == sorted(map(repr, undisturbed))


def test_a_replay_keeps_what_was_decided(tmp_path: Path, items: ItemSet) -> None:
    crowd = [late("chat:one", items, 0.9, 4)]
    responses = examined(tmp_path, items, crowd)
    before = read_run_card(tmp_path)
    assert sorted(map(repr, replay(tmp_path, items, SUITE, {}))) == sorted(map(repr, responses))
    assert read_run_card(tmp_path).arms == before.arms


@pytest.mark.parametrize(("units", "growth"), [(3.0, 1.0), (24.0, 2.0)])
def test_an_undecided_score_of_twelve_items_needs_no_fewer(
    units: float, growth: float, items: ItemSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs_deciding, "units_to_decide", lambda row, metric: units)
    decider, task = runs_deciding.Decider(items, SUITE, MAX_ITEMS), SUITE.tasks["naming"]
    values = {item.item_id: float(n % 2) for n, item in enumerate(items.task("naming")[:12])}
    assert decider.growth_needed(task, values, {}, False) == growth


def test_a_score_that_leaves_out_half_of_its_items_is_of_a_part_and_no_item_decides_it(items: ItemSet) -> None:
    decider, task = runs_deciding.Decider(items, SUITE, MAX_ITEMS), SUITE.tasks["naming"]
    values = {item.item_id: (0.0, math.nan)[n % 2] for n, item in enumerate(items.task("naming")[:12])}
    row = decider.row(task, values, {}, False)
    assert row is not None
    assert (row.n, row.items, row.left_out, row.grade.is_of_part) == (6, 12, 0.5, True)
    assert decider.growth_needed(task, values, {}, False) == 0


@pytest.mark.parametrize("at_looks", [False, True])
def test_before_a_planned_look_all_items_are_asked_although_the_score_is_decided(
    items: ItemSet, at_looks: bool
) -> None:
    decider, task = runs_deciding.Decider(items, SUITE, MAX_ITEMS), SUITE.tasks["naming"]
    trials = [Trial((item.view(),)) for item in items.task("naming")]
    rows = list[ResultRow]()
    schedule = decider.schedule(task, trials, {}, False, rows.append, at_looks)
    batch, count = next(schedule, ()), 0
    while batch:
        count += len(batch)
        try:
            batch = schedule.send({trial.views[0].item_id: 1.0 for trial in batch})
        except StopIteration:
            break
    assert any(row.grade.is_decided for row in rows)
    assert (count >= MAX_ITEMS - BATCH) == at_looks


def test_the_calls_announced_are_the_most_that_are_made(tmp_path: Path, items: ItemSet) -> None:
    remote = replace(late("chat:sighted", items, 1.0, 4), card=SubjectCard("chat:sighted", is_remote=True))
    arms = [Arm(remote, Condition(SUITE.axes), decide="none")]
    plan = Plan(items, SUITE, arms, max_items=MAX_ITEMS)
    (estimate,) = estimates(plan, tmp_path / "run")
    assert estimate.is_most
    assert estimate.calls == 2 * MAX_ITEMS, "of two tasks"
    assert len(ask(tmp_path / "run", plan)) < estimate.calls


@pytest.mark.parametrize(
    ("value", "low", "high", "floor", "needed"),
    [
        (0.9, 0.6, 1.0, 0.25, 40 * (0.3 / 0.4625) ** 2),  # above a quarter
        (0.3, 0.1, 0.5, 0.25, 40 * (0.2 / 0.1375) ** 2),  # none
        (0.45, 0.3, 0.7, 0.25, 40 * (0.15 / 0.0125) ** 2),  # near the boundary
        (0.5, 0.3, 0.7, 0.6, 40 * (0.2 / 0.1375) ** 2),  # no more than the floor gives: above .3625 and below .7
        (0.3625, 0.3, 0.4, 0.7, 40 * (0.0375 / 0.075) ** 2),  # none again
        (0.9, math.nan, math.nan, 0.25, math.inf),
    ],
)
def test_units_to_decide_by_hand(value: float, low: float, high: float, floor: float, needed: float) -> None:
    """A quarter of the way from .25 is .4375, from .6 it is .7; .3625 is .1 below the first."""
    metric = SUITE.tasks["naming"].protocols["strict"].metrics[0]
    row = ResultRow(value=value, low=low, high=high, n=40, chance=0.25, grade=Grade(floor=floor))
    assert units_to_decide(row, metric) == pytest.approx(needed)
