"""System calls that not every operating system has, and what is done without them."""

from __future__ import annotations

import contextlib
import os
import platform
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

fcntl: Any = None
resource: Any = None
msvcrt: Any = None
try:
    import fcntl
    import resource
except ImportError:  # Windows
    with contextlib.suppress(ImportError):
        import msvcrt

UNFOLLOWED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags of `os.open` that refuse links and do not wait for pipes; 0 where there are none."""
IS_POSIX = os.name == "posix"
"""Whether folders can be synced, and signal 0 asks if a process lives; elsewhere it would end the process."""


def machine_name() -> str:
    """The name of this machine in a network."""
    return platform.node()


def allow_open_files(number: int) -> None:
    """Let this process open so many files at once, or as many as the system allows it; some begin with 256."""
    if resource is not None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < number:  # -1: without limit
            resource.setrlimit(resource.RLIMIT_NOFILE, (number if hard < 0 else min(number, hard), hard))


_limiting = threading.Lock()


@contextlib.contextmanager
def bounded_memory(limit: int) -> Iterator[None]:
    """Let this process take at most so many bytes more in a block: beyond them an allocation raises MemoryError.

    The first of several threads sets the limit, for all of them. Without Linux nothing is limited.
    """
    usage = Path("/proc/self/statm")
    if resource is None or not usage.exists() or not _limiting.acquire(blocking=False):
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    try:
        most = int(usage.read_text("ascii").split()[5]) * resource.getpagesize() + limit
        if before < 0 or most < before:
            resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))
        _limiting.release()


def lock(descriptor: int, *, wait: bool) -> None:
    """Lock an open file until it is closed or the process ends. Without locks in the system, nothing happens.

    Raises BlockingIOError if another process holds the lock, unless it waits, and OSError if the file cannot be locked.
    """
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    elif msvcrt is not None:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(error.errno, error.strerror) from error
