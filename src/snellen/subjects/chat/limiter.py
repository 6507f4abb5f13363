"""Limits concurrent calls to one service: starts low, grows while calls succeed, shrinks after a status 429."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

START = 20
"""Initial number of concurrent calls."""
FULL = 0.8
"""The limit grows after a round only if at least this share of it was used."""
CUT = 0.8
"""Factor of the limit after a 429."""
GROWTH = 0.05
"""Share of the limit added by a clean round after the first 429; before, a clean round doubles it."""
COOLDOWN_S = 15.0
"""Seconds after a cut during which no other cut is made and replies do not count: those calls began before it."""


class Limiter:
    """Lets calls through in order, at most `limit` at once: from `START` up to `most`, at least 1.

    A round is as many replies as the limit allows calls. `clock` is in seconds. It may be used in several event loops
    in turn; the limit stays.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self.clock = most, clock
        self.limit = min(START, most)
        self._under_way = self._peak = self._clean = 0
        self._was_cut, self._cool_until = False, 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        if self._under_way >= self.limit or self._waiting:
            await self._turn()
        else:
            self._under_way += 1
        self._peak = max(self._peak, self._under_way)

    async def __aexit__(self, *error: object) -> None:
        self._under_way -= 1
        self._wake()

    async def _turn(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if not future.cancelled():  # let through, but cancelled before it could continue
                self._under_way -= 1
                self._wake()
            raise

    def _wake(self) -> None:
        while self._waiting and self._under_way < self.limit:
            future = self._waiting.popleft()
            if not future.done():  # else its call was cancelled
                self._under_way += 1
                future.set_result(None)

    def replied(self) -> None:
        """Count a successful call."""
        if self.clock() < self._cool_until:
            return
        self._clean += 1
        if self._clean < self.limit:
            return
        if self._peak >= FULL * self.limit:
            more = max(1, round(GROWTH * self.limit)) if self._was_cut else self.limit
            self.limit = min(self.limit + more, self.most)
            self._wake()
        self._begin_round()

    def cut(self) -> None:
        """Lower the limit after a 429."""
        self._begin_round()
        self._was_cut = True
        if (now := self.clock()) >= self._cool_until:
            self.limit = max(1, int(CUT * self.limit))
            self._cool_until = now + COOLDOWN_S

    def _begin_round(self) -> None:
        self._clean, self._peak = 0, self._under_way


_limiters: dict[str, Limiter] = {}


def shared_limiter(account: str, most: int) -> Limiter:
    """The limiter of an account and model at a service, for all subjects that have them in common."""
    return _limiters.setdefault(account, Limiter(most))
