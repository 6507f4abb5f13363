"""Comparisons: pairs of arms, groups of subjects and ranks, as tables and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd

from snellen.analysis.comparison.contrasts import COLUMNS, contrasts, with_holm
from snellen.analysis.comparison.groups import COUNTERPARTS
from snellen.analysis.tables.cells import DASH, decimal_interval
from snellen.analysis.tables.rank_table import AVERAGE
from snellen.analysis.tables.run_view import (
    ReportArm,
    arm_name,
    lines_of,
    simulated_subjects,
    unit_bounds,
    units_by_task,
)
from snellen.analysis.tables.section import Run, protocol_of
from snellen.core.score import Metric
from snellen.reports.rows import arm_order, metric_in, whole_tasks_of
from snellen.reports.words import amount, difference, probability, span
from snellen.scoring.permutation import clusters_needed

MAX_ARMS = 24
"""Greatest number of arms that are compared in pairs."""
FAMILIES: Mapping[str, str] = {
    "subjects": "two examined subjects under one condition, over all tasks",
    "conditions": "two conditions of one subject, over all tasks and subjects",
    "simulated": "two arms of which one or both are simulated observers, over all tasks",
}
"""Families of pairs, in words."""


def paired(run: Run, limit: int = MAX_ARMS) -> pd.DataFrame:
    """Contrasts of the main metric of each task, between arms that differ only in the subject or in the condition.

    The units are those of the tables: items, or groups of items that are scored together. Of more than `limit` arms the
    first are compared, simulated observers last. Families for Holm cover all tasks (`FAMILIES`).
    """
    rows = whole_tasks_of(run)
    first = arm_order(rows)[:limit]
    metrics = {str(row.task): str(row.metric) for row in lines_of(rows.drop_duplicates("task"))}
    units_of_tasks = units_by_task(run, run.suite.tasks)
    bounds = {task: unit_bounds(run, task, units_by_arm) for task, units_by_arm in units_of_tasks.items()}
    parts = [
        _units(units, arm).assign(task=task, protocol=protocol_of(run), metric=metrics[task])
        for task, units_by_arm in units_of_tasks.items()
        for arm, units in units_by_arm.items()
        if arm_name(*arm) in first
    ]
    if not parts:
        return pd.DataFrame(columns=list(COLUMNS))
    units = pd.concat(parts, ignore_index=True)
    groups = [part for _, part in units.groupby("condition", sort=False)]
    groups += [part for _, part in units.groupby("subject", sort=False) if part["condition"].nunique() > 1]
    table = with_holm(
        pd.concat([contrasts(part, bounds, simulated_subjects(run)) for part in groups], ignore_index=True)
    )
    order = {task: number for number, task in enumerate(run.suite.tasks)}
    return table.sort_values("task", key=lambda tasks: tasks.map(order), kind="stable", ignore_index=True)


def _units(units: pd.DataFrame, arm: ReportArm) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "item_id": units.index,
            "value": units["value"].to_numpy(),
            "cluster_id": units["cluster"].to_numpy(),
            "subject": arm.subject,
            "condition": arm.condition,
        }
    )


@dataclass(frozen=True)
class TestFamily:
    """A family of tests: its description, their number, and the clusters below which none could be clear."""

    text: str
    tests: int
    clusters: int


def families(table: pd.DataFrame) -> list[TestFamily]:
    """The families of a table of contrasts."""
    counts = table.dropna(subset="p")["family"].value_counts()
    return [
        TestFamily(text, int(counts[name]), clusters_needed(int(counts[name])))
        for name, text in FAMILIES.items()
        if name in counts
    ]


@dataclass(frozen=True)
class ClearDifference:
    """A clear difference: the better and the worse arm, its size with interval, and its corrected p."""

    better: str
    worse: str
    by: str
    span: str
    p: str


@dataclass(frozen=True)
class Compared:
    """One task's contrasts: sentences on nearest rivals, and all pairs as a matrix of (text, clear) by arm and arm.

    Sentences, and the numbers of clear pairs and of pairs with too few clusters, exclude simulated observers; a task
    that only one subject answered is left out.
    """

    task: str
    metric: str
    sentences: tuple[ClearDifference, ...]
    clear: int
    too_few_clusters: int
    pairs: int
    arms: tuple[str, ...]
    matrix: Mapping[tuple[str, str], tuple[str, int]]


def compared(run: Run, table: pd.DataFrame) -> Iterator[Compared]:
    """The contrasts of each task, with a sentence on each arm and the best of those it is clearly better than."""
    all_rows = whole_tasks_of(run)
    all_rows = all_rows[all_rows["arm"].isin({*table["first"], *table["second"]})]
    simulated = set(all_rows.loc[all_rows["role"] == "simulated", "arm"])
    for task, pairs in table.groupby("task", sort=False):
        metric = metric_in(run.suite, next(lines_of(pairs)))
        rows = all_rows[(all_rows["task"] == task) & all_rows["value"].notna()]
        ranked = list(rows.sort_values("value", ascending=not metric.higher_is_better, kind="stable")["arm"])
        contrast_by_pair = {(pair.first, pair.second): pair for pair in lines_of(pairs)}
        contrast_by_pair |= {(pair.second, pair.first): _reversed(pair) for pair in lines_of(pairs)}
        real = [arm for arm in ranked if arm not in simulated]
        sentences = tuple(_sentences(real, contrast_by_pair, metric))
        between = [contrast_by_pair[pair] for pair in combinations(real, 2) if pair in contrast_by_pair]
        if not between and not simulated.issuperset(all_rows["arm"]):
            continue
        clear, few = (sum(getattr(pair, name) for pair in between) for name in ("clear", "too_few_clusters"))
        matrix = {key: _matrix_cell(pair, metric) for key, pair in contrast_by_pair.items()}
        yield Compared(str(task), metric.words, sentences, clear, few, len(between), tuple(ranked), matrix)


def _reversed(pair: Any) -> Any:
    return pair._replace(difference=-pair.difference, low=-pair.high, high=-pair.low)


def _sentences(
    ranked: list[str], contrast_by_pair: Mapping[tuple[str, str], Any], metric: Metric
) -> Iterator[ClearDifference]:
    for better in ranked:
        for worse in ranked:
            contrast = contrast_by_pair.get((better, worse))
            if contrast and contrast.clear and contrast.difference * metric.sign > 0:
                yield ClearDifference(better, worse, *_by(contrast, metric))
                break


def _by(contrast: Any, metric: Metric) -> tuple[str, str, str]:
    """The size of a difference, its interval, and its corrected p."""
    ends = sorted((abs(contrast.low), abs(contrast.high)))
    by = difference(contrast.difference, metric, contrast.n)
    return by, span(ends[0], ends[1], metric, contrast.n), probability(contrast.p_holm)


def _matrix_cell(contrast: Any, metric: Metric) -> tuple[str, int]:
    """(signed difference, 1 clearly better, -1 clearly worse, 0 unclear)."""
    better = (contrast.difference > 0) == metric.higher_is_better
    return signed(contrast.difference, metric, contrast.n), (1 if better else -1) if contrast.clear else 0


def signed(value: float, metric: Metric, n: int) -> str:
    """A difference with its sign, without a unit."""
    return "0" if value == 0 else f"{'+' if value > 0 else '−'}{amount(abs(value), metric, n, False)}"


def rank_cells(ranks: pd.DataFrame) -> pd.DataFrame:
    """Ranks as a table of text: one row per subject, the best on average first, and one column per task."""
    tasks = list(dict.fromkeys(task for task in ranks["task"] if task != AVERAGE))
    columns = [*([AVERAGE] if (ranks["task"] == AVERAGE).any() else []), *tasks]
    cells = {(row.subject, row.task): row for row in lines_of(ranks)}
    means = ranks[ranks["task"] != AVERAGE].groupby("subject", sort=False)["rank"].mean()
    order = sorted(means.index, key=lambda name: (_rank(cells, name), means[name]))
    lines = [[name, *(_rank_cell(cells.get((name, task)), task) for task in columns)] for name in order]
    return pd.DataFrame(lines, columns=["subject", *(task or "average rank" for task in columns)])


def _rank(cells: Mapping[tuple[str, str], Any], name: str) -> float:
    row = cells.get((name, AVERAGE))
    return float("inf") if row is None else float(row.rank)


def _rank_cell(row: Any, task: str) -> str:
    return DASH if row is None else decimal_interval(row.rank, row.low, row.high, 2 if task == AVERAGE else 1)


def group_cells(run: Run, table: pd.DataFrame) -> pd.DataFrame:
    """Group contrasts as a table of text."""
    lines = []
    for row in lines_of(table):
        metric = metric_in(run.suite, row)
        text = signed(row.difference, metric, row.n)
        verdict = "too few clusters" if row.too_few_clusters else "clear" if row.clear else "not clear"
        family = "reasoning" if row.family == COUNTERPARTS else row.family
        first, second = (
            f"{name} ({count})" for name, count in ((row.first, row.subjects_first), (row.second, row.subjects_second))
        )
        interval = span(row.low, row.high, metric, row.n)
        task, gap = run.suite.card.task_title(row.task), f"{text} {interval}".strip()
        lines.append([task, family, first, second, gap, probability(row.p_holm), verdict])
    heads = ["task", "by", "first (subjects)", "second (subjects)", "first minus second", "corrected p", "verdict"]
    return pd.DataFrame(lines, columns=heads)
