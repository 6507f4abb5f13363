"""How a run ends before all is asked: money or time is spent, or a signal comes. What was asked is kept."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TypeVar

from snellen.core.errors import Interrupted, SnellenError

T = TypeVar("T")
GRACE_SECONDS = 5.0
"""How long calls under way at a signal may take to come back and be recorded."""
STUCK_SECONDS = 1.0
"""A loop that does not turn for so long after that is stuck."""
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class BudgetSpent(SnellenError):
    """The money or the time is spent; what was asked is recorded."""


class Unasked(Exception):
    """A call that is not made any more, or was cut off: what it is about gets no response."""


@dataclass
class RunStop:
    """Why a run makes no more calls, and the calls under way.

    `loop` is where the run is asked, None before and after. After a signal `deadline` is when, by the loop's clock, the
    last call is cut off.
    """

    cause: BudgetSpent | Interrupted | None = None
    loop: asyncio.AbstractEventLoop | None = None
    deadline: float | None = None
    limits: set[asyncio.Timeout] = field(default_factory=set)

    def begin(self, cause: BudgetSpent | Interrupted) -> None:
        """No call is made from now on; those under way may end."""
        self.cause = self.cause or cause

    async def bounded(self, work: Callable[[], Awaitable[T]]) -> T:
        """What it returns. Raises Unasked where it is still under way some seconds after a signal."""
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
        """A signal came: calls under way have some seconds left."""
        self.begin(
            Interrupted(
                signal_number,
                f"{root}: stopped by {signal.Signals(signal_number).name}; every reply so far is kept, the same "
                f"command goes on from here, and `snellen report {root} --out REPORT` shows what there is",
            )
        )
        if self.loop is not None:
            self.deadline = self.loop.time() + GRACE_SECONDS
            for limit in self.limits:
                limit.reschedule(self.deadline)

    @contextmanager
    def on_signals(self, root: Path) -> Iterator[None]:
        """Within, the first SIGINT or SIGTERM stops the run in good order, the second at once, by raising Interrupted.

        So does the first where the loop is stuck. Python handles signals in its main thread alone: elsewhere nothing
        changes, nor for a signal that this process was told to ignore, as shells tell commands in the background.
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

        heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        former = {number: signal.signal(number, handle) for number in heeded}
        try:
            yield
        finally:
            is_over.set()
            for number, handler in former.items():
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _guard(self, signal_number: int, is_over: threading.Event) -> None:
        """Give the signal again when calls have had their time and the loop does not turn, or waits for threads."""
        wait = GRACE_SECONDS + STUCK_SECONDS
        while not is_over.wait(wait):
            turns, wait = threading.Event(), STUCK_SECONDS
            if self.loop is not None:
                self.loop.call_soon_threadsafe(turns.set)
            if not turns.wait(STUCK_SECONDS) and not is_over.is_set():
                os.kill(os.getpid(), signal_number)
                return
