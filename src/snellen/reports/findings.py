"""What the numbers say, in words: standing to chance, checks of the instrument, clear differences, printed numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pandas as pd

from snellen.analysis.contrasts import COLUMNS, contrasts
from snellen.analysis.run_view import arm_name
from snellen.analysis.section import Run
from snellen.core.score import Metric, Protocol
from snellen.core.subject import is_simulated
from snellen.reports.rows import arm_order, lines_of, metric_in, standing, subgroups, whole_tasks
from snellen.reports.words import amount, difference, span

MAX_ARMS = 16
"""Arms that are compared two by two."""


@dataclass(frozen=True)
class Standings:
    """On which tasks an arm is told apart from chance."""

    arm: str
    above: tuple[str, ...]
    same: tuple[str, ...]
    below: tuple[str, ...]


def standings(run: Run) -> list[Standings]:
    """Every arm that is no fake."""
    rows, rows_of_tasks = whole_tasks(run.results), []
    for arm in arm_order(rows):
        if is_simulated(arm):
            continue
        tasks_by_verdict: dict[str, list[str]] = {}
        for row in lines_of(rows[rows["arm"] == arm]):
            tasks_by_verdict.setdefault(standing(row, metric_in(run.suite, row)), []).append(str(row.task))
        rows_of_tasks.append(
            Standings(arm, *(tuple(tasks_by_verdict.get(name, ())) for name in ("above", "same", "below")))
        )
    return rows_of_tasks


@dataclass(frozen=True)
class Check:
    """Something that must come out if the items are sound, and in how many places it did."""

    text: str
    passes: int
    places: int
    failed: tuple[str, ...]


def checks(run: Run) -> list[Check]:
    """What the simulated observers prove, where they were examined: solvable from the pictures, and nothing leaks."""
    rows = whole_tasks(run.results)
    parts = subgroups(run.results)
    every_check = []
    fakes = [name for name in rows["arm"].unique() if is_simulated(name) and " " not in name]
    for arm in sorted(fakes, key=lambda name: (name != "fake:oracle", name != "fake:chance", name)):
        arm_rows = list(lines_of(rows[(rows["arm"] == arm) & rows["value"].notna()]))
        with_chance = [
            row for row in arm_rows if not math.isnan(row.chance)
        ]  # nobody knows what blind descriptions would earn
        if arm == "fake:oracle":
            every_check.append(
                _check(run, "An observer who knows what is depicted solves every item", arm_rows, _perfect)
            )
        elif arm == "fake:chance":
            every_check.append(_check(run, "A guesser's interval contains chance", with_chance, _contains_chance))
        elif arm.startswith("fake:blind-to="):
            factor = arm.partition("=")[2]
            needs = parts[(parts["arm"] == arm) & (parts["factor"] == "requires")]
            blind = list(lines_of(needs[needs["level"] == factor]))
            rest = list(lines_of(needs[needs["level"] == f"not {factor}"]))
            every_check.append(
                _check(run, f"Blind to {factor}: at chance where {factor} is required", blind, _contains_chance)
            )
            every_check.append(_check(run, f"Blind to {factor}: perfect where it is not required", rest, _perfect))
    return [check for check in every_check if check.places]


def _perfect(row: Any) -> bool:
    return bool(row.value == 1.0)


def _contains_chance(row: Any) -> bool:
    return bool(row.low <= row.chance <= row.high)


def _check(run: Run, text: str, rows: list[Any], holds: Callable[[Any], bool]) -> Check:
    """Checked where something was heard and perfect means 1: on shares."""
    pairs = [(row, metric) for row in rows if row.n > 0 and (metric := metric_in(run.suite, row)).share]
    failed = tuple(
        f"{row.task}: {amount(row.value, metric)} {span(row.low, row.high, metric)}"
        for row, metric in pairs
        if not holds(row)
    )
    return Check(text, len(pairs) - len(failed), len(pairs), failed)


def paired(run: Run, limit: int = MAX_ARMS) -> pd.DataFrame:
    """Contrasts of the main metric of each task, between arms that differ in the subject or in the condition alone.

    What is compared is what the tables count: items, or groups of items where those are scored together. Of more than
    `limit` arms the first are compared, simulated observers last.
    """
    rows = whole_tasks(run.results)
    first = arm_order(rows)[:limit]
    parts = []
    for row in lines_of(rows.drop_duplicates(["task", "protocol", "metric"])):
        scores = run.scores[row.protocol]
        scores = scores[(scores["task"] == row.task) & (scores["metric"] == row.metric)].dropna(subset="value")
        names = [arm_name(s, c) for s, c in zip(scores["subject"], scores["condition"], strict=True)]
        scores = scores[pd.Series(names, index=scores.index, dtype=object).isin(first)]
        parts += [_units(once, run.suite.tasks[row.task].protocols[row.protocol]) for once in _once(scores)]
    if not parts:
        return pd.DataFrame(columns=list(COLUMNS))
    units = pd.concat(parts, ignore_index=True)
    groups = [part for _, part in units.groupby("condition", sort=False)]
    groups += [part for _, part in units.groupby("subject", sort=False) if part["condition"].nunique() > 1]
    table = pd.concat([contrasts(part) for part in groups], ignore_index=True)
    order = {task: number for number, task in enumerate(run.suite.tasks)}
    table = table.assign(clear=table["clear"].astype(bool))
    return table.sort_values("task", key=lambda tasks: tasks.map(order), kind="stable", ignore_index=True)


def _once(scores: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The scores of one arm and repeat at a time."""
    for _, once in scores.groupby(["subject", "condition", "repeat"], sort=False):
        yield once


def _units(once: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """Score rows with scored units in place of items; a unit that is a group is known by the group."""
    units = protocol.units(once)
    if units.index.name == "group_id":
        once = once.drop_duplicates("group_id").set_index("group_id", drop=False)
        once = once.assign(item_id=once["group_id"])
    common = once.loc[units.index]
    return common.assign(value=units["value"], cluster_id=units["cluster_id"]).reset_index(drop=True)


@dataclass(frozen=True)
class Sentence:
    """A clear difference: who is better than whom, by how much."""

    better: str
    worse: str
    by: str
    span: str


@dataclass(frozen=True)
class Compared:
    """One task's contrasts: sentences for nearest rivals, and all pairs as a matrix of (text, clear) by arm and arm.

    Sentences, and the number of clear pairs, leave out simulated observers; a task that only one subject answered is
    left out.
    """

    task: str
    metric: str
    sentences: tuple[Sentence, ...]
    clear: int
    pairs: int
    arms: tuple[str, ...]
    matrix: Mapping[tuple[str, str], tuple[str, int]]


def compared(run: Run, table: pd.DataFrame) -> Iterator[Compared]:
    """Task by task. A sentence is told for each arm and the best of those it is clearly better than."""
    all_rows = whole_tasks(run.results)
    all_rows = all_rows[all_rows["arm"].isin({*table["first"], *table["second"]})]
    for task, pairs in table.groupby("task", sort=False):
        metric = metric_in(run.suite, next(lines_of(pairs)))
        rows = all_rows[(all_rows["task"] == task) & all_rows["value"].notna()]
        ranked = list(rows.sort_values("value", ascending=not metric.higher_is_better, kind="stable")["arm"])
        contrasts_by_pair = {}
        for pair in lines_of(pairs):
            contrasts_by_pair[pair.first, pair.second] = pair.difference, pair.low, pair.high, pair.clear, pair.n
            contrasts_by_pair[pair.second, pair.first] = -pair.difference, -pair.high, -pair.low, pair.clear, pair.n
        real = [arm for arm in ranked if not is_simulated(arm)]
        sentences = tuple(_sentences(real, contrasts_by_pair, metric))
        between = [contrasts_by_pair[pair][3] for pair in combinations(real, 2) if pair in contrasts_by_pair]
        matrix = {key: _matrix_cell(value, metric) for key, value in contrasts_by_pair.items()}
        if not between and not all(is_simulated(arm) for arm in all_rows["arm"]):
            continue
        yield Compared(str(task), metric.name, sentences, sum(between), len(between), tuple(ranked), matrix)


def _sentences(
    ranked: list[str], contrasts_by_pair: Mapping[tuple[str, str], Any], metric: Metric
) -> Iterator[Sentence]:
    sign = 1 if metric.higher_is_better else -1
    for better in ranked:
        for worse in ranked:
            contrast = contrasts_by_pair.get((better, worse))
            if contrast and contrast[3] and contrast[0] * sign > 0:
                value, low, high, _, n = contrast
                ends = sorted((abs(low), abs(high)))
                yield Sentence(better, worse, difference(value, metric, n), span(ends[0], ends[1], metric, n))
                break


def _matrix_cell(contrast: Any, metric: Metric) -> tuple[str, int]:
    """(signed difference, 1 clearly better, -1 clearly worse, 0 unclear)."""
    value, _, _, clear, n = contrast
    text = "0" if value == 0 else f"{'+' if value > 0 else '−'}{amount(abs(value), metric, n, False)}"
    better = (value > 0) == metric.higher_is_better
    return text, (1 if better else -1) if clear else 0


@dataclass(frozen=True)
class Printed:
    """Measured and printed numbers of one task and metric, apart from each other."""

    task: str
    metric: str
    factor: str
    levels: tuple[str, ...]
    measured: tuple[tuple[str, tuple[str, ...]], ...]
    printed: tuple[tuple[str, tuple[str, ...], str], ...]

    def frame(self) -> pd.DataFrame:
        """One table that says of each row where it comes from."""
        names = [level or "whole task" for level in self.levels]
        rows = [[subject, *cells, "measured here"] for subject, cells in self.measured]
        rows += [[subject, *cells, f"printed: {source}"] for subject, cells, source in self.printed]
        return pd.DataFrame(rows, columns=["subject", *names, "origin"])


def published(run: Run) -> Iterator[Printed]:
    """What the paper prints beside what was measured, wherever the two have a task and metric in common."""
    printed = pd.DataFrame([dict(row) for row in run.suite.published()] if run.suite.published else [])
    if printed.empty:
        return
    printed = printed.assign(factor=printed["factor"].fillna(""), level=printed["level"].fillna("").astype(str))
    strict = run.results[run.results["protocol"] == "strict"]
    for (task, metric), part in printed.groupby(["task", "metric"], sort=False):
        our_rows = strict[(strict["task"] == task) & (strict["metric"] == metric)]
        factors = [name for name in dict.fromkeys(part["factor"]) if name] or [""]
        for factor in factors if len(our_rows) else ():
            near = part[part["factor"].isin(["", factor])]
            levels = (
                tuple(dict.fromkeys(["", *near["level"]]))
                if (near["level"] == "").any()
                else tuple(dict.fromkeys(near["level"]))
            )
            metric = metric_in(run.suite, next(lines_of(our_rows)))
            yield _printed(str(task), metric, factor, levels, near, our_rows[our_rows["factor"].isin(["", factor])])


def _printed(
    task: str, metric: Metric, factor: str, levels: tuple[str, ...], near: pd.DataFrame, our_rows: pd.DataFrame
) -> Printed:
    def cells(rows: pd.DataFrame) -> tuple[str, ...]:
        values = {str(row.level): float(row.value) for row in lines_of(rows)}
        return tuple(amount(values.get(level, math.nan), metric) for level in levels)

    measured = []
    for (subject, condition), rows in our_rows.groupby(["subject", "condition"], sort=False):
        measured.append((str(subject) + (f" [{condition}]" if condition != "vanilla" else ""), cells(rows)))
    printed = []
    for (subject, source), rows in near.groupby(["subject", "source"], sort=False):
        printed.append((str(subject), cells(rows), str(source)))
    return Printed(task, metric.name, factor, levels, tuple(measured), tuple(printed))
