"""The table that commands print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from snellen.analysis.cells import in_place_of_interval
from snellen.core.score import Metric
from snellen.reports.loading import SuiteOf, registered
from snellen.reports.rows import arm_order, lines_of, metric_in, unjudged, whole_tasks
from snellen.reports.words import DASH, amount, rate, read_note, span

if TYPE_CHECKING:
    from rich.table import Table


def print_table(results: pd.DataFrame, *, suite_of: SuiteOf = registered) -> Table:
    """One row a subject, one column a task: value, interval, and in the head what is had without looking.

    That is chance (in the cell where arms differ), and the blind score where it was measured. `suite_of` leads from a
    suite's name to the suite, whose tasks say how their numbers are read.
    """
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    rows = whole_tasks(results)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("subject", overflow="fold")
    tasks = list(dict.fromkeys(zip(rows["suite"], rows["task"], strict=True)))
    several = rows["suite"].nunique() > 1
    chances, metrics = dict[tuple[str, str], str](), dict[tuple[str, str], Metric]()
    for suite, task in tasks:
        part = rows[(rows["suite"] == suite) & (rows["task"] == task)]
        metric = metrics[suite, task] = metric_in(suite_of(suite), next(lines_of(part)))
        texts = sorted({amount(chance, metric) for chance in part["chance"].dropna()})
        chances[suite, task] = texts[0] if len(texts) == 1 else ""
        head = escape(f"{suite} {task}" if several else task)
        head += f"\n[dim]chance {chances[suite, task]}[/]" * bool(chances[suite, task])
        blind = sorted({amount(score, metric) for score in part["blind"].dropna()})
        head += f"\n[dim]blind {blind[0]}[/]" if len(blind) == 1 else ""
        table.add_column(head, justify="right")
    cells = {(row.suite, row.task, row.arm): row for row in lines_of(rows)}
    for arm in arm_order(rows):
        table.add_row(
            escape(arm), *(_cell(cells.get((*task, arm)), metrics[task], not chances[task], suite_of) for task in tasks)
        )
    return table


def _cell(row: Any, metric: Metric, with_chance: bool, suite_of: SuiteOf) -> str:
    from rich.markup import escape

    if row is None:
        return ""
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
