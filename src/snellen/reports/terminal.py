"""The table that commands print."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from snellen.analysis.cells import in_place_of_interval
from snellen.analysis.run_view import lines_of
from snellen.core.score import Metric
from snellen.reports.loading import SuiteOf, registered
from snellen.reports.rows import arm_order, metric_in, unjudged, whole_tasks
from snellen.reports.words import DASH, amount, rate, read_note, span

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

HEADS = "chance", "blind"
"""Columns of results that stand in a head where all subjects have the same."""
GUTTER = 2
"""Characters between two columns."""


@dataclass(frozen=True)
class TaskTables:
    """Subjects against tasks, in as many tables, one below the other, as the terminal is too narrow for one.

    `columns` are a head and a cell a subject each, in rich's markup.
    """

    subjects: tuple[str, ...]
    columns: tuple[tuple[str, tuple[str, ...]], ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """The tables: columns side by side as long as their longest lines fit, one at least."""
        room = options.max_width - min(max(map(_width, ("subject", *self.subjects))), options.max_width // 3)
        part, width = list[tuple[str, tuple[str, ...]]](), 0
        for column in self.columns:
            needed = GUTTER + max(map(_width, (column[0], *column[1])))
            if part and width + needed > room:
                yield self._table(part)
                part, width = [], 0
            part, width = [*part, column], width + needed
        yield self._table(part)

    def _table(self, columns: Sequence[tuple[str, tuple[str, ...]]]) -> Table:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
        table.add_column("subject", overflow="fold")
        for head, _ in columns:
            table.add_column(head, justify="right")
        for row, subject in enumerate(self.subjects):
            table.add_row(subject, *(cells[row] for _, cells in columns))
        return table


def _width(markup: str) -> int:
    """Of the longest line."""
    from rich.text import Text

    return max((line.cell_len for line in Text.from_markup(markup).split("\n")), default=0)


def print_table(results: pd.DataFrame, *, suite_of: SuiteOf = registered) -> TaskTables:
    """One row a subject, one column a task: value, interval, and in the head what is had without looking.

    That is chance (in the cell where arms differ), and the blind score where it was measured. `suite_of` leads from a
    suite's name to the suite, whose tasks say how their numbers are read.
    """
    from rich.markup import escape

    rows = whole_tasks(results)
    several, arms = rows["suite"].nunique() > 1, arm_order(rows)
    columns = []
    for suite, task in dict.fromkeys(zip(rows["suite"], rows["task"], strict=True)):
        part = rows[(rows["suite"] == suite) & (rows["task"] == task)]
        metric = metric_in(suite_of(suite), next(lines_of(part)))
        chances, blind = (sorted({amount(score, metric) for score in part[name].dropna()}) for name in HEADS)
        head = escape(f"{suite} {task}" if several else task)
        head += f"\n[dim]chance {chances[0]}[/]" if len(chances) == 1 else ""
        head += f"\n[dim]blind {blind[0]}[/]" if len(blind) == 1 else ""
        cells = {row.arm: _cell(row, metric, len(chances) != 1, suite_of) for row in lines_of(part)}
        columns.append((head, tuple(cells.get(arm, "") for arm in arms)))
    return TaskTables(tuple(map(escape, arms)), tuple(columns))


def _cell(row: Any, metric: Metric, with_chance: bool, suite_of: SuiteOf) -> str:
    from rich.markup import escape

    if math.isnan(row.value) and unjudged(row, suite_of(row.suite)):
        return "[dim]unjudged[/]"
    if math.isnan(row.value):
        return "[dim]declined[/]" if row.not_applicable else "[red]failed[/]" if row.failure_rate > 0 else DASH
    instead = in_place_of_interval(row, metric.bounds)
    around = instead or escape(span(row.low, row.high, metric, row.n) + " ").strip()
    text = f"{amount(row.value, metric, row.n)} [dim]{around}[/]"
    notes = [f"chance {amount(row.chance, metric)}"] if with_chance and not math.isnan(row.chance) else []
    notes += ["unable"] if row.unable else []
    notes += [f"no answer {rate(row.no_answer_rate)}", *read_note(row, metric)] if row.no_answer_rate > 0 else []
    notes += [f"failed {rate(row.failure_rate)}"] if row.failure_rate > 0 else []
    return text + (f"\n[dim]{', '.join(notes)}[/]" if notes else "")
