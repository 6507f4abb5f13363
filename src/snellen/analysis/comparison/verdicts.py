"""Verdicts on changes: corrected p, the smallest drop that a test would have found, and items that flipped.

A `Comparison` is their table, whatever was compared, and what follows from it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.comparison.contrasts import with_holm
from snellen.analysis.tables.run_view import lines_of
from snellen.core.score import Metric
from snellen.scoring.permutation import ALPHA, clusters_needed, has_normal_p, holm, noise_flips, sign_test_power
from snellen.scoring.power import POWER

Verdict: TypeAlias = Literal["dropped", "rose", "moved", "no clear change", "too few clusters"]
DROPPED: Verdict = "dropped"
ROSE: Verdict = "rose"
MOVED: Verdict = "moved"
"""Of a number without a better end, such as a point of subjective equality: a clear change."""
TOO_FEW: Verdict = "too few clusters"
COLUMNS = (
    "condition", "kind", "name", "tasks", "metric", "before", "after", "difference", "low", "high", "n", "clusters",
    "p", "p_normal", "p_holm", "clear", "too_few_clusters", "verdict", "detectable_drop", "items_needed",
    "classes", "class_low", "class_high", "class_p", "grade_before", "grade_after",
)  # fmt: skip
"""`p_normal`: p is that of a normal approximation (`has_normal_p`)."""
FLIP_COLUMNS = ("condition", "task", "item_id", "before", "after", "is_better")
FLIP = 0.5
"""A score flips if it moves by this share of its metric's range; for right or wrong answers, if it changes."""


def with_verdicts(table: pd.DataFrame, metrics: Mapping[str, Metric], margin: float, sides: int = 2) -> pd.DataFrame:
    """The table with corrected p, verdicts and detectable drops, columns `COLUMNS`.

    `metrics` are by task. Of a test with one of two sides, p alone decides.
    """
    corrected = with_holm(table)
    if sides == 1:
        corrected["clear"], corrected["class_p"] = corrected["p_holm"] < ALPHA, holm(corrected["class_p"])
    corrected["p_normal"] = [has_normal_p(row.gaps, row.units) for row in lines_of(corrected)]
    corrected["tests"] = np.maximum(1, corrected.groupby("family")["p"].transform("count"))
    rows = [(row, metrics[row.tasks[0]]) for row in lines_of(corrected)]
    corrected["verdict"] = [_verdict(row, metric, clusters_needed(row.tests, sides)) for row, metric in rows]
    powers = [_power(row, metric, ALPHA / sides / row.tests, margin) for row, metric in rows]
    corrected[["detectable_drop", "items_needed"]] = np.array(powers, float).reshape(-1, 2)
    return corrected[list(COLUMNS)]


def _power(row: Any, metric: Metric, level: float, margin: float) -> tuple[float, float]:
    """The columns `detectable_drop` and `items_needed`."""
    if metric.bounds is None or metric.estimate is not None:
        return math.nan, math.nan
    width = metric.bounds[1] - metric.bounds[0]
    room = abs(row.before - metric.bounds[1 - metric.higher_is_better]) / width + 1e-9
    count, flips = noise_flips(row.gaps / width, row.units)
    steps = 1000 if row.n >= 200 else 100  # as pages round
    drops = np.arange(1, int(steps * room) + 1) / steps

    def power(number: int, drop: float) -> float:  # with half a flip more, since none may have been observed
        return sign_test_power(number, drop, (flips * number + 0.5) / (number + 1), level)

    place = bisect_left(drops, POWER, key=lambda drop: power(count, drop))
    drop = float(drops[place]) if place < len(drops) else math.inf
    if not drop > margin + 1e-9:
        return width * drop, math.nan
    least = min(margin, room)
    needed = bisect_left(range(10**7), POWER, key=lambda number: power(number, least)) if len(drops) else math.inf
    return width * drop, needed * row.n / count


def _verdict(row: Any, metric: Metric, clusters: int) -> Verdict:
    """The verdict on a row; with fewer than `clusters` no p of so many tests can be clear."""
    if row.clear and row.kind == "estimate":
        return MOVED
    if row.clear:
        return DROPPED if row.difference * metric.sign < 0 else ROSE
    return TOO_FEW if row.clusters < clusters else "no clear change"


def flips(metrics: Mapping[str, Metric], pairs: Mapping[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """The items whose score flipped, columns `FLIP_COLUMNS`, from scores before and after by task and condition."""
    rows = [row for (task, condition), pair in pairs.items() for row in _flips(metrics[task], task, condition, pair)]
    return pd.DataFrame(rows, columns=list(FLIP_COLUMNS))


def _flips(metric: Metric, task: str, condition: str, pair: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    if metric.bounds is None:
        return
    step = FLIP * (metric.bounds[1] - metric.bounds[0])
    moves = pair["after"] - pair["before"]
    for item_id in pair.index[np.abs(moves.to_numpy()) >= step - 1e-9]:
        row = pair.loc[item_id]
        yield condition, task, item_id, row["before"], row["after"], bool(moves[item_id] * metric.sign > 0)


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

    `table` has one row per condition and task, or part of them, columns `COLUMNS`; `flips` one row per item
    whose score flipped, columns `FLIP_COLUMNS`. `pairs` is the number of items with a score on both sides;
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


def unpaired(pair: pd.DataFrame) -> Unpaired:
    """Counts of items by which of their scores `before` and `after` are known; those declined twice are not in it."""
    is_before, is_after = pair["before"].notna(), pair["after"].notna()
    return Unpaired(
        *(int(part.sum()) for part in (is_before & ~is_after, ~is_before & is_after, ~is_before & ~is_after))
    )


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
