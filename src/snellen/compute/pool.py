"""Map a function over idempotent shards, here or in a pool of processes."""

from __future__ import annotations

import dataclasses
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process
from typing import Generic, TypeVar

from snellen.compute.progress import Progress
from snellen.core.errors import SnellenError

Work = TypeVar("Work")
Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class Shard(Generic[Work]):
    """A piece of work that can be done again without harm; `size` is how many steps of progress it is worth."""

    name: str
    work: Work
    size: int = 1


class ShardFailed(RuntimeError):
    """A shard broke; the message names it, `__cause__` holds what happened."""


def map_shards(
    function: Callable[[Work], Result],
    shards: Sequence[Shard[Work]],
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """`function(shard.work)` for every shard, results in the order of the shards.

    With `workers` above 1, in freshly started processes: the function must be importable and the script guarded by
    `if __name__ == "__main__"`. The first failure ends the work: a SnellenError stays one, with the shard's name added,
    anything else becomes ShardFailed. Ctrl-C ends the workers at once.
    """
    if workers < 1:
        raise SnellenError(f"workers must be at least 1, got {workers}")
    if progress is not None:
        progress.expect(sum(shard.size for shard in shards))
    results: dict[int, Result] = {}
    if min(workers, len(shards)) <= 1:
        for index, shard in enumerate(shards):
            with _named(shard.name):
                results[index] = function(shard.work)
            _advance(progress, shard)
        return list(results.values())
    with _pool(min(workers, len(shards)), _ignore_interrupts) as pool:
        places: dict[Future[Result], int] = {pool.submit(function, shard.work): i for i, shard in enumerate(shards)}
        for future in as_completed(places):
            shard = shards[places[future]]
            results[places[future]] = _result(future, shard.name)
            _advance(progress, shard)
    return [results[index] for index in range(len(shards))]


@contextmanager
def map_ahead(function: Callable[[Work], Result], shards: Sequence[Shard[Work]]) -> Iterator[Iterator[Result]]:
    """`function(shard.work)` for one shard after the other, in a process that goes on while a result is used.

    Failures are as those of `map_shards`. Leaving the block by an error or Ctrl-C ends the process and all that it has
    started.
    """
    with _pool(1, _end_with_children) as pool:
        futures = [pool.submit(function, shard.work) for shard in shards]
        yield (_result(future, shard.name) for future, shard in zip(futures, shards, strict=True))


def _result(future: Future[Result], name: str) -> Result:
    with _named(name):
        return future.result()


def _advance(progress: Progress | None, shard: Shard[Work]) -> None:
    if progress is not None:
        progress.advance(shard.size)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Whatever goes wrong inside carries the shard's name."""
    try:
        yield
    except SnellenError as error:
        raise SnellenError(f"{error} (shard {name})") from error
    except BrokenProcessPool as error:
        message = f"a worker process died while shard {name} was waiting or running; was it killed, or out of memory?"
        raise ShardFailed(message) from error
    except Exception as error:
        raise ShardFailed(f"shard {name} failed: {type(error).__name__}: {error}") from error


@contextmanager
def _pool(workers: int, initializer: Callable[[], None]) -> Iterator[ProcessPoolExecutor]:
    """A pool that is gone when its block is left by an error or Ctrl-C, running shards included."""
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=initializer)
    try:
        yield pool
    except BaseException:
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        raise
    pool.shutdown()


def _ignore_interrupts() -> None:
    """Ctrl-C is the parent's to handle: it ends the workers. One that lost its parent ends by itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _end_with_children() -> None:
    """As `_ignore_interrupts`, for a worker that has a pool of its own: ended by its parent, it ends that too."""
    _ignore_interrupts()

    def end(*_: object) -> None:
        for process in active_children():
            process.terminate()
        os._exit(1)

    signal.signal(signal.SIGTERM, end)
