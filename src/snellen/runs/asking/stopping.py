"""Stopping a run early: by budget, time or signal. All replies so far are kept."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TypeVar

from snellen.core.errors import Interrupted, SnellenError
from snellen.core.storage.runfolder import RunFolder

T = TypeVar("T")
GRACE_SECONDS = 5.0
"""Time for running calls to end and be recorded after a signal."""
STUCK_SECONDS = 1.0
"""An event loop that does not respond for this long after that is stuck."""
FIRST_SHARE = 0.1
"""Share of the money left that may be reserved before a subject's first reply, as estimates ignore long replies."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class BudgetSpent(SnellenError):
    """The budget or the time is spent; all replies so far are recorded."""


class Unasked(Exception):
    """A call that was not made or was cut off; its items get no response."""


@dataclass
class Budget:
    """Money of a run, at most `limit`. `run` records what is spent, `prices` are by fingerprint, `ended` wakes others.

    A call may start if its expected cost fits into the limit, with what is spent and what those under way should cost.
    A call should cost the mean of its subject's finished calls or, if there is none, the estimate in `first_costs`.
    """

    limit: float
    run: RunFolder
    prices: Mapping[str, tuple[float, float]]
    first_costs: dict[str, float] = field(default_factory=dict)
    under_way: Counter[str] = field(default_factory=Counter)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def call_cost(self, fingerprint: str) -> float:
        """The expected cost of a call."""
        mean = self.run.mean_cost(fingerprint, self.prices)
        return self.first_costs.get(fingerprint, 0.0) if mean is None else mean

    def is_enough(self, fingerprint: str) -> bool:
        """True if another call of this subject may start."""
        left = self.limit - self.run.spent(self.prices)
        if self.under_way[fingerprint] and self.run.mean_cost(fingerprint, self.prices) is None:
            left *= FIRST_SHARE
        reserved = sum(count * self.call_cost(name) for name, count in self.under_way.items())
        return reserved + self.call_cost(fingerprint) <= left + 1e-9  # ten calls of 0.1 fit into 1

    def state(self, fingerprint: str) -> str:
        """Why no further call of this subject starts."""
        spent, cost = self.run.spent(self.prices), self.call_cost(fingerprint)
        money = f"{spent:.4f} is spent of a budget of {self.limit:.4f}, and the next call costs about {cost:.4f}"
        return f"{money}; the same command with a larger budget continues"

    def end(self, fingerprint: str) -> None:
        """Release what was reserved for a call that has ended; its reply is recorded."""
        self.under_way[fingerprint] -= 1
        self.ended.set()
        self.ended = asyncio.Event()


@dataclass
class RunStop:
    """The reason why a run makes no more calls, and limits of running calls.

    `loop` is the run's event loop, None before and after; `is_done` is true when all responses exist. `deadline` is the
    time on the loop's clock at which calls are cut off after a signal.
    """

    cause: BudgetSpent | Interrupted | None = None
    loop: asyncio.AbstractEventLoop | None = None
    is_done: bool = False
    deadline: float | None = None
    limits: set[asyncio.Timeout] = field(default_factory=set)

    def begin(self, cause: BudgetSpent | Interrupted) -> None:
        """Make no more calls; running ones may end."""
        self.cause = self.cause or cause

    async def bounded(self, work: Callable[[], Awaitable[T]]) -> T:
        """The result of `work`. Raises Unasked if it is still running some seconds after a signal."""
        try:
            async with asyncio.timeout_at(self.deadline) as limit:
                self.limits.add(limit)
                return await work()
        except TimeoutError:
            if limit.expired():
                raise Unasked from None
            raise
        finally:
            self.limits.discard(limit)

    def interrupt(self, signal_number: int, root: Path) -> None:
        """Handle a signal: running calls have some seconds left."""
        self.begin(
            Interrupted(
                signal_number,
                f"{root}: stopped by {signal.Signals(signal_number).name}; every reply so far is kept, the same "
                f"command continues from here, and `snellen report {root} --out REPORT` shows the results so far",
            )
        )
        if self.loop is not None:
            self.deadline = self.loop.time() + GRACE_SECONDS
            for limit in self.limits:
                limit.reschedule(self.deadline)

    @contextmanager
    def on_signals(self, root: Path) -> Iterator[None]:
        """Within the block, the first SIGINT or SIGTERM stops the run in order, the second raises Interrupted at once.

        So does the first if the loop is stuck. Nothing changes outside the main thread, since Python handles signals
        only there, and for signals that this process ignores, as shells set for background commands.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        is_over, guards = threading.Event(), list[threading.Thread]()

        def handle(signal_number: int, stack_frame: FrameType | None) -> None:
            if guards:
                raise Interrupted(signal_number)
            guards.append(threading.Thread(target=self._guard, args=(signal_number, is_over), daemon=True))
            guards[0].start()
            if self.loop is None:
                self.interrupt(signal_number, root)
            else:
                self.loop.call_soon_threadsafe(self.interrupt, signal_number, root)

        handled = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        former = {number: signal.signal(number, handle) for number in handled}
        try:
            yield
        finally:
            is_over.set()
            for number, handler in former.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _guard(self, signal_number: int, is_over: threading.Event) -> None:
        """Send the signal again if the loop is stuck, or waits for threads, after calls have had their time."""
        wait = GRACE_SECONDS + STUCK_SECONDS
        while not is_over.wait(wait):
            responded, wait = threading.Event(), STUCK_SECONDS
            if self.loop is not None:
                self.loop.call_soon_threadsafe(responded.set)
            if not responded.wait(STUCK_SECONDS) and not is_over.is_set():
                os.kill(os.getpid(), signal_number)
                return
