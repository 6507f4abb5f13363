"""What a checkup shows while it runs: a line per suite, and the latest decision in words."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from snellen.analysis.grading.rows import ResultRow
from snellen.compute import Progress
from snellen.compute.progress import LINE_SECONDS, duration
from snellen.core.plain_text import unfiltered
from snellen.core.storage.runfolder import cost_by_subject
from snellen.core.subject import SubjectCard
from snellen.core.suite import Suite


@dataclass
class SuiteState:
    """How far the images and the questions of a suite are.

    `counts` is the file in which the process that draws the images counts them (`compute.progress.counting_into`).
    `scores` tells of each score whether it is decided, by subject and task.
    """

    suite: Suite
    counts: Path
    images: Progress = field(default_factory=lambda: Progress("", visible=False))
    questions: Progress = field(default_factory=lambda: Progress("", visible=False))
    scores: dict[tuple[str, str], bool] = field(default_factory=dict)
    is_over: bool = False

    def line(self) -> str:
        """The state in at most 79 columns."""
        with suppress(OSError, ValueError):  # not begun, or just being written
            self.images.done, self.images.total = map(int, self.counts.read_text().split())
        counts = {"images": self.images, "asked": self.questions}
        parts = [f"{name} {count.done}/{count.total}" for name, count in counts.items() if count.total]
        if self.scores:
            parts.append(f"decided {sum(self.scores.values())} of {len(self.scores)}")
        current = self.questions if self.questions.total else self.images
        pace = current.pace()
        if self.is_over:
            parts.append("done")
        elif pace and current.total > current.done:
            parts.append(f"{duration((current.total - current.done) / pace)} left")
        title = self.suite.card.title.partition(" (")[0]
        return f"{title:<11} {'  '.join(parts) or 'waits'}"


class Board:
    """The lines of all suites on stderr, used as a context manager: kept up to date in a terminal.

    Elsewhere the lines that changed, every `LINE_SECONDS`. With `visible=False` nothing is shown.
    """

    def __init__(self, suites: Mapping[str, Suite], folder: Path, *, visible: bool = True) -> None:
        self.states = {name: SuiteState(suite, folder / name) for name, suite in suites.items()}
        self._visible, self._decision, self._printed = visible, "", set[str]()
        self._costs, self._stack, self._is_over = dict[Path, dict[str, float]](), ExitStack(), threading.Event()

    def __enter__(self) -> Board:
        if self._visible and sys.stderr.isatty():
            from rich.console import Console, Group
            from rich.live import Live
            from rich.text import Text

            console = Console(file=unfiltered(sys.stderr))
            show = lambda: Group(*(Text(line, no_wrap=True, overflow="ellipsis") for line in self.lines()))  # noqa: E731
            self._stack.enter_context(Live(get_renderable=show, console=console, refresh_per_second=1))
        elif self._visible:
            threading.Thread(target=self._print_lines, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._stack.close()

    def graded(self, suite: str, root: Path, card: SubjectCard, row: ResultRow) -> None:
        """Note the graded row of a subject in the run at `root`, after a batch of questions."""
        if card.role == "simulated":
            return
        state, key = self.states[suite], (card.name, row.task)
        if row.grade.is_decided and not state.scores.get(key):
            from snellen.reports.words import amount, first_text

            metric = state.suite.tasks[row.task].protocols["strict"].metrics[0]
            value, name = amount(row.value, metric, row.n), state.suite.card.tasks[row.task].name
            self._decision = f"decided: {card.name}, “{name}”: {value}, {first_text(row.grade)}"
            if card.is_remote:
                self._costs[root] = cost_by_subject(root)
        state.scores[key] = row.grade.is_decided

    def lines(self) -> list[str]:
        """A line per suite, the latest decision, and what paid models cost so far."""
        spent: dict[str, float] = {}
        for of_run in self._costs.values():
            for name, cost in of_run.items():
                spent[name] = spent.get(name, 0.0) + cost
        scores = [score for state in self.states.values() for score in state.scores.items()]
        decided = [name for (name, _), is_decided in scores if is_decided]
        costs = [
            f"{name}: {cost:.2f} so far, {cost / max(decided.count(name), 1):.2f} per decided score"
            for name, cost in spent.items()
            if cost
        ]
        return [*(state.line() for state in self.states.values()), *filter(None, [self._decision]), *costs]

    def _print_lines(self) -> None:
        while not self._is_over.wait(LINE_SECONDS):
            lines = [line for line in self.lines() if line not in self._printed]
            self._printed.update(lines)
            sys.stderr.write("".join(f"{line}\n" for line in lines if not line.endswith(" waits")))
            sys.stderr.flush()
