"""The main table of a report and its subgroup tables: one row per arm, one cell per task or level."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pandas as pd

from snellen.analysis.grading import states
from snellen.analysis.grading.rows import ResultRow, rows_of
from snellen.analysis.studies.people import ceiling_source, number_of_people, rows_without, studies_of, study_subject
from snellen.analysis.tables.cells import in_place_of_interval
from snellen.analysis.tables.run_view import arm_name, divides, simulated_subjects
from snellen.analysis.tables.section import Run, once_a_run
from snellen.core.score import Metric
from snellen.reports.rows import arm_order, grade_words, level_order, metric_in, subgroups_of, whole_tasks_of
from snellen.reports.wide_tables import even_parts, transpose
from snellen.reports.words import (
    DASH,
    Colour,
    amount,
    colour,
    foreign,
    grade_text,
    rate,
    span,
    unread_notes,
    value_words,
)

SIDE_BY_SIDE = 6
"""Columns of numbers with bars that fit on a page of 1,200 pixels or a sheet of paper."""


@dataclass(frozen=True)
class Bar:
    """Positions of value, interval, chance, blind and ceiling on a line from 0 to 100; None if unknown."""

    value: float
    low: float | None
    high: float | None
    chance: float | None
    blind: float | None
    ceiling: float | None
    zero: float


@dataclass(frozen=True)
class Cell:
    """One number with its context and grade. `notes` are always shown, `hover` only under the pointer.

    `remarks` are other metrics in words (`Metric.remark`).
    """

    text: str
    span: str = ""
    chance: str = ""
    colour: Colour = "none"
    grade: str = ""
    bar: Bar | None = None
    notes: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    hover: str = ""
    marks: str = ""


@dataclass(frozen=True)
class Column:
    """A task with its short `name`, or a level of a factor. `chance`, `blind`, `ceiling` hold for all arms.

    `people` is the source of a ceiling that is not printed in the paper.
    """

    title: str
    metric: str
    n: str
    chance: str = ""
    blind: str = ""
    ceiling: str = ""
    people: str = ""
    name: str = ""


@dataclass(frozen=True)
class Line:
    """A row: an arm with one cell per column; None if it was not asked."""

    arm: str
    subject: str
    condition: str
    fake: bool
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class Grid:
    """A table as shown on the page."""

    title: str
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    footnotes: tuple[tuple[str, str], ...] = ()
    row_name: str = "task"

    @property
    def is_transposed(self) -> bool:
        """True if tasks (or levels) are the rows, so that the fewer of both are columns, as on the terminal."""
        return len(self.lines) <= len(self.columns)

    def blocks(self) -> list[range]:
        """The lines (of a transposed table) or columns of each of the tables into which a wide table is split."""
        return even_parts(len(self.lines) if self.is_transposed else len(self.columns), SIDE_BY_SIDE)

    def frame(self) -> pd.DataFrame:
        """The table as plain text in the same orientation, with rows for chance, blind and people from the heads."""
        table = self._by_subject()
        return transpose(table.rename(columns={"subject": self.row_name})) if self.is_transposed else table

    def _by_subject(self) -> pd.DataFrame:
        rows = [[line.arm, *(_plain(cell) for cell in line.cells)] for line in self.lines]
        for name, values in (
            ("(chance)", [c.chance for c in self.columns]),
            ("(blind)", [c.blind for c in self.columns]),
            ("(people)", [f"{c.ceiling} ({c.people})" if c.people else c.ceiling for c in self.columns]),
        ):
            if any(values):
                rows.append([name, *values])
        return pd.DataFrame(rows, columns=["subject", *(f"{column.title}" for column in self.columns)])


def _plain(cell: Cell | None) -> str:
    if cell is None:
        return ""
    chance = (f"chance {cell.chance}",) if cell.chance else ()
    notes = "; ".join((*((cell.grade,) if cell.grade else ()), *chance, *cell.notes))
    return " ".join(part for part in (cell.text, cell.span, f"({notes})" if notes else "") if part)


@dataclass
class _Footnotes:
    """Reasons with their signs in order of appearance."""

    signs: dict[str, str] = field(default_factory=dict)

    def sign(self, reason: str) -> str:
        cycle, letter = divmod(len(self.signs), 26)
        return self.signs.setdefault(reason, "abcdefghijklmnopqrstuvwxyz"[letter] * (cycle + 1))

    def footnotes(self) -> tuple[tuple[str, str], ...]:
        return tuple((sign, reason) for reason, sign in self.signs.items())


def main_grid(run: Run) -> Grid:
    """The main table: every arm on every task."""
    rows, notes = whole_tasks_of(run), _Footnotes()
    marks = _marks(run, notes)
    tasks = [task for task in run.suite.tasks if task in set(rows["task"])]
    parts = [(task, rows[rows["task"] == task]) for task in tasks]
    return _grid("", parts, arm_order(rows), run, lambda row: marks.get((row.task, row.arm), ""), notes)


def factor_grids(run: Run) -> list[tuple[str, str, Grid]]:
    """(task, factor, table) for every factor that divides the results of its task."""
    rows, tables = subgroups_of(run), []
    order = arm_order(whole_tasks_of(run))
    for (task, factor), part in rows.groupby(["task", "factor"], sort=False):
        if not divides(run, str(task), str(factor)):
            continue
        levels = [
            (level, part[part["level"] == level])
            for level in level_order(run.items, str(task), str(factor), part["level"])
        ]
        arms = [arm for arm in order if arm in set(part["arm"])]
        tables.append(
            (
                str(task),
                str(factor),
                _grid(f"{task} by {factor}", levels, arms, run, lambda row: "", _Footnotes(), str(factor)),
            )
        )
    return tables


def _grid(
    title: str,
    tables: Iterable[tuple[str, pd.DataFrame]],
    arm_names: list[str],
    run: Run,
    mark: Callable[[ResultRow], str],
    notes: _Footnotes,
    row_name: str = "task",
) -> Grid:
    columns, cells = [], list[Mapping[str, Cell]]()
    for name, part in tables:
        metric = metric_in(run.suite, next(rows_of(part)))
        column = _column(name, part, metric, run)
        if row_name == "task" and name in run.suite.card.tasks:
            column = replace(column, name=run.suite.card.tasks[name].name)
        columns.append(column)
        draw = _scale(part, metric)
        cells.append({row.arm: _cell(row, run, column, draw, mark(row)) for row in rows_of(part)})
    names = {arm_name(arm.subject, arm.condition): arm for arm in run.card.arms}
    lines, studies = list[Line](), studies_of(run.card.arms)
    for arm in arm_names:
        card = names.get(arm)
        subject, condition = (card.subject, card.condition) if card else (arm, "vanilla")
        label = "" if condition == "vanilla" else condition
        if subject in studies:
            count = number_of_people(run, subject, condition)
            label = f"{label}{label and ': '}{count} {'person' if count == 1 else 'people'}"
        lines.append(
            Line(arm, subject, label, subject in simulated_subjects(run), tuple(of_task.get(arm) for of_task in cells))
        )
    return Grid(title, tuple(columns), tuple(lines), notes.footnotes(), row_name)


def _column(title: str, part: pd.DataFrame, metric: Metric, run: Run) -> Column:
    responded = part[part["n"] > 0]
    others = rows_without(responded, studies_of(run.card.arms))  # for people, n counts the answers of each
    sizes = sorted(set((responded if others.empty else others)["n"]))
    n = "" if not sizes else f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]}–{sizes[-1]}"
    calls = 0 if part["factor"].iloc[0] else _most_calls(run).get(part["task"].iloc[0], 0)
    n += f" in {calls} call{'s' if calls > 1 else ''}" if sizes and 0 < calls < sizes[0] else ""
    chance, blind, ceiling = (_common(responded[column], metric) for column in ("chance", "blind", "ceiling"))
    people = next(filter(None, (ceiling_source(run, row) for row in rows_of(responded))), "") if ceiling else ""
    return Column(title, metric.measure, n, chance, blind, ceiling, people)


@once_a_run
def _most_calls(run: Run) -> Mapping[str, int]:
    """The largest number of calls in which an arm was asked a task: fewer than items if several share a sheet."""
    calls = {(r.task, *r.arm_key, call) for r in run.responses for call in r.calls}
    by_arm = Counter(call[:-1] for call in calls)
    return {arm[0]: count for arm, count in sorted(by_arm.items(), key=lambda pair: pair[1])}


def _common(values: pd.Series[float], metric: Metric) -> str:
    """The value as written, if it is the same for all."""
    texts = {amount(value, metric) for value in values.dropna()}
    return texts.pop() if len(texts) == 1 else ""


def _scale(part: pd.DataFrame, metric: Metric) -> Callable[[ResultRow], Bar | None]:
    """Function from a row to its bar, on a common scale: 0 to 1 for shares, else the range of all numbers shown."""
    numbers = part[["value", "low", "high", "chance", "blind", "ceiling"]].to_numpy(float).ravel()
    numbers = numbers[~pd.isna(numbers)]
    share = metric.share or not len(numbers)
    first, last = (0.0, 1.0) if share else (min(0.0, float(numbers.min())), float(numbers.max()))
    width = (last - first) or 1.0

    def share_of_scale(value: float) -> float | None:
        return None if math.isnan(value) else round(100 * (value - first) / width, 2)

    def bar(row: ResultRow) -> Bar | None:
        position = share_of_scale(row.value)
        if position is None:
            return None
        return Bar(
            position,
            share_of_scale(row.low),
            share_of_scale(row.high),
            share_of_scale(row.chance),
            share_of_scale(row.blind),
            share_of_scale(row.ceiling),
            share_of_scale(0.0) or 0.0,
        )

    return bar


def _cell(row: ResultRow, run: Run, column: Column, draw: Callable[[ResultRow], Bar | None], mark: str) -> Cell:
    metric = metric_in(run.suite, row)
    notes = unread_notes(row, metric)
    if row.failure_rate > 0:
        notes.append(f"failed {rate(row.failure_rate)}")
    if row.not_applicable and row.n:
        notes.append(f"{row.not_applicable} declined")
    if math.isnan(row.value):
        state = grade_text(row.grade)
        why = (state,) if state in (states.DECLINED, states.UNJUDGED) else tuple(notes)
        return Cell(DASH, grade=state if row.n else "", notes=why, marks=mark)
    chance = "" if column.chance or math.isnan(row.chance) else amount(row.chance, metric)
    hover = (
        f"{row.value:.4f}, {row.interval or 'no interval'} {row.low:.4f} to {row.high:.4f}, "
        f"{row.n} scored units in {row.clusters} clusters, which can detect a difference of "
        f"{row.minimum_detectable_effect:.4f}"
    )
    text = value_words(row, metric)
    around = in_place_of_interval(row) or span(row.low, row.high, metric, row.n)
    remarks = () if row.factor else tuple(_remarks(run).get(_cell_key(row), ()))
    shade, grade = colour(row.grade), grade_words(row, metric)
    return Cell(text, around, chance, shade, grade, draw(row), tuple(notes), remarks, hover, mark)


def _cell_key(row: ResultRow) -> tuple[str, ...]:
    return row.subject, row.task, row.condition, row.split, row.protocol, row.judge


@once_a_run
def _remarks(run: Run) -> Mapping[tuple[str, ...], list[str]]:
    """The remarks on whole tasks by `_cell_key`; none for a metric without scored units."""
    remarks: dict[tuple[str, ...], list[str]] = {}
    for row in rows_of(run.results[(run.results["factor"] == "") & (run.results["n"] > 0)]):
        metric = metric_in(run.suite, row)
        if metric.remark:
            text = metric.remark.format(value=value_words(row, metric), n=row.n)
            remarks.setdefault(_cell_key(row), []).append(text)
    return remarks


def _marks(run: Run, notes: _Footnotes) -> dict[tuple[str, str], str]:
    """Footnote signs by (task, arm): reasons for declining, and help in building the items it is examined on."""
    signs: dict[tuple[str, str], list[str]] = {}
    for response in run.responses:
        if response.status == "declined":
            key = response.task, arm_name(response.subject, response.condition)
            sign = notes.sign(f"declined: {foreign(response.reason, 160)}")
            if sign not in (reasons := signs.setdefault(key, [])):
                reasons.append(sign)
    for (task, arm), count in built_by(run).items():
        signs.setdefault((task, arm), []).append(
            notes.sign(f"{arm} helped to build {count} of the {task} items it is examined on")
        )
    return {key: " ".join(reasons) for key, reasons in signs.items()}


def built_by(run: Run) -> dict[tuple[str, str], int]:
    """(task, arm) -> the number of items that the arm's subject is examined on and helped to build."""
    makers: dict[str, frozenset[str]] = {}
    for item in run.items.items:
        builders = item.provenance.get("construction_subjects") or ()
        names = [builders] if isinstance(builders, str) else list(map(str, builders))
        plain_names = (name.partition("?")[0] for name in names)  # with any settings
        makers[item.item_id] = frozenset([*plain_names, *map(study_subject, names)])  # of people, all of their study
    if not any(makers.values()):
        return {}
    items_by_pair: dict[tuple[str, str], set[str]] = {}
    for response in run.responses:
        if response.subject.partition("?")[0] in makers[response.item_id]:
            items_by_pair.setdefault((response.task, arm_name(response.subject, response.condition)), set()).add(
                response.item_id
            )
    return {pair: len(items) for pair, items in items_by_pair.items()}
