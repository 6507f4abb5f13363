"""How the table that commands print is laid out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

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
