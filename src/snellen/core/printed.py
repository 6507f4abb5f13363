"""Tables of results that a paper prints, as data: its columns as scores here, and its cells as texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class PrintedColumn:
    """A column: a task by a metric of the protocol `published`, at one `level` of a `factor` if it has one.

    `setting` is the axis whose value `level` the arm must have, such as `shots`, for columns of several conditions.
    Printed numbers are ours times `scale` (100 for percent) and have `decimals`.
    """

    head: str
    task: str = ""
    metric: str = "accuracy"
    factor: str = ""
    level: str = ""
    setting: str = ""
    scale: float = 1.0
    decimals: int = 2


@dataclass(frozen=True)
class PrintedTable:
    """A table of a paper: a text per column and subject, empty where the paper has none.

    Args:
        name: Part of file names, such as `table-1`.
        title: Name in the paper, such as Table 1.
        columns: The columns.
        rows: The cells of each subject, as printed, and behind them those of the columns named by `more`.
        people: The cells of people, as `rows`; empty if the paper prints none.
        chance: The cells of a guesser, as `rows`; empty if the paper prints none.
        more: Heads of printed columns that are no scores, such as an average.
        ranks: The printed ranks of each subject by column; empty if the paper prints none.
        rank_average: The printed average rank of each subject, if there are ranks.
        has_mean: Whether all columns have one unit, so that their mean is a score.
        note: Sentences for readers of the table.
        own_cells: Makes the texts of each subject of a run, for columns that are no scores of a task.

    """

    name: str
    title: str
    columns: tuple[PrintedColumn, ...]
    rows: Mapping[str, Sequence[str]]
    people: Sequence[str] = ()
    chance: Sequence[str] = ()
    more: tuple[str, ...] = ()
    ranks: Mapping[str, Sequence[int]] = field(default_factory=dict)
    rank_average: Mapping[str, float] = field(default_factory=dict)
    has_mean: bool = True
    note: str = ""
    own_cells: Callable[[Any], Mapping[str, Sequence[str]]] | None = None
