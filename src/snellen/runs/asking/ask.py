"""The ask loop: runs methods and schedules, records every exchange, and resumes by replay."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from snellen.compute.event_loop import run_to_end
from snellen.core.errors import Interrupted, SnellenError
from snellen.core.prompt import Reply
from snellen.core.response import Response, Status
from snellen.core.storage.run_tables import other_responses, read_responses, write_tables
from snellen.core.storage.runfolder import RunCard, RunFolder, has_tables, open_run
from snellen.core.subject import Base, Prepares, Subject
from snellen.core.suite import Method, Task, Trial, settle
from snellen.runs.asking.calls import ArmCalls, RunState, SubjectQueue
from snellen.runs.asking.failures import (
    LAST_READ,
    CutOffs,
    FailureRate,
    UnreadReplies,
    fault_of,
    summarize_failures,
    without_faults,
)
from snellen.runs.asking.stopping import Budget, RunStop, Unasked
from snellen.runs.asking.views import reply_as_sent, training_example
from snellen.runs.planning.deciding import BatchSchedule
from snellen.runs.planning.plan import Plan, by_draw, prices, run_card
from snellen.runs.scores.score import primary_score, read_one

AHEAD = 3
"""Batches of a remote subject that are under way at most, when a task is asked until decided."""


def ask(root: Path, plan: Plan, card: RunCard | None = None) -> list[Response]:
    """Ask every arm what it has not answered yet, recording in `root`. After a kill, the same call continues.

    Returns the responses of these arms in the order of arms, tasks and items. Items not asked, because their subject or
    arm ended by its failures, have none. Raises BudgetSpent and Interrupted after writing the tables so far. `card` is
    the plan's card, if it is already known.
    """
    stop, responses = RunStop(), list[Response]()
    with open_run(root, card or run_card(plan), plan.items.media) as run:
        others = other_responses(root, {arm.arm_key for arm in plan.arms})
        for exchange in plan.preflight:
            run.record(exchange)
        try:
            with stop.on_signals(root):
                run_to_end(_ask_all(run, plan, stop, responses))
        except Interrupted:
            if not stop.is_done:  # else only threads are still running
                raise
        if stop.cause is not None or plan.is_replay:
            others += _unrecorded(root, plan, responses)
        write_tables(run, responses, others)
    if stop.cause is not None:
        raise stop.cause
    return responses


def _unrecorded(root: Path, plan: Plan, responses: Sequence[Response]) -> list[Response]:
    """Responses in the tables to items that this command did not reach, or that were declined and so not recorded.

    Only of arms asked by the same subject with the same settings.
    """
    if not has_tables(root):
        return []
    current = {(arm.subject.card.name, arm.subject.card.fingerprint()) for arm in plan.arms}
    current |= {(response.subject, response.fingerprint) for response in responses}
    arms = {arm.arm_key for arm in plan.arms}
    response_ids = {response.response_id for response in responses}
    return [
        response
        for response in read_responses(root)
        if response.arm_key in arms
        and (response.subject, response.fingerprint) in current
        and response.response_id not in response_ids
    ]


async def _ask_all(run: RunFolder, plan: Plan, stop: RunStop, responses: list[Response]) -> None:
    """Ask all arms and tasks concurrently, those of one subject in the order of the plan; fills `responses`."""
    stop.loop = asyncio.get_running_loop()
    budget = None if plan.budget is None else Budget(plan.budget, run, prices(plan, run.root))
    shared, queues, local_turn = RunState(run, plan, budget, stop), dict[str, SubjectQueue](), asyncio.Lock()
    jobs = list[Coroutine[Any, Any, list[Response]]]()
    for arm in plan.arms:
        card = arm.subject.card
        gate, room = (asyncio.Semaphore(card.max_concurrency) for _ in range(2))
        queue = SubjectQueue(gate, room, local_turn if card.is_local else asyncio.Lock())
        condition = settle(arm.condition, plan.suite, card)
        queue = queues.setdefault(card.fingerprint(), queue)
        may_end = not (plan.keep_going or arm.is_recorded)
        rate, cut_offs = FailureRate(may_end), CutOffs(may_end)
        runner = ArmCalls(shared, arm, condition, queue, rate, cut_offs)
        tasks = [task for task in plan.suite.tasks.values() if arm.asks(task) and plan.items.task(task.id)]
        shared.takers.update((task.id, str(condition)) for task in tasks)
        jobs += [_ask_task(runner, task) for task in tasks]
    responses += [response for rows in await shared.all_of(jobs) for response in rows]
    stop.loop, stop.is_done = None, True


async def _ask_task(runner: ArmCalls, task: Task) -> list[Response]:
    async with runner.queue.turn:
        try:
            batches = await _begin_task(runner, task)
        except Unasked:
            return []
        if runner.arm.subject.card.is_local:
            return await batches.finish()
    return await batches.finish()


async def _begin_task(runner: ArmCalls, task: Task) -> _TrialBatches:
    """Make the views, fit the subject, and start the first batch."""
    arm, media = runner.arm, runner.run.media
    if runner.shared.stopped:
        raise runner.shared.stopped[0]
    views = runner.shared.take_views(task, runner.condition)
    method, by_item, faults = task.method(runner.condition), views.by_item, dict(views.faults)
    draws = [] if arm.is_recorded else by_draw(views.train_items)
    train_items = draws[arm.repeat % len(draws)] if draws else []
    if isinstance(arm.subject, Prepares):
        prepare = arm.subject.prepare
        # Of a task with its own schedule most test items are never asked.
        prepared = train_items if task.schedule is not None else [*views.tested, *train_items]
        images = [i for item in prepared if item.item_id in by_item for i in by_item[item.item_id].media()]
        try:
            await runner.shared.stop.bounded(lambda: asyncio.to_thread(prepare, images, media))
        except (SnellenError, Unasked):
            raise
        except Exception:  # noqa: BLE001  # the calls about such an image will fail
            pass
    solvable = {item.item_id: item for item in train_items if item.item_id in by_item}
    examples = without_faults(
        lambda item: training_example(by_item[item.item_id], item.answer, method, runner.as_sent), solvable, faults
    )
    reasons = [faults[item.item_id] for item in train_items if item.item_id in faults]
    if reasons and getattr(type(arm.subject), "fit", None) is not Base.fit:  # others learn nothing
        lines = "; ".join(summarize_failures(reasons))
        runner.plan.notify(f"{runner._arm_name}: {len(reasons)} training items of {task.id} are left out: {lines}")
    subject = arm.subject
    try:
        subject = await runner.shared.stop.bounded(lambda: arm.subject.fit([*examples.values()], media))
    except (SnellenError, Unasked):
        raise
    except Exception as error:  # noqa: BLE001  # subjects may raise anything
        faults |= dict.fromkeys(by_item, f"training failed: {fault_of(error)}")
    groups = method.group([by_item[item.item_id] for item in views.tested if item.item_id not in faults])
    trials = [*map(Trial, groups), *(Trial((item.view(),)) for item in views.tested if item.item_id in faults)]
    if runner.plan.is_replay and arm.subject.card.source == "recorded":  # each answer to a sheet is a trial
        ids = runner.run.trial_ids(arm.key(subject.card.fingerprint(), ""))
        trials = [part for trial in trials for part in ([trial] if trial.trial_id in ids else singles(trial))]

    # A replay asks nobody: the record alone tells which trials were asked.
    def order() -> BatchSchedule:
        if task.schedule is None and arm.decide and not runner.plan.is_replay:
            is_fitted = subject.card.fingerprint() != arm.subject.card.fingerprint()
            watch = partial(runner.plan.watch, arm.subject.card)
            decider, axes = runner.plan.decider, runner.condition.columns()
            return decider.schedule(task, trials, axes, is_fitted, watch, at_looks=arm.decide == "look")
        return (arm.schedule if runner.plan.is_replay else arm.schedule_of(task, views.tested))(trials)

    schedule = _whole_schedule(order, trials, faults)
    batches = _TrialBatches(runner, task, subject, method, schedule, faults)
    if (batch := next(schedule, None)) is not None:
        await batches.begin(batch)
    return batches


def singles(trial: Trial) -> list[Trial]:
    """The views of a trial as trials of their own."""
    return [Trial((view,)) for view in trial.views]


def _whole_schedule(
    order: Callable[[], BatchSchedule], trials: Sequence[Trial], faults: dict[str, str]
) -> BatchSchedule:
    """The schedule of an order; if it breaks off, then the other trials, whose items get the reason in `faults`."""
    begun = set[str]()
    try:
        schedule = order()
        batch = next(schedule)
        while True:
            begun |= {trial.trial_id for trial in batch}
            batch = schedule.send((yield batch))
    except StopIteration:
        return
    except Exception as error:  # noqa: BLE001  # code of suites may raise anything
        reason = fault_of(error)
    rest = tuple(trial for trial in trials if trial.trial_id not in begun)
    faults |= {view.item_id: reason for trial in rest for view in trial.views}
    yield rest


@dataclass
class _TrialBatches:
    """The trials of a task, in the batches of its schedule. `faults` are the reasons why items cannot be asked.

    Of a remote subject asked until decided, up to `AHEAD` batches are under way, so that slow calls hold up nobody; all
    count, whatever the first decides. A task's own schedule waits for the scores of each.
    """

    runner: ArmCalls
    task: Task
    subject: Subject
    method: Method
    schedule: BatchSchedule
    faults: Mapping[str, str]
    under_way: deque[list[asyncio.Task[list[Response]]]] = field(default_factory=deque)
    unread: UnreadReplies = field(default_factory=UnreadReplies)

    async def begin(self, batch: Sequence[Trial]) -> None:
        """Start the trials of a batch, each as soon as there is room for it, until the run has ended by an error.

        Recorded calls are replayed in any case.
        """
        started: list[asyncio.Task[list[Response]]] = []
        self.under_way.append(started)
        for trial in batch:
            await self.runner.queue.room.acquire()
            if self.runner.shared.stopped:
                self.runner.queue.room.release()
                break
            started.append(asyncio.create_task(self.runner.shared.watch(self._ask(trial))))

    async def _ask(self, trial: Trial) -> list[Response]:
        try:
            responses = await _ask_trial(self.runner, self.subject, self.method, trial, self.faults)
        except Unasked:
            return []
        finally:
            self.runner.queue.room.release()
        self.runner.plan.count_items(len(responses))
        if not (self.runner.plan.is_replay or self.runner.arm.is_recorded):
            self._observe(responses)
        return responses

    def _observe(self, responses: Sequence[Response]) -> None:
        """Announce the first replies if too many of them cannot be read."""
        by_id, strict = self.runner.plan.items.by_id, self.task.protocols["strict"]
        for response in responses if self.unread.replies < LAST_READ else ():
            outcome = read_one(by_id[response.item_id], response, strict)[0]
            if outcome in ("answered", "no_answer", "cut_off"):
                text = response.text or (self.runner.run.reply_text(response.calls[-1]) if response.calls else "")
                if line := self.unread.observe(text, is_read=outcome == "answered"):
                    self.runner.plan.notify(f"{self.runner._arm_name}, {self.task.id}: {line}")

    async def finish(self) -> list[Response]:
        """All responses, once the schedule has no more trials."""
        items, strict = self.runner.plan.items.by_id, self.task.protocols["strict"]
        responses: list[Response] = []
        scores: dict[str, float] = {}
        arm = self.runner.arm
        waits = self.task.schedule is not None or arm.subject.card.is_local  # for the scores before the next batch
        ahead = AHEAD if arm.decide and not waits else 1
        is_over = False
        while True:
            while not is_over and len(self.under_way) < ahead:
                try:
                    batch = self.schedule.send(scores)
                except StopIteration:
                    is_over = True
                else:
                    scores = {}
                    await self.begin(batch)
            if not self.under_way:
                return responses
            new = [r for rows in await self.runner.shared.all_of(self.under_way.popleft()) for r in rows]
            responses += new
            if self.runner.is_ended:
                is_over = True  # a schedule that depends on scores would miss some
            elif arm.is_adaptive(self.task):  # others need none
                scores = {r.item_id: primary_score(items[r.item_id], r, strict) for r in new}


async def _ask_trial(
    runner: ArmCalls, subject: Subject, method: Method, trial: Trial, faults: Mapping[str, str]
) -> list[Response]:
    card, arm = subject.card, runner.arm
    fingerprint, condition = card.fingerprint(), str(arm.condition)
    key_prefix = arm.key(fingerprint, trial.trial_id)
    dialogue, calls = method.run(trial.views), list[str]()

    def responses(
        status: Status, texts: Mapping[str, str | None], reason: str = "", last: Reply | None = None
    ) -> list[Response]:
        # Of a reply that was cut off, answers that the method found in it are complete, unlike the whole text.
        part = {None, last.text} if last and last.is_cut_off else set[str | None]()
        return [
            Response(
                arm.key(fingerprint, view.item_id),
                card.name,
                fingerprint,
                view.item_id,
                view.task,
                condition,
                arm.repeat,
                status,
                texts.get(view.item_id),
                reason,
                reply_as_sent(view, card),
                tuple(calls),
                texts.get(view.item_id) in part,
            )
            for view in trial.views
        ]

    if reason := next((faults[view.item_id] for view in trial.views if view.item_id in faults), None):
        return responses("failed", {}, reason)
    received: list[Reply] | None = None
    while True:
        try:
            prompts = next(dialogue) if received is None else dialogue.send(tuple(received))
            reason = next(filter(None, map(subject.declines, prompts)), None)
        except StopIteration as stop:
            return responses("ok", stop.value, last=received[-1] if received else None)
        except Exception as error:  # noqa: BLE001  # code of suites may raise anything
            return responses("failed", {}, fault_of(error))
        if reason:
            return responses("declined", {}, reason)
        keys = [f"{key_prefix}/{len(calls) + step}" for step in range(len(prompts))]
        calls += keys
        if len(prompts) == 1:
            replies = [await runner.call(keys[0], subject, prompts[0])]
        else:
            replies = await runner.shared.all_of(runner.call(k, subject, p) for k, p in zip(keys, prompts, strict=True))
        received = [reply for reply in replies if reply is not None]
        if len(received) < len(replies):
            return responses("failed", {}, runner.run.error(keys[replies.index(None)]))
