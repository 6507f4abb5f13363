"""Mapping a function over idempotent shards: in this process, in a process pool, or on a cluster."""

from __future__ import annotations

import dataclasses
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, as_completed, wait
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

from snellen.compute.executor import cluster
from snellen.compute.processes import (
    SharedPool,
    end_with_children,
    end_with_children_at_lowest_priority,
    ignore_interrupts,
    process_pool,
    shared_connection,
    shared_pool,
    sharing_processes,
)
from snellen.compute.progress import Progress
from snellen.core.errors import SnellenError

Work = TypeVar("Work")
Result = TypeVar("Result")
SCRIPT = b"__main__"
"""The module name of the script that runs, as it occurs in pickled data."""


@dataclasses.dataclass(frozen=True)
class Shard(Generic[Work]):
    """A unit of work that can safely be repeated; `size` is its number of progress steps."""

    name: str
    work: Work
    size: int = 1


class ShardFailed(RuntimeError):
    """A shard failed. The message names it, `__cause__` is the error."""


def map_shards(
    function: Callable[[Work], Result],
    shards: Sequence[Shard[Work]],
    *,
    workers: int = 1,
    progress: Progress | None = None,
    gpus: int = 0,
) -> list[Result]:
    """`function(shard.work)` for every shard, results in the order of the shards (`each_result`)."""
    results = dict(each_result(function, shards, workers=workers, progress=progress, gpus=gpus))
    return [results[index] for index in range(len(shards))]


def each_result(
    function: Callable[[Work], Result],
    shards: Sequence[Shard[Work]],
    *,
    workers: int = 1,
    progress: Progress | None = None,
    gpus: int = 0,
) -> Generator[tuple[int, Result]]:
    """(index, `function(shard.work)`) of every shard as it ends.

    With `workers` above 1, shards run in newly started processes, or in those of `shared_pool`: the function must be
    importable. If function or work are defined in the script itself, it must be guarded by
    `if __name__ == "__main__"`. Within `executing("ray")` they run in workers of the cluster, whose number the cluster
    decides; each shard takes `gpus` GPUs there. The first failure ends the work: a SnellenError remains one, with the
    shard's name added; any other becomes ShardFailed. Ctrl-C ends the workers at once.
    """
    if workers < 1:
        raise SnellenError(f"workers must be at least 1, got {workers}")
    if progress is not None:
        progress.expect(sum(shard.size for shard in shards))
    with closing(_outcomes(function, shards, workers, gpus)) as outcomes:
        for index, outcome in outcomes:
            with _named(shards[index].name):
                result = outcome()
            if progress is not None:
                progress.advance(shards[index].size)
            yield index, result


def _outcomes(
    function: Callable[[Work], Result], shards: Sequence[Shard[Work]], workers: int, gpus: int
) -> Generator[tuple[int, Callable[[], Result]]]:
    """(index, function that returns the result or raises) of every shard as it ends."""
    current = cluster()
    if not shards:
        return
    if current is not None:
        works, names = [shard.work for shard in shards], [shard.name for shard in shards]
        yield from current.outcomes(function, works, names, gpus)
    elif min(workers, len(shards)) <= 1:
        for index, shard in enumerate(shards):
            yield index, partial(function, shard.work)
    elif (is_in_script := _in_script(function, shards[0].work)) or (shared := shared_pool()) is None:
        with process_pool(min(workers, len(shards)), ignore_interrupts, is_in_script) as pool:
            indices = {pool.submit(function, shard.work): index for index, shard in enumerate(shards)}
            for future in as_completed(indices):
                yield indices[future], future.result
    else:
        yield from _shared_outcomes(shared, function, shards, workers)


def _shared_outcomes(
    pool: SharedPool, function: Callable[[Work], Result], shards: Sequence[Shard[Work]], workers: int
) -> Generator[tuple[int, Callable[[], Result]]]:
    """As `_outcomes`; few shards are submitted at a time, so that simultaneous calls share the processes equally."""
    waiting, under_way = deque(enumerate(shards)), dict[Future[bytes], int]()
    while waiting or under_way:
        while waiting and len(under_way) < 2 * workers:
            index, shard = waiting.popleft()
            under_way[pool.submit(pickle.dumps((function, shard.work)))] = index
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            yield under_way.pop(future), partial(_unpickled, future)


def _unpickled(future: Future[bytes]) -> Any:
    return pickle.loads(future.result())  # our own data


@contextmanager
def map_ahead(
    function: Callable[[Work], Result], shards: Sequence[Shard[Work]], ahead: int | None = None
) -> Iterator[Iterator[Result]]:
    """Yield `function(shard.work)` for each shard in order, computed ahead in another process.

    With `ahead`, only so many results are computed before they are asked for. Failures are as in `map_shards`. Leaving
    the block ends the process and all its children.
    """
    if not shards:
        yield iter(())
        return
    count, is_in_script = len(shards) if ahead is None else ahead, _in_script(function, shards[0].work)
    with (
        suppress(_Unneeded),
        shared_connection() as connection,
        process_pool(1, partial(end_with_children, connection), is_in_script) as pool,
    ):
        futures = deque(pool.submit(function, shard.work) for shard in shards[:count])
        others = iter(shards[count:])

        def results() -> Iterator[Result]:
            for shard in shards:
                future = futures.popleft()
                futures.extend(pool.submit(function, other.work) for other in islice(others, 1))
                yield _result(future, shard.name)

        yield results()
        if not all(future.done() for future in futures):
            raise _Unneeded


@contextmanager
def one_at_a_time(function: Callable[[Work], object]) -> Iterator[Callable[[Shard[Work]], bool]]:
    """Yield a function that begins `function(shard.work)` in another process, and returns True if it did.

    It does not while earlier work is running. That process has the lowest priority. Leaving the block ends it with its
    children, and failures are ignored: whoever needs the result repeats the work, and meets the failure.
    """
    with suppress(_Unneeded), process_pool(1, end_with_children_at_lowest_priority, imports_script=False) as pool:
        futures = list[Future[object]]()

        def begin(shard: Shard[Work]) -> bool:
            if futures and not futures[-1].done():
                return False
            futures.append(pool.submit(function, shard.work))
            return True

        yield begin
        if futures and not futures[-1].done():
            raise _Unneeded


class _Unneeded(Exception):
    """The results still being computed are not needed."""


@contextmanager
def background(function: Callable[[Work], object], workers: int) -> Iterator[Callable[[Shard[Work]], None]]:
    """Yield a function that submits `function(shard.work)` to `workers` - 1 other processes.

    With one worker, or if work cannot be pickled or needs the script that runs, it runs at once. All work is done at
    the end of the block, which raises failures as in `map_shards`.
    """

    def call(shard: Shard[Work]) -> None:
        with _named(shard.name):
            function(shard.work)

    if workers < 2:
        yield call
        return
    futures: list[tuple[str, Future[bytes]]] = []
    with sharing_processes(workers - 1) as pool:

        def submit(shard: Shard[Work]) -> None:
            pickled = _pickled(function, shard.work)
            if pickled is None or SCRIPT in pickled:
                call(shard)
            else:
                futures.append((shard.name, pool.submit(pickled)))

        yield submit
        for name, future in futures:
            _result(future, name)


def _result(future: Future[Result], name: str) -> Result:
    with _named(name):
        return future.result()


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Add the shard's name to errors raised inside."""
    try:
        yield
    except SnellenError as error:
        raise SnellenError(f"{error} (shard {name})") from error
    except BrokenExecutor as error:
        message = f"a worker process died while shard {name} was waiting or running; was it killed, or out of memory?"
        raise ShardFailed(message) from error
    except Exception as error:
        raise ShardFailed(f"shard {name} failed: {type(error).__name__}: {error}") from error


def _in_script(function: Callable[[Work], object], work: Work) -> bool:
    """True if the script that runs defines the function, or something in its work."""
    return SCRIPT in (_pickled(function, work) or SCRIPT)


def _pickled(function: Callable[[Work], object], work: Work) -> bytes | None:
    """Function and work as bytes; None if they cannot be pickled, e.g. for a lambda."""
    try:
        return pickle.dumps((function, work))
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
