"""The page of `snellen diff`: changes between two subjects, and the items whose scores flipped, side by side.

It is one file without scripts: images are data URIs, and the policy allows nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from snellen.analysis.comparison.changes import Changes
from snellen.analysis.comparison.log_changes import LogChanges
from snellen.analysis.comparison.logs import LogRow
from snellen.analysis.comparison.verdicts import Comparison, Verdict, row_name
from snellen.analysis.tables.run_view import lines_of, main_metric, of_first_judge, score_rows
from snellen.analysis.tables.section import Run
from snellen.core.response import Response
from snellen.core.score import Metric
from snellen.reports.examples import (
    Example,
    InlineThumbs,
    OfferedOption,
    Prediction,
    example,
    marks,
    prediction,
    run_replies,
)
from snellen.reports.words import amount, foreign, label_text, probability, span

if TYPE_CHECKING:
    from jinja2 import Template

MAX_FLIPS = 100
"""Greatest number of items on the page; the table counts all."""
NO_DROP = "no drop"
"""In place of a detectable drop if no drop could be found."""


@dataclass(frozen=True)
class ChangeLine:
    """A row of the table of changes: both scores, their difference and its interval as text.

    `name` is the task, ability or class, with its condition unless that is vanilla, and says if lower is better;
    `classes` is the test by class. Only tasks have grades.
    """

    name: str
    verdict: str
    before: str
    after: str
    difference: str
    span: str
    p: str
    n: int
    detectable: str
    classes: str
    grade_before: str
    grade_after: str


@dataclass(frozen=True)
class FlipCard:
    """An item that flipped, with the replies of both subjects."""

    condition: str
    is_better: bool
    example: Example


TaskFlips: TypeAlias = tuple[str, int, int, list[FlipCard]]
"""The title of a task, its flips to worse and to better, and those on the page."""


def titles(changes: Comparison) -> dict[str, str]:
    """The names of rows for readers, with the short names of tasks, by those of `row_name`."""

    def title(row: Any) -> str:
        tasks = [changes.titles.get(task, task) for task in row.tasks]
        is_named = row.kind == "task" and row.name in changes.titles
        return row_name(row._replace(name=f"{tasks[0]} ({row.name})" if is_named else row.name, tasks=tasks))

    return {row_name(row): title(row) for row in lines_of(changes.table)}


def names_of(changes: Comparison, verdict: Verdict) -> list[str]:
    """`Changes.names` for readers."""
    return [titles(changes)[name] for name in changes.names(verdict)]


def change_lines(changes: Comparison) -> list[ChangeLine]:
    """The rows of the table, drops first, abilities before tasks."""
    order = {"dropped": 0, "rose": 1, "moved": 1, "no clear change": 2, "too few clusters": 3}
    rows = sorted(lines_of(changes.table), key=lambda row: (order[row.verdict], row.kind))
    names = titles(changes)
    return [_change_line(row, names[row_name(row)], changes.metrics[row.tasks[0]]) for row in rows]


def _change_line(row: Any, title: str, metric: Metric) -> ChangeLine:
    sign = "" if row.difference == 0 or math.isnan(row.difference) else "+" if row.difference > 0 else "−"
    drop, classes = row.detectable_drop, ""
    if row.classes > 1 and row.classes < row.clusters:
        interval = span(row.class_low, row.class_high, metric, row.n)
        classes = f"95 % interval {interval}, p {probability(row.class_p)} ({row.classes:.0f} classes)"
    direction = "" if metric.higher_is_better or row.kind == "estimate" else " (lower is better)"
    return ChangeLine(
        foreign(title, 120) + direction + " (normal p)" * row.p_normal, row.verdict,
        amount(row.before, metric, row.n), amount(row.after, metric, row.n),
        sign + amount(abs(row.difference), metric, row.n, False), span(row.low, row.high, metric, row.n),
        probability(row.p_holm), int(row.n),
        NO_DROP if math.isinf(drop) else amount(drop, metric, row.n, False), classes,
        label_text(row.grade_before), label_text(row.grade_after),
    )  # fmt: skip


def detection(changes: Comparison) -> str:
    """No drop was found: the smallest drop that would have been found in every task."""
    tasks = lines_of(changes.table[changes.table["kind"] == "task"])
    names = titles(changes)
    drops = {names[row_name(row)]: row.detectable_drop for row in tasks if changes.metrics[row.tasks[0]].share}
    if blind := [name for name, drop in drops.items() if math.isinf(drop)]:
        return f"No drop found; none could have been found in {foreign(', '.join(blind), 200)}."
    if not drops:
        return "No drop found."
    least = f"{math.ceil(100 * max(drops.values()) - 1e-9)} points or more" + " in any task" * (len(drops) > 1)
    return f"No drop found; a drop of {least} would have been found in 8 of 10 such comparisons."


def shortages(changes: Comparison) -> Iterator[str]:
    """A sentence on the tasks in which `margin` is not detectable, for each number of items needed."""
    units = "images" if changes.is_own else "items"
    for number in sorted(set(changes.undetectable.values())):
        short = [titles(changes)[name] for name, items in changes.undetectable.items() if items == number]
        names = foreign(", ".join(short), 400)
        needed = f"about {number:.0f} {units} are needed" if number < math.inf else f"no number of {units} is enough"
        yield f"This comparison could not have told a drop of {100 * changes.margin:g} points in {names}: {needed}."


def render_changes(changes: Changes) -> str:
    """The page of two runs as text."""
    return render_page(changes, _flips_by_task(changes))


def render_logs(changes: LogChanges) -> str:
    """The page of two logs as text."""

    def card(row: Any) -> Example:
        pair = changes.items[row.item_id]
        sides = zip(changes.subjects, (pair.before[0], pair.after[0]), (row.before, row.after), strict=True)
        first = pair.before[0]
        return Example(
            foreign(row.item_id, 60), foreign(first.question or pair.after[0].question, 600), (), (),
            tuple(OfferedOption(foreign(f"{label}. {text}", 120), (), False) for label, text in first.options),
            foreign(", ".join(first.target or pair.after[0].target), 120), row.cause,
            tuple(_logged(*side) for side in sides),
        )  # fmt: skip

    return render_page(changes, flips_by_task(changes.flips, card))


def _logged(name: str, row: LogRow, value: float) -> Prediction:
    """A reply in a log with its score."""
    mark = "failed" if row.failure else "right" if value == 1 else "wrong" if value == 0 else "partly"
    score = f"{100 * value:.0f} %" if mark == "partly" else ""
    return Prediction(name, mark, score, "", foreign(row.failure or row.reply or "", 600))


def render_page(changes: Comparison, cards: Iterator[TaskFlips]) -> str:
    """The page of a comparison as text, with the cards of flips by task."""
    template, style = _template()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    return template.render(
        changes=changes,
        lines=change_lines(changes),
        detection=detection(changes),
        shortages=shortages(changes),
        broke=names_of(changes, "dropped"),
        rose=names_of(changes, "rose"),
        moved=names_of(changes, "moved"),
        flips=list(cards),
        shown=min(len(changes.flips), MAX_FLIPS),
        worse=int((~changes.flips["is_better"].astype(bool)).sum()),
        style=style,
        style_digest=digest,
    )


@cache
def _template() -> tuple[Template, str]:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(foreign=foreign)
    return environment.get_template("changes.html.j2"), Path(__file__).with_name("changes.css").read_text("utf-8")


def _flips_by_task(changes: Changes) -> Iterator[TaskFlips]:
    thumbs = InlineThumbs(changes.after)
    sides = [_Side(run) for run in (changes.before, changes.after)]

    def card(row: Any) -> Example:
        item = changes.after.items.by_id[row.item_id]
        predictions = tuple(side.prediction(row.task, row.condition, row.item_id) for side in sides)
        return example(item, predictions, thumbs)

    return flips_by_task(changes.flips, card, changes.after.suite.card.task_title)


def flips_by_task(
    flips: pd.DataFrame, card: Callable[[Any], Example], title: Callable[[str], str] = str
) -> Iterator[TaskFlips]:
    """Each task, the one with most flips first, with the cards of the first flips; those to worse come first."""
    flips = flips.sort_values("is_better", kind="stable")
    cards: dict[str, list[FlipCard]] = {}
    for row in lines_of(flips[:MAX_FLIPS]):
        cards.setdefault(row.task, []).append(FlipCard(row.condition, row.is_better, card(row)))
    for task, number in flips["task"].value_counts().items():
        better = int(flips.loc[flips["task"] == task, "is_better"].sum())
        yield title(str(task)), int(number) - better, better, cards.get(str(task), [])


class _Side:
    """One subject's answers to items by task, condition and item; of repeats the first."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.responses: dict[tuple[str, str], Response] = {}
        for response in run.responses:
            self.responses.setdefault((response.condition, response.item_id), response)
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}

    def prediction(self, task: str, condition: str, item_id: str) -> Prediction:
        if (task, condition) not in self._rows:
            scores = score_rows(self.run, task)
            scores = of_first_judge(scores[scores["condition"] == condition]).drop_duplicates("item_id")
            rows = lines_of(scores.assign(mark=marks(scores, main_metric(self.run, task).best)))
            self._rows[task, condition] = {row.item_id: row for row in rows}
        response, item = self.responses[condition, item_id], self.run.items.by_id[item_id]
        row, metric = self._rows[task, condition][item_id], main_metric(self.run, task)
        text = run_replies(self.run)[response.response_id]
        return prediction(item, self.run.card.arms[0].subject, row, metric, text, response.reason)
