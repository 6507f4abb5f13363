"""Progress of long work on stderr: done, total, pace and time left.

A bar in a terminal; elsewhere (a log, a pipe, a notebook) a line every ten seconds.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.core.plain_text import unfiltered

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

LINE_SECONDS = 10.0
"""Time between lines if there is no terminal."""
PACE_LINES = 6
"""Lines over which the pace is measured, so that steps done before, counted at once, soon drop out."""


_files: list[Path] = []
"""The file of `counting_into`, in which another process reads how far the work is."""


@contextmanager
def counting_into(file: Path) -> Iterator[None]:
    """Within the block, every `Progress` also writes its steps done and their total into this file, once a second."""
    _files.append(file)
    try:
        yield
    finally:
        _files.pop()


class Progress:
    """A counter that shows its progress, used as a context manager; with `visible=False` it only counts."""

    def __init__(
        self, label: str, *, unit: str = "", visible: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.done = 0
        self.total = 0
        self._label, self._unit, self._visible, self._clock = label, unit, visible, clock
        self._bar: Bar | None = None
        self._marks = deque([(clock(), 0)], maxlen=PACE_LINES)
        self._is_over = threading.Event()
        self._written = -math.inf

    def __enter__(self) -> Progress:
        if self._visible and sys.stderr.isatty():
            self._bar = _bar(f"{self._label} ({self._unit})" if self._unit else self._label)
            self._bar.start()
        elif self._visible:
            threading.Thread(target=self._print_lines, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def expect(self, more: int) -> None:
        """Add steps to the total."""
        self.total += more
        self._draw()

    def advance(self, steps: int = 1) -> None:
        """Count finished steps."""
        self.done += steps
        self._draw()

    def restart(self) -> None:
        """Count from 0 again, up to a new total."""
        self.done = self.total = 0
        self._marks.clear()
        self._marks.append((self._clock(), 0))

    def line(self) -> str:
        """The current state, e.g. `asking: 120 of 350 items, 24 per minute, 10 min left`."""
        pace = self.pace()
        parts = [f"{self.done}{f' of {self.total}' if self.total else ''} {self._unit}".rstrip()]
        if pace > 0:
            parts.append(f"{pace:.1f} per second" if pace >= 1 else f"{60 * pace:.1f} per minute")
        if pace > 0 and self.total > self.done:
            parts.append(f"{duration((self.total - self.done) / pace)} left")
        return f"{self._label}: {', '.join(parts)}"

    def pace(self) -> float:
        """Steps per second over the last `PACE_LINES` calls of this method; 0 if unknown."""
        now, (then, before) = self._clock(), self._marks[0]
        self._marks.append((now, self.done))
        return (self.done - before) / (now - then) if now > then else 0.0

    def _print_lines(self) -> None:
        while not self._is_over.wait(LINE_SECONDS):
            sys.stderr.write(f"{self.line()}\n")
            sys.stderr.flush()

    def _draw(self) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self.done, total=self.total or None)
        if _files and (self._clock() - self._written >= 1 or self.done == self.total):
            self._written = self._clock()
            with suppress(OSError):  # only shown
                _files[-1].write_text(f"{self.done} {self.total}")


def duration(seconds: float) -> str:
    """A duration as text in one unit: `40 s`, `3 min`, `2.5 h`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def _bar(text: str) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Pace(ProgressColumn):
        """Steps per second or minute."""

        def render(self, task: Task) -> Text:
            speed = task.speed or 0.0
            return Text(f"{speed:.1f}/s" if speed >= 1 else f"{60 * speed:.1f}/min")

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Pace(), TimeRemainingColumn()
    bar = Bar(*columns, console=Console(file=unfiltered(sys.stderr)))
    bar.add_task(text, total=None)
    return bar
