"""A paper's tables with own rows: printed cells as they are, scores here by the authors' rules, means and ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from snellen.analysis.grading.rows import ResultRow
from snellen.analysis.studies.people import studies_of
from snellen.analysis.tables.cells import DASH, column_head, result_cell, with_interval
from snellen.analysis.tables.pivot import table_section
from snellen.analysis.tables.rankings import ranks_of
from snellen.analysis.tables.run_view import arm_cards, lines_of, result_rows, rows_by_arm, scored, simulated_subjects
from snellen.analysis.tables.section import ReportSection, Run, has_paper_images
from snellen.analysis.units import metric_of
from snellen.core.printed import PrintedColumn, PrintedTable
from snellen.core.score import Metric

HERE, PRINTED = "measured here", "printed"
MAIN = "vanilla"


@dataclass(frozen=True)
class _Line:
    """A row: its cells, its values in the unit of print (NaN where there is none), printed cells behind, and ranks."""

    subject: str
    condition: str
    origin: str
    cells: Sequence[str]
    values: Sequence[float]
    more: Sequence[str] = ()
    is_ranked: bool = False
    ranks: Sequence[float] = ()
    rank: float = math.nan

    @property
    def mean(self) -> float:
        return float(np.mean(self.values)) if self.values else math.nan

    def cells_with_ranks(self) -> list[str]:
        """The cells, each with its rank in parentheses if it has one."""
        ranks = self.ranks or [math.nan] * len(self.cells)
        return [cell if math.isnan(r) else f"{cell} ({r:g})" for cell, r in zip(self.cells, ranks, strict=True)]


def leaderboards(run: Run) -> Iterator[ReportSection]:
    """One table for each of the paper in which a subject of the run has a score; `run` is scored by `published`."""
    for table in run.suite.published() if run.suite.published else ():
        if own := _own_lines(run, table):
            lines, metrics = [*own, *_printed_lines(table)], _metrics(run, table)
            lines = [*lines[: len(own)], *_chance(run, table), *lines[len(own) :]]
            yield from _section(run, table, lines, metrics)


def _metrics(run: Run, table: PrintedTable) -> list[Metric | None]:
    tasks = [run.suite.tasks.get(column.task) for column in table.columns]
    return [
        metric_of(task.protocols["published"], column.metric) if task else None
        for task, column in zip(tasks, table.columns, strict=True)
    ]


# Rows


def _own_lines(run: Run, table: PrintedTable) -> list[_Line]:
    """The rows of the run's subjects, by the condition without the axes that the columns set; simulated ones last.

    Those of a table with texts of its own are as the table writes them.
    """
    if table.own_cells:
        return [_Line(subject, MAIN, HERE, cells, ()) for subject, cells in table.own_cells(run).items()]
    settings, cards = {column.setting for column in table.columns if column.setting}, arm_cards(run)
    defaults = {axis.name: axis.default for axis in run.suite.axes}
    by_line: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for number, column in enumerate(table.columns):
        rows = scored(result_rows(run, column.task, column.factor, column.metric))
        for arm, by_level in rows_by_arm(rows).items():
            setting = str(cards[arm].columns.get(column.setting, defaults.get(column.setting)))
            row = by_level.get("" if column.setting else column.level)
            if row is not None and (not column.setting or setting == column.level):
                key = arm.subject, _without(arm.condition, settings)
                cells = by_line.setdefault(key, [(DASH, math.nan)] * len(table.columns))
                cells[number] = _own_cell(row, column), column.scale * row.value
    simulated, people = simulated_subjects(run), studies_of(run.card.arms)
    lines = list[_Line]()
    for key, cells in sorted(by_line.items(), key=lambda line: line[0][0] in simulated):
        texts, values = [text for text, _ in cells], [value for _, value in cells]
        is_ranked = key[0] not in simulated | people and key[1] == MAIN
        lines.append(_Line(*key, HERE, texts, values, is_ranked=is_ranked))
    return lines


def _without(condition: str, axes: set[str]) -> str:
    return ",".join(term for term in condition.split(",") if term.partition("=")[0] not in axes) or MAIN


def _own_cell(row: ResultRow, column: PrintedColumn) -> str:
    def write(value: float, low: float, high: float, n: int) -> str:
        text, *ends = (f"{column.scale * score:.{column.decimals}f}" for score in (value, low, high))
        return text if math.isnan(low) else with_interval(text, *ends)

    return result_cell(row, write)


def _printed_lines(table: PrintedTable) -> Iterator[_Line]:
    for subject, cells in table.rows.items():
        ranks = table.ranks.get(subject, ())
        yield _printed_line(table, subject, cells, True, ranks, table.rank_average.get(subject, math.nan))
    for name, cells in (("(people)", table.people), ("(chance)", table.chance)):
        if cells:
            yield _printed_line(table, name, cells)


def _printed_line(
    table: PrintedTable, subject: str, cells: Sequence[str], is_ranked: bool = False,
    ranks: Sequence[int] = (), rank: float = math.nan,
) -> _Line:  # fmt: skip
    count = len(table.columns)
    values = [float(cell.rstrip("?")) if cell else math.nan for cell in cells[:count]] if table.has_mean else []
    texts = [cell or DASH for cell in cells]
    return _Line(subject, "", PRINTED, texts[:count], values, texts[count:], is_ranked, ranks, rank)


def _chance(run: Run, table: PrintedTable) -> Iterator[_Line]:
    """The chance of the questions asked here; none if it is not known for any column."""
    cells, values = list[str](), list[float]()
    for column in table.columns if not table.own_cells else ():
        rows = scored(result_rows(run, column.task, column.factor, column.metric))
        level = "" if column.setting else column.level
        chances = [row.chance for row in lines_of(rows) if str(row.level) == level and not math.isnan(row.chance)]
        values.append(column.scale * float(np.mean(chances)) if chances else math.nan)
        cells.append(f"{values[-1]:.{column.decimals}f}" if chances else DASH)
    if any(cell != DASH for cell in cells):
        yield _Line("(chance)", "", HERE, cells, values)


# Ranks and differences


def _ranks(values: Sequence[float], sign: int) -> list[float]:
    """Ranks from 1 for the best, ties averaged; NaN without a value, and if fewer than two have one."""
    scores = sign * np.array(values, float)
    known, ranks = ~np.isnan(scores), np.full(len(scores), math.nan)
    if known.sum() > 1:
        ranks[known] = ranks_of(np.sign(np.subtract.outer(scores[known], scores[known])))
    return [float(rank) for rank in ranks]


def _ranked(lines: Sequence[_Line], table: PrintedTable, metrics: Sequence[Metric | None]) -> list[_Line]:
    """The lines with the rank of their mean, or with their rank in each column and the mean of these."""
    ranked = list(lines)
    for origin in (HERE, PRINTED) if table.has_mean else (HERE,):
        places = [n for n, line in enumerate(lines) if line.is_ranked and line.origin == origin and line.values]
        if table.has_mean:
            columns = [_ranks([lines[n].mean for n in places], 1)]
        else:
            values = zip(*(lines[n].values for n in places), strict=True)
            columns = [_ranks(v, metric.sign if metric else 1) for v, metric in zip(values, metrics, strict=False)]
        for n, ranks in zip(places, zip(*columns, strict=True), strict=False):
            ranked[n] = replace(lines[n], rank=float(np.mean(ranks)), ranks=() if table.has_mean else ranks)
    return ranked


def _differences(run: Run, lines: Sequence[_Line]) -> list[str]:
    """Each row minus that of people, over the columns that both have.

    People are those of the run under the same condition, for printed rows the printed ones, which also stand beside
    own rows if the images are the paper's.
    """
    studies = studies_of(run.card.arms)
    people = {(line.origin, line.condition): line for line in lines if line.subject in studies}
    printed = next((line for line in lines if line.subject == "(people)"), None)
    texts = []
    for line in lines:
        other = people.get((line.origin, line.condition))
        if other is None and (line.origin == PRINTED or has_paper_images(run)):
            other = printed
        gaps = np.subtract(line.values, other.values) if other and other is not line else np.array([])
        gaps = gaps[~np.isnan(gaps)]
        texts.append(f"{gaps.mean():+.2f}" if len(gaps) else DASH)
    return texts


# The table


def _section(
    run: Run, table: PrintedTable, lines: Sequence[_Line], metrics: Sequence[Metric | None]
) -> Iterator[ReportSection]:
    mixed = not table.has_mean and any(metrics)
    gaps = _differences(run, lines) if table.has_mean else []
    has_gaps = any(gap != DASH for gap in gaps)
    cells = []
    for number, line in enumerate(_ranked(lines, table, metrics)):
        more = [*line.more, *[DASH] * (len(table.more) - len(line.more))]
        mean = [DASH if math.isnan(line.mean) else f"{line.mean:.2f}"] if table.has_mean else []
        average = [DASH if math.isnan(line.rank) else str(round(line.rank, 2))] if mixed else []
        rank = [DASH if math.isnan(line.rank) else f"{line.rank:g}"] if table.has_mean else average
        gap = gaps[number : number + 1] if has_gaps else []
        cells.append([line.subject, line.condition, line.origin, *line.cells_with_ranks(), *more, *mean, *rank, *gap])
    heads = [column_head(c.head, m) if mixed and m else c.head for c, m in zip(table.columns, metrics, strict=True)]
    ends = ["mean", "rank"] if table.has_mean else ["mean rank"] if mixed else []
    names = ["subject", "condition", "origin", *heads, *table.more, *ends, *(["minus people"] if has_gaps else [])]
    title = f"{table.title} of the paper, with own rows"
    yield from table_section(title, _note(run, table, mixed, has_gaps), names, cells, f"{table.name}-printed")


def _note(run: Run, table: PrintedTable, mixed: bool, has_gaps: bool) -> str:
    images = "the images of this set" if has_paper_images(run) else "other images"
    sentences = [
        f"Printed cells are the paper's, unrounded, with {images} and other subjects. Own ones are scored by the "
        "authors' rules (protocol published), with 95 % intervals where the paper prints scores."
    ]
    if table.has_mean:
        sentences.append("The mean is ours, of all columns, for rows that have all of them.")
    if table.has_mean or mixed:
        sentences.append("Ranks are among the printed models and, apart, among the subjects examined here.")
    if has_gaps:
        sentences.append("The last column is a row minus people, over the columns that both have.")
    return " ".join([*sentences, table.note]).strip()
