"""Batches concurrent calls."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeAlias, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")
_Queue: TypeAlias = "deque[tuple[Job, asyncio.Future[Result]]]"

WAIT_S = 0.02
"""Seconds that an incomplete batch waits for another job after the last one."""


class Batches(Generic[Job, Result]):
    """Collects jobs and runs up to `size` of them at once, in a thread.

    `work` takes jobs and returns a result for each, or the exception to raise. Only jobs with the same `alike` share a
    batch. A batch starts when it is full, or when no job has come for `wait` seconds; the next one gathers meanwhile.
    """

    def __init__(
        self,
        work: Callable[[Sequence[Job]], Sequence[Result | Exception]],
        size: int,
        alike: Callable[[Job], Hashable] = lambda job: None,
        wait: float = WAIT_S,
    ) -> None:
        self.work, self.size, self.alike, self.wait = work, size, alike, wait
        # By event loop, since one subject may be asked in several. Entries exist only while there is work.
        self._queues: dict[asyncio.AbstractEventLoop, tuple[_Queue[Job, Result], asyncio.Task[None]]] = {}

    async def do(self, job: Job) -> Result:
        """The result of this job. Raises what its work raised."""
        loop = asyncio.get_running_loop()
        if loop not in self._queues:
            fresh: _Queue[Job, Result] = deque()
            self._queues[loop] = fresh, loop.create_task(self._work_off(fresh))
        future: asyncio.Future[Result] = loop.create_future()
        self._queues[loop][0].append((job, future))
        return await future

    async def _work_off(self, queue: _Queue[Job, Result]) -> None:
        try:
            while queue:
                await self._gather(queue)
                if batch := self._next(queue):
                    await self._finish(batch)
        finally:
            del self._queues[asyncio.get_running_loop()]
            for _, future in queue:
                future.cancel()

    async def _gather(self, queue: _Queue[Job, Result]) -> None:
        count = 0
        while count < len(queue) < self.size:
            count = len(queue)
            await asyncio.sleep(self.wait)

    def _next(self, queue: _Queue[Job, Result]) -> list[tuple[Job, asyncio.Future[Result]]]:
        """Remove and return the first job and those like it, in order; cancelled ones are dropped."""
        waiting = [pair for pair in queue if not pair[1].done()]
        queue.clear()
        batch: list[tuple[Job, asyncio.Future[Result]]] = []
        for pair in waiting:
            fits = len(batch) < self.size and (not batch or self.alike(pair[0]) == self.alike(batch[0][0]))
            (batch if fits else queue).append(pair)
        return batch

    async def _finish(self, batch: Sequence[tuple[Job, asyncio.Future[Result]]]) -> None:
        results: Sequence[Result | Exception]
        try:
            results = await asyncio.to_thread(self.work, [job for job, _ in batch])
        except Exception as error:  # noqa: BLE001  # raised to the caller of every job
            results = [error] * len(batch)
        for (_, future), result in zip(batch, results, strict=True):
            if future.done():
                continue
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)
