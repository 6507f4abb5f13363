"""The tables that commands print."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

import pandas as pd

from snellen.analysis.grading import states
from snellen.analysis.grading.deciding import units_to_decide
from snellen.analysis.grading.rows import ResultRow, rows_of
from snellen.analysis.tables.cells import in_place_of_interval
from snellen.core.score import Metric
from snellen.reports.loading import SuiteOf, registered
from snellen.reports.rows import arm_order, metric_in, whole_tasks
from snellen.reports.task_tables import TaskTables
from snellen.reports.words import BEYOND, DASH, HARDLY, amount, grade_text, rate, span, unread_notes, value_words
from snellen.suites import SUITES

if TYPE_CHECKING:
    from rich.table import Table

    from snellen.reports.writing import Report

HEADS = "chance", "blind"
"""Columns of results that are shown in a head if all subjects have the same value."""
MOST_TIMES = 50
"""The largest recommended factor between two numbers of clusters."""


def print_table(
    results: pd.DataFrame, *, suite_of: SuiteOf = registered, can_grow: bool = False, unread: Sequence[str] = ()
) -> TaskTables:
    """Tasks against subjects: value, interval, grade; number of items, chance and blind baseline next to the task.

    Numbers of items and chance are in the cells if arms differ; chance is omitted for tasks on which it is perfect
    (curation steps). Wide intervals are left out. `suite_of` returns the suite of a name, whose metrics format the
    numbers. `can_grow` is true for a set that can be built with more items. `unread` are sentences about replies that
    cannot be read (`analysis.tables.unread`), which come first.
    """
    from rich.markup import escape

    rows = whole_tasks(results)
    several, arms = rows["suite"].nunique() > 1, arm_order(rows)
    columns = []
    for key, part in rows.groupby(["suite", "task"], sort=False):
        suite, task = map(str, key)
        metric = metric_in(suite_of(suite), next(rows_of(part)))
        best = metric.bounds and metric.bounds[metric.higher_is_better]
        scores = [[score for score in part[name].dropna() if score != best] for name in HEADS]
        chances, blind = (sorted({amount(score, metric, unit=metric.share) for score in column}) for column in scores)
        head = escape(suite_of(suite).card.task_title(task, suite if several else ""))
        head += "" if metric.higher_is_better else " ↓"
        head += f"\n[dim]chance {chances[0]}[/]" if len(chances) == 1 else ""
        head += f"\n[dim]blind {blind[0]}[/]" if len(blind) == 1 else ""
        counts = sorted(set(part["n"][part["value"].notna()]))
        head += f"\n[dim]n {counts[0]}[/]" if len(counts) == 1 else ""
        cells = {row.arm: _cell(row, metric, (len(counts) > 1, len(chances) > 1)) for row in rows_of(part)}
        columns.append((head, tuple(cells.get(arm, "") for arm in arms)))
    lower = "↓: lower is better" if any("↓" in head for head, _ in columns) else ""
    note = ". ".join(filter(None, (lower, _undecided_note(rows, suite_of, can_grow=can_grow))))
    return TaskTables(tuple(map(escape, arms)), tuple(columns), escape(note), escape("\n".join(unread)))


def _undecided_note(rows: pd.DataFrame, suite_of: SuiteOf, *, can_grow: bool) -> str:
    """The number of undecided scores by state, and for a set that can grow how much larger it must be for half of them.

    Empty if no score has too few items.
    """
    scored = list(rows_of(rows[rows["value"].notna()]))
    few = [row for row in scored if row.grade.needs_items]
    if not few:
        return ""
    counts = Counter(grade_text(row.grade) for row in scored if not row.grade.is_decided)
    listed = ", ".join(f"{count} {state}" for state, count in counts.most_common())
    note = f"{counts.total()} of {len(scored)} scores are undecided: {listed}"
    few = [row for row in few if not math.isnan(row.low)]
    if not can_grow or not few:
        return note
    times = sorted(units_to_decide(row, metric_in(suite_of(row.suite), row)) / row.n for row in few)
    middle = times[(len(times) - 1) // 2]
    if middle > MOST_TIMES:
        return f"{note}. Most of these are so near a boundary of grades that no larger set is likely to decide them"
    larger = max(middle, 1.1)
    return (
        f"{note}. With too few items, half would be decided by about {larger:.2g} times as many clusters "
        f"(now {median(row.clusters for row in few):.0f}): snellen build {few[0].suite} "
        f"--n {math.ceil(larger * median(row.n for row in few))}"
    )


def answer_lines(report: Report) -> Table:
    """What the first subject of the front page gets beyond guessing and what not, in the words of the page."""
    from rich.markup import escape
    from rich.table import Table

    rows, cards = report.grades(), [SUITES.get(name).card for name in report.results["suite"].unique()]
    names = {(card.title, task): about.name for card in cards for task, about in card.tasks.items()}
    rows = rows[rows["subject"] == rows["subject"].iloc[0]]
    scored = rows[rows["state"] != states.NOT_ASKED]
    table = Table.grid(padding=(0, 2))
    table.add_column(max_width=30)
    table.add_column(no_wrap=True)
    table.add_column()
    groups = {
        HARDLY: rows[rows["grade"] == "none"],
        BEYOND: rows[(rows["grade"] != "none") & (rows["grade"] != "")],
        states.OPEN: rows[rows["state"] == states.OPEN],
    }
    groups = {name: of_group for name, of_group in groups.items() if len(of_group)} or {"not decided": scored}
    for head, (name, of_group) in zip([str(rows["subject"].iloc[0]), *[""] * 3], groups.items(), strict=False):
        listed = " · ".join(names.get((row.suite, row.task), row.task) for row in of_group.itertuples())
        number = f"{len(of_group)} of {len(scored)} scores"
        table.add_row(f"[bold]{escape(head)}[/]", f"[dim]{name}[/]", escape(number if name == states.OPEN else listed))
    return table


def _cell(row: ResultRow, metric: Metric, with_n_and_chance: tuple[bool, bool]) -> str:
    from rich.markup import escape

    state = grade_text(row.grade)
    if math.isnan(row.value):
        failed = state == states.FAILED
        return f"[red]{state}[/]" if failed else DASH if state == states.NOT_ASKED else f"[dim]{state}[/]"
    around = in_place_of_interval(row) or escape(span(row.low, row.high, metric, row.n) + " ").strip()
    text = f"{value_words(row, metric)} [dim]{around}[/]" if around else value_words(row, metric)
    with_n, with_chance = with_n_and_chance
    notes = [f"n {row.n}"] if with_n else []
    notes += (
        [f"chance {amount(row.chance, metric, unit=metric.share)}"]
        if with_chance and not math.isnan(row.chance)
        else []
    )
    notes = [f"{state}: {row.grade.note}" if row.grade.reason == states.UNIT else state, *notes]
    notes += unread_notes(row, metric)
    notes += [f"failed {rate(row.failure_rate)}"] if row.failure_rate > 0 else []
    return text + (f"\n[dim]{', '.join(notes)}[/]" if notes else "")
