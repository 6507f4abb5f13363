"""Tables of report sections, made from rows: a line per arm, and a column per level, task or answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from snellen.analysis.tables.cells import chance_range, percent, result_cell, share_cell
from snellen.analysis.tables.run_view import ReportArm, arm_cards, of_first_judge, score_rows
from snellen.analysis.tables.section import ReportSection, Run


def table_section(
    title: str,
    note: str,
    columns: Sequence[str],
    lines: Iterable[Sequence[Any]],
    name: str,
    figure: Any = None,
    *,
    detail: bool = False,
) -> Iterator[ReportSection]:
    """The section of a table with these columns and lines of cells; none if there are no lines."""
    if cells := list(lines):
        yield ReportSection(title, note, pd.DataFrame(cells, columns=list(columns)), figure, name, detail)


# Results by level


def level_lines(
    by_arm: Mapping[ReportArm, Mapping[str, Any]],
    levels: Sequence[str],
    write: Callable[[Any], str] = result_cell,
    before: Callable[[ReportArm], Sequence[str]] = lambda arm: (),
    after: Callable[[ReportArm], Sequence[str]] = lambda arm: (),
) -> list[list[str]]:
    """A line per arm of `rows_by_arm`: subject, condition and a cell per level. `write` gets a row of results or None.

    `before` and `after` return the cells of an arm on both sides of the levels.
    """
    return [
        [*arm, *before(arm), *(write(by_level.get(level)) for level in levels), *after(arm)]
        for arm, by_level in by_arm.items()
    ]


def reference_lines(
    column: str, rows: pd.DataFrame, levels: Sequence[str], before: Sequence[str] = ("",), after: Sequence[str] = ()
) -> list[list[str]]:
    """The line of `chance` or of the `blind` baseline in percent at each level; none if it is not known.

    `before` are the cells between its name and the levels, `after` those behind them.
    """
    if rows[column].isna().all():
        return []
    cells = [chance_range(rows.loc[rows["level"] == level, column]) for level in levels]
    return [[f"({column})", *before, *cells, *after]]


# Answers by arm


def arm_parts(rows: pd.DataFrame) -> Iterator[tuple[ReportArm, pd.DataFrame]]:
    """The rows of each arm, in the order of the first."""
    for (subject, condition), part in rows.groupby(["subject", "condition"], sort=False):
        yield ReportArm(str(subject), str(condition)), part


def arm_scores(run: Run, task: str, arm: Any) -> pd.DataFrame:
    """The score rows of an arm in a task that have a score; of several judges those of the first."""
    rows = score_rows(run, task)
    rows = rows[(rows["subject"] == arm.subject) & (rows["condition"] == arm.condition)]
    return of_first_judge(rows).dropna(subset="value")


def answers_by_arm(scores: pd.DataFrame) -> Iterator[tuple[ReportArm, pd.DataFrame]]:
    """The readable answers of each arm, one row per item and repeat; `prediction` and `truth` are decoded."""
    rows = scores[scores["outcome"] == "answered"]
    rows = rows.assign(prediction=rows["prediction"].map(json.loads), truth=rows["truth"].map(json.loads))
    yield from arm_parts(rows)


def chosen_cell(chosen: Sequence[Any], right: Sequence[Any], option: Any, clusters: Sequence[str]) -> str:
    """The percentage that chose the option, with interval, and the percentage for which it was right."""
    true = float(np.mean([answer == option for answer in right]))
    return f"{share_cell([float(answer == option) for answer in chosen], clusters)} ({percent(true, len(right))})"


def position_cells(part: pd.DataFrame, options: Sequence[Sequence[str]], count: int) -> list[str]:
    """A `chosen_cell` for each of `count` positions among the options offered with each answer; "" beyond the last."""
    chosen, right = (
        [keys.index(answer) if answer in keys else -1 for keys, answer in zip(options, part[column], strict=True)]
        for column in ("prediction", "truth")
    )
    clusters, most = list(part["cluster_id"]), max(map(len, options))
    return [chosen_cell(chosen, right, n, clusters) if n < most else "" for n in range(count)]


def arms_beside_plain(run: Run, plain: Mapping[str, str]) -> Iterator[tuple[ReportArm, ReportArm, str]]:
    """(plain arm, arm that differs only in the axes of `plain`, the differing values), in the order of the run.

    `plain` has the usual value of each of these axes.
    """
    cards = arm_cards(run)

    def other_axes(arm: ReportArm) -> tuple[Any, ...]:
        return arm.subject, tuple(sorted((k, v) for k, v in cards[arm].columns.items() if k not in plain))

    moved = {
        arm: [str(card.columns[name]) for name, usual in plain.items() if card.columns.get(name, usual) != usual]
        for arm, card in cards.items()
    }
    unmoved = {other_axes(arm): arm for arm, names in moved.items() if not names}
    for arm, names in moved.items():
        if names and other_axes(arm) in unmoved:
            yield unmoved[other_axes(arm)], arm, " + ".join(names)
