"""Makes wide tables readable: transposed, and split into parts below each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import pandas as pd

ROOM = 8
"""Columns that fit on a page or a sheet of paper, including the first one."""


def even_parts(count: int, room: int) -> list[range]:
    """The positions 0 to `count` in as few parts of at most `room` as possible, of similar size; at least one part."""
    parts = max(1, math.ceil(count / room))
    ends = [round(count * part / parts) for part in range(parts + 1)]
    return [range(first, last) for first, last in itertools.pairwise(ends)]


def is_wide(table: pd.DataFrame) -> bool:
    """True if a table is too wide and would be narrower transposed."""
    return len(table.columns) > ROOM and len(table) + 1 < len(table.columns)


def transpose(table: pd.DataFrame) -> pd.DataFrame:
    """The table transposed: the cells of the first column become heads. Repeated heads are numbered."""
    heads = [str(cell) for cell in table.iloc[:, 0]]
    names = [f"{head} ({heads[:n].count(head) + 1})" if head in heads[:n] else head for n, head in enumerate(heads)]
    columns = [str(name) for name in table.columns]
    rows = [[column, *table.iloc[:, n]] for n, column in enumerate(columns[1:], 1)]
    return pd.DataFrame(rows, columns=[columns[0], *names], dtype=object)


def readable(table: pd.DataFrame) -> pd.DataFrame:
    """The table, transposed if it is wide."""
    return transpose(table) if is_wide(table) else table


def parts_of(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The readable table in parts that fit; each begins with the first column."""
    table = readable(table)
    for places in even_parts(len(table.columns) - 1, ROOM - 1):
        yield table.iloc[:, [0, *(place + 1 for place in places)]]
