"""The table of a comparison of two subjects, whatever was compared, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from snellen.analysis.comparison.verdicts import DROPPED, MOVED, ROSE, Verdict
from snellen.analysis.tables.run_view import lines_of
from snellen.core.score import Metric


@dataclass(frozen=True)
class Unpaired:
    """Numbers of items (of a task under a condition) that have a score on one side only, or on neither."""

    only_before: int = 0
    only_after: int = 0
    neither: int = 0

    @property
    def total(self) -> int:
        """Items that cannot be compared."""
        return self.only_before + self.only_after + self.neither


@dataclass(frozen=True)
class Comparison:
    """Changes from the first of two subjects to the second.

    `table` has one row per condition and task, or part of them, columns `verdicts.COLUMNS`; `flips` one row per item
    whose score flipped, columns `verdicts.FLIP_COLUMNS`. `pairs` is the number of items with a score on both sides;
    `unpaired` is by condition and task; `left_out` are conditions and tasks without pairs. `metrics` and `titles`, the
    short names, are by task.
    """

    title: str
    subjects: tuple[str, str]
    metrics: Mapping[str, Metric]
    titles: Mapping[str, str]
    table: pd.DataFrame
    flips: pd.DataFrame
    pairs: int
    unpaired: Mapping[tuple[str, str], Unpaired]
    left_out: tuple[str, ...]
    margin: float

    def __repr__(self) -> str:
        counts = (f"{len(self.names(verdict))} {verdict}" for verdict in (DROPPED, ROSE))
        name, both = type(self).__name__, " to ".join(self.subjects)
        return f"<{name} from {both}: {self.pairs} answers paired; {', '.join(counts)}>"

    def _repr_html_(self) -> str:
        """The main columns of the table, for notebooks."""
        from html import escape

        columns = ["name", "before", "after", "difference", "low", "high", "n", "p_holm", "verdict"]
        return f"<p>{escape(repr(self))}</p>{self.table[columns].round(3).to_html(index=False)}"

    def names(self, verdict: Verdict) -> list[str]:
        """The abilities, classes and wholes with that verdict, and the tasks with it without such an ability."""
        rows = self.table[self.table["verdict"] == verdict]
        abilities = rows[rows["kind"] == "ability"]
        explained = {(row.condition, task) for row in lines_of(abilities) for task in row.tasks}
        tasks = [row for row in lines_of(rows[rows["kind"] == "task"]) if (row.condition, row.name) not in explained]
        others = rows[rows["kind"].isin(["estimate", "class", "whole"])]
        return [row_name(row) for row in [*lines_of(abilities), *tasks, *lines_of(others)]]

    @property
    def is_own(self) -> bool:
        """True for a set of own images, which is tested by image."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about what was compared."""
        return ()

    @property
    def undetectable(self) -> dict[str, float]:
        """The tasks in which a drop of `margin` is not detectable, with the items needed."""
        rows = self.table[(self.table["kind"] == "task") & self.table["items_needed"].notna()]
        return {row_name(row): row.items_needed for row in lines_of(rows)}

    @cached_property
    def unpaired_items(self) -> Unpaired:
        """Sums over all conditions and tasks."""
        counts = self.unpaired.values()
        return Unpaired(*(sum(getattr(c, name) for c in counts) for name in ("only_before", "only_after", "neither")))


def plain_comparison(compared: Comparison) -> dict[str, Any]:
    """The comparison as JSON data; what is not estimable is null."""
    return {
        "before": compared.subjects[0],
        "after": compared.subjects[1],
        "dropped": compared.names(DROPPED),
        "rose": compared.names(ROSE),
        "moved": compared.names(MOVED),
        "margin": plain(compared.margin),
        "undetectable": {name: plain(items) for name, items in compared.undetectable.items()},
        "rows": plain_rows(compared.table),
        "flips": plain_rows(compared.flips),
        "paired": compared.pairs,
        "unpaired": asdict(compared.unpaired_items),
        "nothing_pairs_in": list(compared.left_out),
    }


def plain_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table as JSON data."""
    return [{str(name): plain(cell) for name, cell in row.items()} for row in table.to_dict("records")]


def plain(cell: Any) -> Any:
    """The cell of a table as JSON data; what is not estimable is None."""
    if isinstance(cell, tuple):
        return list(cell)
    cell = cell.item() if hasattr(cell, "item") else cell
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def row_name(row: Any) -> str:
    """The name of a row: a task, a class, or an ability with its tasks; the condition unless it is vanilla."""
    name = f"{row.name} ({', '.join(row.tasks)})" if row.kind == "ability" else row.name
    name = f"class {name}" if row.kind == "class" else name
    return name if row.condition == "vanilla" else f"{name} [{row.condition}]"
