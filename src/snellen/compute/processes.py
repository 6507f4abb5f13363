"""Processes that do shards: of one call, or of all calls within a block."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from multiprocessing import Pipe, active_children, get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

Result = TypeVar("Result")


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
        """Submit a call; the script is hidden only meanwhile, since other modules may look for its file."""
        is_complete = len(self._processes or ()) == self._max_workers  # type: ignore[attr-defined]  # not in typeshed
        with nullcontext() if is_complete else _hidden_script():
            return super().submit(function, *args, **kwargs)


@contextmanager
def process_pool(workers: int, initializer: Callable[[], None], imports_script: bool) -> Iterator[ProcessPoolExecutor]:
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


def ignore_interrupts() -> None:
    """Leave Ctrl-C to the parent, which ends the workers. A worker whose parent died ends by itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def end_with_children(connection: Connection | None = None) -> None:
    """As `ignore_interrupts`, for a worker with its own pool: if ended by its parent, it ends that pool too.

    With the connection to a shared pool, it uses that instead.
    """
    ignore_interrupts()
    if connection is not None:
        _shared_pools.append(_DistantPool(connection))

    def end(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for process in active_children():
            process.terminate()
        raise SystemExit(1)  # so that its pool is closed and leaves no semaphores

    signal.signal(signal.SIGTERM, end)


def end_with_children_at_lowest_priority() -> None:
    """As `end_with_children`, with the lowest priority."""
    end_with_children()
    if hasattr(os, "nice"):  # of POSIX
        os.nice(19)


class SharedPool(Protocol):
    """Processes that do calls, which are functions with their work, pickled like their results."""

    def submit(self, call: bytes) -> Future[bytes]:
        """Submit a call."""
        ...


_shared_pools: list[SharedPool] = []


@contextmanager
def sharing_processes(workers: int) -> Iterator[SharedPool]:
    """Within the block, the same processes do the shards of all calls, also those of the process of `map_ahead`.

    They start when they are needed, and then import and compile only once. A block within another shares its processes.
    """
    if _shared_pools:
        yield _shared_pools[-1]
        return
    with process_pool(workers, ignore_interrupts, imports_script=False) as pool:
        _shared_pools.append(_OwnPool(pool, workers))
        try:
            yield _shared_pools[-1]
        finally:
            _shared_pools.clear()


def shared_pool() -> SharedPool | None:
    """The pool of the block `sharing_processes`; None outside."""
    return _shared_pools[-1] if _shared_pools else None


@contextmanager
def shared_connection() -> Iterator[Connection | None]:
    """Yield the connection by which a new process shares the pool of this one (`end_with_children`), if it has one."""
    pool = shared_pool()
    if not isinstance(pool, _OwnPool):
        yield None
        return
    pool.start()
    ours, theirs = Pipe()
    threading.Thread(target=_serve, args=(pool, ours), daemon=True).start()
    with theirs:
        yield theirs


@dataclass(frozen=True)
class _OwnPool:
    """A shared pool of this process."""

    pool: ProcessPoolExecutor
    workers: int

    def submit(self, call: bytes) -> Future[bytes]:
        return self.pool.submit(_call_pickled, call)

    def start(self) -> None:
        """Start all processes: later calls come from a thread."""
        for _ in range(self.workers):
            self.pool.submit(os.getpid)


class _DistantPool:
    """The shared pool of the process that started this one."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._numbers, self._futures = connection, count(), dict[int, Future[bytes]]()
        threading.Thread(target=self._receive, daemon=True).start()

    def submit(self, call: bytes) -> Future[bytes]:
        number, future = next(self._numbers), Future[bytes]()
        self._futures[number] = future
        self._connection.send((number, call))
        return future

    def _receive(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                number, result, error = self._connection.recv()
                future = self._futures.pop(number)
                if error is None:
                    future.set_result(result)
                else:
                    future.set_exception(error)


def _serve(pool: SharedPool, connection: Connection) -> None:
    """Submit the calls of a `_DistantPool` until its process ends."""
    with suppress(EOFError, OSError), connection:
        while True:
            number, call = connection.recv()
            try:
                pool.submit(call).add_done_callback(partial(_send_outcome, connection, number))
            except (BrokenExecutor, RuntimeError) as error:  # ended by a dead process, or with its block
                connection.send((number, None, error))


def _send_outcome(connection: Connection, number: int, future: Future[bytes]) -> None:
    if not future.cancelled():
        error = future.exception()
        with suppress(OSError):  # the other process has ended
            connection.send((number, None if error else future.result(), error))


def _call_pickled(call: bytes) -> bytes:
    function, work = pickle.loads(call)  # our own data
    return pickle.dumps(function(work))
