"""Layout of the table that commands print and notebooks show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

GUTTER = 2
"""Characters between two columns."""
NAME_WIDTH = 10
"""Characters that a column's head may take even if its cells are narrower."""


@dataclass(frozen=True)
class TaskTables:
    """Subjects against tasks, split into several tables if the terminal is too narrow for one.

    `columns` have the head of a task and one cell per subject, in rich's markup. The head is the name of the task, and
    lines for chance, the blind baseline and the number of items: name, blank, number. The fewer of both are the
    columns: tasks are rows unless there are more subjects. `note` stands below, `warning` above.
    """

    subjects: tuple[str, ...]
    columns: tuple[tuple[str, tuple[str, ...]], ...]
    note: str = ""
    warning: str = ""

    def grid(self) -> tuple[int, list[list[str]]]:
        """The number of columns repeated at the left of every table, and all rows, heads first, in rich's markup."""
        if len(self.subjects) > len(self.columns):
            rows = [[subject, *(cells[n] for _, cells in self.columns)] for n, subject in enumerate(self.subjects)]
            return 1, [["subject", *(head for head, _ in self.columns)], *rows]
        parts = [(_plain(head).split("\n"), cells) for head, cells in self.columns]
        names = list(dict.fromkeys(line.partition(" ")[0] for lines, _ in parts for line in lines[1:]))
        rows = []
        for (head, _), (lines, cells) in zip(self.columns, parts, strict=True):
            amounts = {name: amount for name, _, amount in (line.partition(" ") for line in lines[1:])}
            rows.append([head.split("\n")[0], *(f"[dim]{amounts.get(name, '')}[/]" for name in names), *cells])
        return 1 + len(names), [["task", *names, *self.subjects], *rows]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table | str]:
        """The tables with as many columns side by side as fit, at least one."""
        if self.warning:
            yield f"[bold]{self.warning}[/]"
        left, (heads, *rows) = self.grid()
        room = NAME_WIDTH if len(self.subjects) > 1 else options.max_width // 2
        columns = [[_wrapped(head, max(room, *map(_width, cells))), *cells]
                   for head, *cells in zip(heads, *rows, strict=True)]  # fmt: skip
        columns[0] = [_wrapped(name, options.max_width // 3) for name in columns[0]]
        first = min(_width("\n".join(columns[0])), options.max_width // 3)
        room = options.max_width - first - sum(_needed(column) for column in columns[1:left])
        part, width = list[list[str]](), 0
        for column in columns[left:]:
            if part and width + _needed(column) > room:
                yield _table([*columns[:left], *part])
                part, width = [], 0
            part, width = [*part, column], width + _needed(column)
        yield _table([*columns[:left], *part])
        if self.note:
            yield self.note

    def html(self) -> str:
        """One table, for a notebook."""
        _, (heads, *rows) = self.grid()
        lines = ["".join(f"<th>{_html(head)}</th>" for head in heads)]
        lines += [f"<th>{_html(head)}</th>" + "".join(f"<td>{_html(cell)}</td>" for cell in row) for head, *row in rows]
        table = f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"
        warning, note = (f"<p>{_html(text)}</p>" if text else "" for text in (self.warning, self.note))
        return warning + table + note


def _table(columns: Sequence[Sequence[str]]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for number, (head, *_) in enumerate(columns):
        table.add_column(head, justify="right" if number else "left", overflow="fold", no_wrap=number == 0)
    for row in zip(*(cells for _, *cells in columns), strict=True):
        table.add_row(*row)
    return table


def _needed(column: Sequence[str]) -> int:
    return GUTTER + max(map(_width, column))


def _plain(markup: str) -> str:
    from rich.text import Text

    return Text.from_markup(markup).plain


def _width(markup: str) -> int:
    """The width of the longest line."""
    from rich.cells import cell_len

    return max(map(cell_len, _plain(markup).split("\n")))


def _wrapped(head: str, width: int) -> str:
    """A head with its first line broken to this width after a colon, a dash, a comma or a blank, if possible."""
    name, *others = head.split("\n")
    lines = [""]
    for piece in re.findall(r"[^\s:/,=-]*(?:[\s:/,=-]+|\Z)", name):
        if not lines[-1] or _width(lines[-1] + piece.rstrip(" ")) <= width:
            lines[-1] += piece
        else:
            lines.append(piece)
    return "\n".join([*(line.rstrip(" ") for line in lines), *others])


def _html(markup: str) -> str:
    import html

    return html.escape(_plain(markup)).replace("\n", "<br>")
