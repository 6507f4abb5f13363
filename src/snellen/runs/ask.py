"""The ask loop: runs methods and schedules, records every exchange, and resumes by replay."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from snellen.analysis.run_view import arm_name
from snellen.compute.event_loop import run_to_end
from snellen.core.condition import Condition
from snellen.core.errors import CallFailed, Interrupted, SnellenError
from snellen.core.item import Item, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.response import Exchange, Response, Status
from snellen.core.seeds import stream
from snellen.core.storage.runfolder import RunCard, RunFolder, has_tables, open_run, other_responses, read_responses
from snellen.core.subject import Base, Prepares, Subject
from snellen.core.suite import Method, Task, Trial, ViewContext, settle
from snellen.runs.deciding import BatchSchedule
from snellen.runs.failures import (
    LAST_READ,
    CutOffs,
    FailureRate,
    LastingFailures,
    UnreadReplies,
    fault_of,
    summarize_failures,
    without_faults,
)
from snellen.runs.plan import Arm, Plan, prices, recorded_responses, run_card, select_test_items
from snellen.runs.preview import expected_cost
from snellen.runs.score import primary_score, read_one
from snellen.runs.stopping import Budget, BudgetSpent, RunStop, Unasked
from snellen.runs.views import lay_out_montages, reply_as_sent, show_items, training_example

T = TypeVar("T")
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
        others = other_responses(root, {(arm.subject.card.name, str(arm.condition), arm.repeat) for arm in plan.arms})
        for exchange in plan.preflight:
            run.record(exchange)
        for key, parts in (sent for record in plan.records for sent in record.sent):
            run.sent(key, parts)
        try:
            with stop.on_signals(root):
                run_to_end(_ask_all(run, plan, stop, responses))
        except Interrupted:
            if stop.loop is not None:  # else all responses exist, and only threads are still running
                raise
        if stop.cause is not None or plan.is_replay:
            others += _unrecorded(root, plan, responses)
        run.write_tables(responses, others)
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
    arms = {(arm.subject.card.name, str(arm.condition), arm.repeat) for arm in plan.arms}
    response_ids = {response.response_id for response in responses}
    return [
        response
        for response in read_responses(root)
        if (response.subject, response.condition, response.repeat) in arms
        and (response.subject, response.fingerprint) in current
        and response.response_id not in response_ids
    ]


@dataclass(frozen=True)
class _SubjectQueue:
    """Limits of one subject's calls: at most `max_concurrency` at a time over all its arms and tasks (`gate`).

    `room` limits the trials started, so that later ones need no memory. `turn` is the lock held while a task's trials
    are started, so that tasks start in the order of the plan. `lasting` failures end all calls.
    """

    gate: asyncio.Semaphore
    room: asyncio.Semaphore
    turn: asyncio.Lock
    lasting: LastingFailures = field(default_factory=LastingFailures)


@dataclass(frozen=True)
class _Views:
    """A task's items under one condition: test items, training items, the views of both, or why there are none."""

    tested: Sequence[Item]
    train_items: Sequence[Item]
    by_item: Mapping[str, View]
    faults: Mapping[str, str]


@dataclass(frozen=True)
class _Shared:
    """State shared by all arms of a run.

    `takers` counts the arms that still need a task's views under a settled condition; `views` are kept until the last
    one has taken them. `stopped` holds unexpected errors; `stop` is an orderly end; `budget` is None without a limit.
    """

    run: RunFolder
    plan: Plan
    budget: Budget | None
    stop: RunStop
    takers: Counter[tuple[str, str]] = field(default_factory=Counter)
    stopped: list[BaseException] = field(default_factory=list)
    views: dict[tuple[str, str], _Views] = field(default_factory=dict)

    def take_views(self, task: Task, condition: Condition) -> _Views:
        """The views of a task under a settled condition, made once for all arms."""
        key = task.id, str(condition)
        views = self.views.pop(key) if key in self.views else self._make_views(task, condition)
        self.takers[key] -= 1
        if self.takers[key] > 0:
            self.views[key] = views
        return views

    def _make_views(self, task: Task, condition: Condition) -> _Views:
        plan = self.plan
        tested, train_items = list[Item](), list[Item]()
        views, faults = dict[str, View](), dict[str, str]()
        for instalment in plan.items.instalments:  # the views of an instalment stay when the set grows
            items = [item for item in instalment if item.task == task.id]
            limit = None if plan.limit is None else max(0, plan.limit - len(tested))
            new = select_test_items(items, task, condition, limit)
            new_train = [item for item in items if item.split == task.train_split and task.asks(item, condition)]
            context = ViewContext(condition, items, plan.annotations)
            views |= show_items([*new, *new_train], context, task, plan.seed, self.run.media, faults)
            tested, train_items = tested + new, train_items + new_train
        return _Views(tested, train_items, views, faults)

    async def watch(self, awaitable: Awaitable[T]) -> T:
        """The result; an error stops the run, so that no new call is made."""
        try:
            return await awaitable
        except Unasked:
            raise
        except BaseException as error:
            self.stopped.append(error)
            raise

    async def all_of(self, awaitables: Iterable[Awaitable[T]]) -> list[T]:
        """All results. An error, or Unasked, is raised after running calls have been recorded."""
        results = await asyncio.gather(*map(self.watch, awaitables), return_exceptions=True)
        if self.stopped:
            raise self.stopped[0]
        if any(isinstance(result, Unasked) for result in results):
            raise Unasked
        return [result for result in results if not isinstance(result, BaseException)]


@dataclass(frozen=True)
class _ArmRunner:
    """Makes the calls of one arm, under its condition as settled for its subject."""

    shared: _Shared
    arm: Arm
    condition: Condition
    queue: _SubjectQueue
    rate: FailureRate
    cut_offs: CutOffs

    @property
    def run(self) -> RunFolder:
        """The record."""
        return self.shared.run

    @property
    def plan(self) -> Plan:
        """The plan of the run."""
        return self.shared.plan

    @property
    def _arm_name(self) -> str:
        return arm_name(self.arm.subject.card.name, str(self.arm.condition))

    async def call(self, key: str, subject: Subject, prompt: Prompt) -> Reply | None:
        """The recorded reply, or a new one, which is recorded; None if the call failed."""
        digest = prompt.digest()
        limit = None if self.plan.is_replay else subject.card.token_limit
        if (reply := self.run.recall(key, digest, limit)) is None:
            if self.plan.is_replay:
                if self.run.failed(key, digest):
                    return None
                raise Unasked
            async with self.queue.gate, self._paid(subject, prompt):
                sent, rng, error, is_lasting = prompt, stream("call", self.plan.seed, key), "", False
                try:
                    try:
                        sent = self.as_sent(prompt)
                    except Exception as fault:
                        raise CallFailed(fault_of(fault)) from fault
                    reply = await self.shared.stop.bounded(lambda: subject.answer(sent, self.run.media, rng))
                except CallFailed as failure:
                    error, is_lasting = str(failure) or type(failure).__name__, failure.is_lasting
                except (SnellenError, Unasked):  # a subject that cannot be used is bad input
                    raise
                except Exception as fault:  # noqa: BLE001  # subjects may raise anything; all of it is a failed call
                    error = fault_of(fault)
                reply = self.run.record(Exchange(key, digest, reply, error))
            self._observe(CallFailed(self.run.error(key), is_lasting=is_lasting) if reply is None else None)
        else:
            sent = self.as_sent(prompt)
        if reply is not None:
            self.cut_offs.observe(reply)
        self.run.sent(digest, sent.record())
        self.plan.tick()
        return reply

    @property
    def is_ended(self) -> bool:
        """True if this arm makes no more calls."""
        ends = self.shared.stopped, self.shared.stop.cause, self.queue.lasting.end, self.rate.end, self.cut_offs.end
        return any(map(bool, ends))

    def _check(self) -> None:
        """Raise the error that stopped the run, or Unasked if no more calls are to be made."""
        if self.shared.stopped:
            raise self.shared.stopped[0]
        if self.plan.deadline is not None and time.monotonic() >= self.plan.deadline:
            self.shared.stop.begin(BudgetSpent(f"{self.run.root}: its time is spent; replies so far are scored"))
        if end := self.cut_offs.announce():
            self.plan.notify(f"{self._arm_name} is no longer asked: {end}")
        if self.is_ended:
            raise Unasked

    def _observe(self, failure: CallFailed | None) -> None:
        """Note how a call ended; a subject or an arm that fails too often is no longer asked."""
        subject = self.arm.subject.card.name
        if self.queue.lasting.end:
            return
        counters = (subject, self.queue.lasting), (self._arm_name, self.rate)
        for name, failures in counters:
            before = failures.end
            failures.observe(failure)
            if failures.end != before:
                self.plan.notify(f"{name} is no longer asked: {failures.end}")
                return

    def as_sent(self, prompt: Prompt) -> Prompt:
        """The prompt with montages drawn, for subjects that read parts; unchanged for those that read views."""
        return lay_out_montages(prompt, self.run.media) if self.arm.subject.card.reads == "parts" else prompt

    @asynccontextmanager
    async def _paid(self, subject: Subject, prompt: Prompt) -> AsyncIterator[None]:
        """Wait for money to make the call in the block. Raises Unasked if no more calls are to be made.

        Calls under way may cost less than expected, so the run stops after they have ended: what is spent is final.
        """
        self._check()
        budget, fingerprint = self.shared.budget, subject.card.fingerprint()
        if budget is None or not any(budget.prices.get(fingerprint, ())):
            yield
            return
        if self.run.mean_cost(fingerprint, budget.prices) is None:
            cost = expected_cost(prompt, subject.card, self.run.media, budget.prices[fingerprint])
            budget.first_costs[fingerprint] = max(cost, budget.first_costs.get(fingerprint, 0.0))
        while not budget.is_enough(fingerprint):
            if budget.under_way.total():
                await budget.ended.wait()
            else:
                self.shared.stop.begin(BudgetSpent(f"{self.run.root}: {budget.state(fingerprint)}"))
            self._check()
        budget.under_way[fingerprint] += 1
        try:
            yield
        finally:
            budget.end(fingerprint)


async def _ask_all(run: RunFolder, plan: Plan, stop: RunStop, responses: list[Response]) -> None:
    """Ask all arms and tasks concurrently, those of one subject in the order of the plan; fills `responses`."""
    stop.loop = asyncio.get_running_loop()
    budget = None if plan.budget is None else Budget(plan.budget, run, prices(plan, run.root))
    shared, queues, local_turn = _Shared(run, plan, budget, stop), dict[str, _SubjectQueue](), asyncio.Lock()
    jobs = list[Coroutine[Any, Any, list[Response]]]()
    for arm in plan.arms:
        card = arm.subject.card
        if plan.records and card.is_local:
            jobs.append(asyncio.sleep(0, recorded_responses(plan, arm)))
            continue
        gate, room = (asyncio.Semaphore(card.max_concurrency) for _ in range(2))
        queue = _SubjectQueue(gate, room, local_turn if card.is_local else asyncio.Lock())
        condition = settle(arm.condition, plan.suite, card)
        queue = queues.setdefault(card.fingerprint(), queue)
        may_end = not (plan.keep_going or arm.is_recorded)
        rate, cut_offs = FailureRate(may_end), CutOffs(may_end)
        runner = _ArmRunner(shared, arm, condition, queue, rate, cut_offs)
        tasks = [task for task in plan.suite.tasks.values() if arm.asks(task) and plan.items.task(task.id)]
        shared.takers.update((task.id, str(condition)) for task in tasks)
        jobs += [_ask_task(runner, task) for task in tasks]
    responses += [response for rows in await shared.all_of(jobs) for response in rows]
    stop.loop = None


async def _ask_task(runner: _ArmRunner, task: Task) -> list[Response]:
    async with runner.queue.turn:
        try:
            batches = await _begin_task(runner, task)
        except Unasked:
            return []
        if runner.arm.subject.card.is_local:
            return await batches.finish()
    return await batches.finish()


async def _begin_task(runner: _ArmRunner, task: Task) -> _TrialBatches:
    """Make the views, fit the subject, and start the first batch."""
    arm, media = runner.arm, runner.run.media
    if runner.shared.stopped:
        raise runner.shared.stopped[0]
    views = runner.shared.take_views(task, runner.condition)
    method, by_item, faults = task.method(runner.condition), views.by_item, dict(views.faults)
    train_items = [] if arm.is_recorded else views.train_items
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
        name, lines = arm_name(arm.subject.card.name, str(arm.condition)), "; ".join(summarize_failures(reasons))
        runner.plan.notify(f"{name}: {len(reasons)} training items of {task.id} are left out: {lines}")
    subject = arm.subject
    try:
        subject = await runner.shared.stop.bounded(lambda: arm.subject.fit([*examples.values()], media))
    except (SnellenError, Unasked):
        raise
    except Exception as error:  # noqa: BLE001  # subjects may raise anything
        faults |= dict.fromkeys(by_item, f"training failed: {fault_of(error)}")
    groups = method.group([by_item[item.item_id] for item in views.tested if item.item_id not in faults])
    trials = [*map(Trial, groups), *(Trial((item.view(),)) for item in views.tested if item.item_id in faults)]
    if runner.plan.is_replay:  # recorded answers to a sheet are one trial each
        ids = runner.run.trial_ids(arm.key(subject.card.fingerprint(), ""))
        trials = [part for trial in trials for part in ([trial] if trial.trial_id in ids else singles(trial))]

    # A replay asks nobody: the record alone tells which trials were asked.
    def order() -> BatchSchedule:
        if arm.decide == "drop" and runner.plan.drop is not None:
            return runner.plan.drop.schedule(task, trials, str(arm.condition))
        if task.schedule is None and arm.decide and arm.decide != "drop" and not runner.plan.is_replay:
            is_fitted = subject.card.fingerprint() != arm.subject.card.fingerprint()
            return runner.plan.decider.schedule(task, trials, runner.condition.columns(), is_fitted)
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
    count, whatever the first decides.
    """

    runner: _ArmRunner
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
        ahead = AHEAD if arm.decide and not arm.subject.card.is_local else 1
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
    runner: _ArmRunner, subject: Subject, method: Method, trial: Trial, faults: Mapping[str, str]
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
