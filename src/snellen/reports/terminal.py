"""The tables that commands print."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import pandas as pd

from snellen.analysis.cells import in_place_of_interval
from snellen.analysis.grades import words
from snellen.analysis.run_view import lines_of
from snellen.core.score import Metric
from snellen.reports.loading import SuiteOf, registered
from snellen.reports.rows import arm_order, metric_in, unjudged, whole_tasks
from snellen.reports.task_tables import TaskTables
from snellen.reports.words import DASH, amount, rate, span, unread_notes

if TYPE_CHECKING:
    from rich.table import Table

HEADS = "chance", "blind"
"""Columns of results that are shown in a head if all subjects have the same value."""


def print_table(results: pd.DataFrame, *, suite_of: SuiteOf = registered) -> TaskTables:
    """Tasks against subjects: value and interval, with chance and the blind baseline next to the task's name.

    Chance is in the cells if arms differ, and omitted for tasks on which chance is perfect (curation steps). `n < 20`
    replaces an interval that needs about 20 items. `suite_of` returns the suite of a name, whose metrics format the
    numbers.
    """
    from rich.markup import escape

    rows = whole_tasks(results)
    several, arms = rows["suite"].nunique() > 1, arm_order(rows)
    columns = []
    for suite, task in dict.fromkeys(zip(rows["suite"], rows["task"], strict=True)):
        part = rows[(rows["suite"] == suite) & (rows["task"] == task)]
        metric = metric_in(suite_of(suite), next(lines_of(part)))
        best = metric.bounds and metric.bounds[metric.higher_is_better]
        scores = [[score for score in part[name].dropna() if score != best] for name in HEADS]
        chances, blind = (sorted({amount(score, metric) for score in column}) for column in scores)
        head = escape(f"{suite} {task}" if several else task)
        head += f"\n[dim]chance {chances[0]}[/]" if len(chances) == 1 else ""
        head += f"\n[dim]blind {blind[0]}[/]" if len(blind) == 1 else ""
        cells = {row.arm: _cell(row, metric, len(chances) > 1, suite_of) for row in lines_of(part)}
        columns.append((head, tuple(cells.get(arm, "") for arm in arms)))
    return TaskTables(tuple(map(escape, arms)), tuple(columns))


def answer_table(rows: pd.DataFrame) -> Table:
    """The table of the front page (`Report.answers`): the abilities of each subject by grade, and what decides."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    caption = "Abilities without a grade (too few items, declined, …) are on the page."
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), caption=caption, caption_justify="left")
    table.add_column("subject", overflow="fold", ratio=3)
    for grade in ("none", "some", "most or better"):
        table.add_column(grade, overflow="fold", ratio=2)
    for row in rows.to_dict("records"):
        decides = f"\n[dim]{escape(row['what decides'])}[/]" if row["what decides"] else ""
        grades = (escape(row[grade]) or DASH for grade in ("none", "some", "most or better"))
        table.add_row(escape(row["subject"]) + decides, *grades)
    return table


def _short(reason: str) -> str:
    """The reason for a missing interval, in the width of an interval."""
    return re.sub(r"^wide interval \(narrow with about (.*) items\)$", r"n < \1", reason)


def _cell(row: Any, metric: Metric, with_chance: bool, suite_of: SuiteOf) -> str:
    from rich.markup import escape

    if math.isnan(row.value) and unjudged(row, suite_of(row.suite)):
        return "[dim]unjudged[/]"
    if math.isnan(row.value):
        return "[dim]declined[/]" if row.not_applicable else "[red]failed[/]" if row.failure_rate > 0 else DASH
    instead = _short(in_place_of_interval(row, metric.bounds))
    around = instead or escape(span(row.low, row.high, metric, row.n) + " ").strip()
    text = f"{amount(row.value, metric, row.n)} [dim]{around}[/]"
    notes = [f"chance {amount(row.chance, metric)}"] if with_chance and not math.isnan(row.chance) else []
    state = words(row.grade, row.state)
    notes = [f"{state}: {row.note}" if state == f"boxes in {row.boxes_in}" else state, *notes]
    notes += unread_notes(row, metric)
    notes += [f"failed {rate(row.failure_rate)}"] if row.failure_rate > 0 else []
    return text + (f"\n[dim]{', '.join(notes)}[/]" if notes else "")
