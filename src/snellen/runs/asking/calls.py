"""Calls of a run: what its arms share, and the calls of one arm, recorded or made within its budget and failures."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeVar

from snellen.core.condition import Condition
from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Item, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.response import Exchange
from snellen.core.seeds import stream
from snellen.core.storage.runfolder import RunFolder
from snellen.core.subject import Subject
from snellen.core.suite import Task, ViewContext
from snellen.runs.asking.failures import CutOffs, FailureRate, LastingFailures, fault_of
from snellen.runs.asking.preview import expected_cost
from snellen.runs.asking.stopping import Budget, BudgetSpent, RunStop, Unasked
from snellen.runs.asking.views import lay_out_montages, show_items
from snellen.runs.planning.plan import Arm, Plan, select_test_items

T = TypeVar("T")


@dataclass(frozen=True)
class SubjectQueue:
    """Limits of one subject's calls: at most `max_concurrency` at a time over all its arms and tasks (`gate`).

    `room` limits the trials started, so that later ones need no memory. `turn` is the lock held while a task's trials
    are started, so that tasks start in the order of the plan. `lasting` failures end all calls.
    """

    gate: asyncio.Semaphore
    room: asyncio.Semaphore
    turn: asyncio.Lock
    lasting: LastingFailures = field(default_factory=LastingFailures)


@dataclass(frozen=True)
class TaskViews:
    """A task's items under one condition: test items, training items, the views of both, or why there are none."""

    tested: Sequence[Item]
    train_items: Sequence[Item]
    by_item: Mapping[str, View]
    faults: Mapping[str, str]


@dataclass(frozen=True)
class RunState:
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
    views: dict[tuple[str, str], TaskViews] = field(default_factory=dict)

    def take_views(self, task: Task, condition: Condition) -> TaskViews:
        """The views of a task under a settled condition, made once for all arms."""
        key = task.id, str(condition)
        views = self.views.pop(key) if key in self.views else self._make_views(task, condition)
        self.takers[key] -= 1
        if self.takers[key] > 0:
            self.views[key] = views
        return views

    def _make_views(self, task: Task, condition: Condition) -> TaskViews:
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
        return TaskViews(tested, train_items, views, faults)

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
class ArmCalls:
    """Makes the calls of one arm, under its condition as settled for its subject."""

    shared: RunState
    arm: Arm
    condition: Condition
    queue: SubjectQueue
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
        from snellen.analysis.tables.run_view import arm_name

        return arm_name(self.arm.subject.card.name, str(self.arm.condition))

    async def call(self, key: str, subject: Subject, prompt: Prompt) -> Reply | None:
        """The recorded reply, or a new one, which is recorded; None if the call failed."""
        digest = prompt.digest()
        limit = None if self.plan.is_replay else subject.card.token_limit
        if (reply := self.run.recall(key, digest, limit)) is None:
            if self.plan.is_replay:
                if not self.run.failed(key, digest):
                    raise Unasked
                sent = prompt
                with suppress(Exception):  # it may be what failed
                    sent = self.as_sent(prompt)
                self.run.sent(digest, sent.record())
                return None
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
