"""Findings in words: comparison with chance, and checks of the instrument."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from snellen.analysis.grading.deciding import in_order, look_at, turns
from snellen.analysis.grading.results import unit_interval
from snellen.analysis.grading.rows import ResultRow, rows_of
from snellen.analysis.tables.run_view import ReportArm, arm_cards
from snellen.analysis.tables.section import Run
from snellen.analysis.units import parts_of, units_of
from snellen.reports.rows import metric_in, subgroups_of, whole_tasks_of
from snellen.reports.words import amount, span

FALSE_ALARM = 0.01
"""Rate at which a check that scores are at chance fails though they are, over all its tasks together."""


@dataclass(frozen=True)
class Check:
    """A result that must hold if the items are sound, and the number of rows in which it does."""

    text: str
    passes: int
    places: int
    failed: tuple[str, ...]


def checks(run: Run) -> list[Check]:
    """Checks by simulated observers, if examined: items are solvable from the images, and nothing leaks."""
    rows = whole_tasks_of(run)
    parts = subgroups_of(run)
    every_check = []
    fakes = [name for name in rows.loc[rows["role"] == "simulated", "arm"].unique() if " " not in name]
    for arm in sorted(fakes, key=lambda name: (name != "fake:oracle", name != "fake:chance", name)):
        arm_rows = list(rows_of(rows[(rows["arm"] == arm) & rows["value"].notna()]))
        with_chance = [row for row in arm_rows if not math.isnan(row.chance)]
        if arm == "fake:oracle":
            every_check.append(
                _check(run, "An observer that knows what is depicted solves every item", arm_rows, _perfect)
            )
        elif arm == "fake:chance":
            every_check.append(_check(run, "A guesser is at chance", with_chance, _is_at_chance(run, with_chance)))
        elif arm.partition("=")[0] == "fake:blind-to":
            factor = arm.partition("=")[2]
            needs = parts[(parts["arm"] == arm) & (parts["factor"] == "requires")]
            blind = list(rows_of(needs[needs["level"] == factor]))
            rest = list(rows_of(needs[needs["level"] == f"not {factor}"]))
            every_check.append(
                _check(
                    run, f"Blind to {factor}: at chance where {factor} is required", blind, _is_at_chance(run, blind)
                )
            )
            every_check.append(_check(run, f"Blind to {factor}: perfect where it is not required", rest, _perfect))
    return [check for check in every_check if check.places]


def _perfect(row: ResultRow) -> bool:
    return bool(row.value == 1.0)


def _is_at_chance(run: Run, arm_rows: Sequence[ResultRow]) -> Callable[[ResultRow], bool]:
    """A joint test of these rows: each has an interval of level 1 - `FALSE_ALARM` / number of rows around its score.

    True also if no interval is estimable, as for one item: nothing contradicts it.
    """
    level = 1 - FALSE_ALARM / max(1, len(arm_rows))

    def holds(row: ResultRow) -> bool:
        task, scores = run.suite.tasks[row.task], run.scores[row.protocol]
        keys = ("subject", "condition", "task", "metric", "judge")
        of_row = np.logical_and.reduce([scores[name] == getattr(row, name) for name in keys])
        parts = parts_of(scores[of_row], run.items.by_id, task)
        units = next(
            units_of(part, task.protocols[row.protocol])
            for factor, factor_level, part in parts
            if (factor, factor_level) == (row.factor, row.level)
        )
        arm = arm_cards(run)[ReportArm(row.subject, row.condition)]
        if arm.decide:
            ids = scores[of_row]["item_id"]
            look = look_at(run.items, task, arm.columns, ids) if arm.decide == "look" else None
            units = in_order(units, turns(run.items, task, arm.max_items), look)
        low, high, _ = unit_interval(units, metric_in(run.suite, row), ("chance", row.task, row.level), level)
        return math.isnan(low) or bool(low <= row.chance <= high)

    return holds


def _check(run: Run, text: str, arm_rows: Sequence[ResultRow], holds: Callable[[ResultRow], bool]) -> Check:
    """Check the scored rows of metrics that are shares, for which 1 is perfect."""
    pairs = [(row, metric) for row in arm_rows if row.n > 0 and (metric := metric_in(run.suite, row)).share]
    failed = tuple(
        f"{run.suite.card.task_title(row.task)}: {amount(row.value, metric)} {span(row.low, row.high, metric)}"
        for row, metric in pairs
        if not holds(row)
    )
    return Check(text, len(pairs) - len(failed), len(pairs), failed)
