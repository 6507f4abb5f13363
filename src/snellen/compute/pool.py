"""Mapping a function over idempotent shards: in this process, or in a process pool."""

from __future__ import annotations

import dataclasses
import os
import pickle
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, ProcessPoolExecutor, wait
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import partial
from itertools import count, islice
from multiprocessing import Pipe, active_children, get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

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


def cores() -> int:
    """The number of cores available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ShardFailed(RuntimeError):
    """A shard failed. The message names it, `__cause__` is the error."""


def map_shards(
    function: Callable[[Work], Result],
    shards: Sequence[Shard[Work]],
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """`function(shard.work)` for every shard, results in the order of the shards (`each_result`)."""
    results = dict(each_result(function, shards, workers=workers, progress=progress))
    return [results[index] for index in range(len(shards))]


def each_result(
    function: Callable[[Work], Result],
    shards: Sequence[Shard[Work]],
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> Generator[tuple[int, Result]]:
    """(index, `function(shard.work)`) of every shard as it ends.

    With `workers` above 1, shards run in newly started processes, or in those of `sharing_processes`: the function must
    be importable. If function or work are defined in the script itself, it must be guarded by
    `if __name__ == "__main__"`. The first failure ends the work: a SnellenError remains one, with the shard's name
    added; any other becomes ShardFailed. Ctrl-C ends the workers at once.
    """
    if workers < 1:
        raise SnellenError(f"workers must be at least 1, got {workers}")
    if progress is not None:
        progress.expect(sum(shard.size for shard in shards))
    with closing(_outcomes(function, shards, workers)) as outcomes:
        for index, outcome in outcomes:
            with _named(shards[index].name):
                result = outcome()
            if progress is not None:
                progress.advance(shards[index].size)
            yield index, result


def _outcomes(
    function: Callable[[Work], Result], shards: Sequence[Shard[Work]], workers: int
) -> Generator[tuple[int, Callable[[], Result]]]:
    """(index, function that returns the result or raises) of every shard as it ends."""
    if not shards:
        return
    if min(workers, len(shards)) <= 1:
        for index, shard in enumerate(shards):
            yield index, partial(function, shard.work)
    elif (is_in_script := _in_script(function, shards[0].work)) or not (_shared_pools or _connections):
        with _pool(min(workers, len(shards)), _ignore_interrupts, is_in_script) as pool:
            for index, future in _ended(pool, function, [shard.work for shard in shards]):
                yield index, future.result
    else:
        calls = [pickle.dumps((function, shard.work)) for shard in shards]
        ended = _ended_elsewhere(calls) if _connections else _ended(_shared_pools[-1], _call_pickled, calls)
        for index, called in ended:
            yield index, partial(_unpickled, called)


def _ended(
    pool: ProcessPoolExecutor, function: Callable[[Work], Result], works: Sequence[Work]
) -> Generator[tuple[int, Future[Result]]]:
    """(index, future) of all work as it ends; little is submitted at a time, so that all users of a pool are served."""
    waiting, under_way = deque(enumerate(works)), dict[Future[Result], int]()
    while waiting or under_way:
        while waiting and len(under_way) < 2 * max(len(pool._processes or ()), 1):
            index, work = waiting.popleft()
            under_way[pool.submit(function, work)] = index
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            yield under_way.pop(future), future


_shared_pools: list[ProcessPoolExecutor] = []
_connections: list[Connection] = []
"""The pool of `sharing_processes` in this process, or the connection to the process that has it."""
_call_numbers = count()


@contextmanager
def sharing_processes(workers: int, niceness: int = 0) -> Iterator[None]:
    """Within the block, the same processes do the shards of all calls, also those of the process of `map_ahead`.

    They start when they are needed, and then import and compile only once. A block within another shares its processes.
    A `niceness` of up to 19 lets other processes go first.
    """
    if _shared_pools or _connections:
        yield
        return
    with _pool(workers, partial(_ignore_interrupts, niceness), imports_script=False) as pool:
        _shared_pools.append(pool)
        try:
            yield
        finally:
            _shared_pools.clear()


def _ended_elsewhere(works: Sequence[bytes]) -> Generator[tuple[int, Future[bytes]]]:
    """As `_ended`, by the pool of the process that started this one."""
    number, remaining = next(_call_numbers), len(works)
    _connections[-1].send((number, works))
    while remaining:
        answered, index, result, error = _connections[-1].recv()
        if answered == number:  # not an earlier number, of calls given up after a failure
            future = Future[bytes]()
            future.set_result(result) if error is None else future.set_exception(error)
            remaining -= 1
            yield index, future


def _serve(connection: Connection) -> None:
    """Answer `_ended_elsewhere` until that process, or the shared pool, ends."""
    with suppress(EOFError, OSError, RuntimeError, CancelledError), connection:
        while True:
            number, calls = connection.recv()
            for index, future in _ended(_shared_pools[-1], _call_pickled, calls):
                error = future.exception()
                connection.send((number, index, None if error else future.result(), error))


@contextmanager
def _shared_connection(is_needed: bool) -> Iterator[Connection | None]:
    """Yield the connection by which a new process reaches the shared pool of this one, if there is one."""
    if not (_shared_pools and is_needed):
        yield None
        return
    for _ in range(_shared_pools[-1]._max_workers):  # type: ignore[attr-defined]  # not in typeshed
        _shared_pools[-1].submit(os.getpid)  # so that all its processes start in this thread
    ours, theirs = Pipe()
    threading.Thread(target=_serve, args=(ours,), daemon=True).start()
    with theirs:
        yield theirs


@contextmanager
def map_ahead(
    function: Callable[[Work], Result], shards: Sequence[Shard[Work]], ahead: int | None = None
) -> Iterator[Iterator[Result]]:
    """Yield `function(shard.work)` for each shard in order, computed ahead in another process.

    With `ahead`, only so many results are computed before they are asked for. Failures are as in `map_shards`. Leaving
    the block ends the process and all its children.
    """
    most, is_in_script = len(shards) if ahead is None else ahead, not shards or _in_script(function, shards[0].work)
    with (
        suppress(_Unneeded),
        _shared_connection(bool(shards)) as connection,
        _pool(1, partial(_end_with_children, connection), is_in_script) as pool,
    ):
        futures = deque(pool.submit(function, shard.work) for shard in shards[:most])
        others = iter(shards[most:])

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
    with suppress(_Unneeded), _pool(1, _end_with_children_at_lowest_priority, imports_script=False) as pool:
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
    with sharing_processes(workers - 1):

        def submit(shard: Shard[Work]) -> None:
            pickled = _pickled(function, shard.work)
            if pickled is None or SCRIPT in pickled or _connections:
                call(shard)
            else:
                futures.append((shard.name, _shared_pools[-1].submit(_call_pickled, pickled)))

        yield submit
        for name, future in futures:
            _result(future, name)


def _call_pickled(call: bytes) -> bytes:
    function, work = pickle.loads(call)  # our own data
    return pickle.dumps(function(work))


def _unpickled(called: Future[bytes]) -> Any:
    return pickle.loads(called.result())  # our own data


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


@contextmanager
def _hidden_script() -> Iterator[None]:
    """Processes that start meanwhile do not import the script, which would run it again if it is not guarded."""
    script = sys.modules["__main__"].__dict__
    names: dict[str, Any] = {name: script[name] for name in ("__file__", "__spec__") if name in script}
    try:
        script.update(dict.fromkeys(names))
        yield
    finally:
        script.update(names)


class _ScriptlessPool(ProcessPoolExecutor):
    """A pool whose processes, which start when work is submitted, do not import the script."""

    def submit(self, function: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Submit a call; the script is hidden only while processes start, since other modules may look for its file."""
        is_complete = len(self._processes or ()) == self._max_workers  # type: ignore[attr-defined]
        with nullcontext() if is_complete else _hidden_script():
            return super().submit(function, *args, **kwargs)


@contextmanager
def _pool(workers: int, initializer: Callable[[], None], imports_script: bool) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes, with running shards, are ended if its block is left by an error or Ctrl-C."""
    kind = ProcessPoolExecutor if imports_script else _ScriptlessPool
    pool = kind(workers, mp_context=get_context("spawn"), initializer=initializer)
    try:
        yield pool
    except BaseException:
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        raise
    pool.shutdown()


def _ignore_interrupts(niceness: int = 0) -> None:
    """Leave Ctrl-C to the parent, which ends the workers. A worker whose parent died ends by itself."""
    if hasattr(os, "nice"):  # of POSIX
        os.nice(niceness)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _end_with_children(connection: Connection | None = None) -> None:
    """As `_ignore_interrupts`, for a worker that reaches a shared pool, or that ends its own pool if it is ended."""
    _ignore_interrupts()
    if connection is not None:
        _connections.append(connection)

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for process in active_children():
            process.terminate()
        raise SystemExit(1)  # so that its pool is closed and leaves no semaphores

    signal.signal(signal.SIGTERM, end)


def _end_with_children_at_lowest_priority() -> None:
    _end_with_children()
    if hasattr(os, "nice"):
        os.nice(19)
