"""How far long work has come: done, total and time left, drawn on stderr only where someone is looking."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Progress:
    """A counter with a line on the terminal, used as a context manager.

    A pipe or `shown=False` leaves only the counter.
    """

    def __init__(self, label: str, *, unit: str = "", visible: bool = True) -> None:
        self.done = 0
        self.total = 0
        self._text = f"{label} ({unit})" if unit else label
        self._visible = visible and sys.stderr.isatty()
        self._bar: Bar | None = None

    def __enter__(self) -> Progress:
        if self._visible:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self._bar = Bar(*columns, console=Console(stderr=True))
            self._bar.add_task(self._text, total=None)
            self._bar.start()
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def expect(self, more: int) -> None:
        """So many steps more are to be done."""
        self.total += more
        self._draw()

    def advance(self, steps: int = 1) -> None:
        """So many steps are done."""
        self.done += steps
        self._draw()

    def _draw(self) -> None:
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self.done, total=self.total)
