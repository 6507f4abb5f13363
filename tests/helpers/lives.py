"""Commands in forked processes that are ended, run out of disk or have a jumping clock, at events chosen by a seed.

An event is a change to files below a folder (open, rename, remove, make a folder), or an exchange that the process
records. They come in the same order on every machine, so that a seed names the same moments, many of them at
critical points: between writing a file and giving it its name.
"""

from __future__ import annotations

import errno
import gc
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate")
PATIENCE = 120
"""Timeout of a process in seconds; no measurement depends on it."""


@dataclass(frozen=True)
class Fault:
    """A fault of a process.

    `signal_number` at event number `event`, `delay` seconds later; a disk that is full from change `full_from` on;
    files of at most `file_bytes`; a clock that jumps by hours at every reading, drawn from a seed.
    """

    signal_number: int = 0
    event: int = -1
    delay: float = 0.0
    full_from: int = -1
    file_bytes: int = 0
    clock_seed: int = -1


@dataclass(frozen=True)
class Life:
    """The end of a process: exit code (negative: the signal that killed it), output, events and changes."""

    code: int
    out: str
    messages: str
    events: int
    changes: int

    @property
    def in_good_order(self) -> bool:
        """True if it finished or reported an error in one line, without a traceback or an unexpected error."""
        words = self.out + self.messages
        return self.code in (0, 1, 2, 130, 143) and "Traceback" not in words and "should not be" not in words


class _Watch:
    """The audit hook of one process."""

    def __init__(self, folder: Path, fault: Fault) -> None:
        self.folder, self.fault = str(folder), fault
        self.events = self.changes = 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" and event not in CHANGES:
            return
        if not isinstance(arguments[0], str | os.PathLike) or not os.fspath(arguments[0]).startswith(self.folder):
            return
        self.tick()
        is_change = event != "open" or (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR))
        if is_change:
            self.changes += 1
            if 0 <= self.fault.full_from <= self.changes and event != "os.remove":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def tick(self) -> None:
        """Count an event, and end the process if the fault is at this event."""
        self.events += 1
        if self.events == self.fault.event + 1:
            if self.fault.delay:
                signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), self.fault.signal_number))
                signal.setitimer(signal.ITIMER_REAL, self.fault.delay)
            else:
                os.kill(os.getpid(), self.fault.signal_number)


def live(act: Callable[[], int], folder: Path, fault: Fault = Fault()) -> Life:  # it is frozen
    """Call `act`, which returns the exit code, in a forked process; events are those below `folder`."""
    notes = folder.with_name(f"{folder.name}.life")
    notes.mkdir(exist_ok=True)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _child(act, folder, notes, fault)
    end = time.monotonic() + PATIENCE
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    status = ended[1]
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    counts = (notes / "counts").read_text().split() if (notes / "counts").exists() else ["0", "0"]
    out, messages = ((notes / name).read_text("utf-8", "replace") for name in ("out", "messages"))
    (notes / "counts").unlink(missing_ok=True)
    return Life(code, out, messages, *map(int, counts))


def _child(act: Callable[[], int], folder: Path, notes: Path, fault: Fault) -> None:
    code = 99
    gc.freeze()  # objects of the parent's other threads and libraries may not survive a collection here
    try:
        os.setsid()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with (notes / "out").open("w") as out, (notes / "messages").open("w") as messages:
            watch = _Watch(folder, fault)
            with redirect_stdout(out), redirect_stderr(messages):
                _suffer(watch)
                try:
                    code = act()
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
        (notes / "counts").write_text(f"{watch.events} {watch.changes}")
    finally:
        os._exit(code)


def _suffer(watch: _Watch) -> None:
    """Put the fault in place."""
    from snellen.core.storage.runfolder import RunFolder

    sys.addaudithook(watch)
    record = RunFolder.record

    def recorded(self: RunFolder, exchange: Any) -> Any:
        watch.tick()
        return record(self, exchange)

    RunFolder.record = recorded  # type: ignore[method-assign]
    fault = watch.fault
    if fault.file_bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault.file_bytes, fault.file_bytes))
    if fault.clock_seed >= 0:
        rng, real = np.random.default_rng(fault.clock_seed), time.time
        time.time = lambda: real() + float(rng.uniform(-1e5, 1e5))
        time.time_ns = lambda: int(time.time() * 1e9)


def command(words: Sequence[object], home: Path) -> Callable[[], int]:
    """A command of snellen, to be run in a separate process."""

    def act() -> int:
        from snellen.cli import main

        os.environ["SNELLEN_HOME"] = str(home)
        sys.argv = ["snellen", *map(str, words)]
        try:
            main()
        except SystemExit as ended:
            return int(ended.code or 0)
        return 0

    return act
