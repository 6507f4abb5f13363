"""Selects the rows of results that the main tables show, and names their arms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from snellen.analysis.grading import states
from snellen.analysis.grading.grades import BLIND
from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.analysis.studies.people import rows_without, study_subject
from snellen.analysis.tables.run_view import arm_name
from snellen.analysis.tables.section import Run, once_a_run
from snellen.analysis.units import metric_of
from snellen.core.score import Metric
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import Suite
from snellen.reports.words import amount, grade_text

GRADED = (
    "subject", "task", "condition", "judge", "metric", "n", "value", "low", "high", "chance", "blind", "grade", "state",
    "reason", "floor", "floor_name", "note",
)  # fmt: skip
"""Columns of the rows that `run --json` prints."""
ARM_AND_PLACE = ("subject", "condition", "task", "judge", "factor", "level")


def whole_tasks(results: pd.DataFrame) -> pd.DataFrame:
    """One row per arm and task: the main metric of each task under `strict`, with a column `arm`.

    The main metric is the first of the protocol. Unjudged rows are left out for subjects that were judged, and people
    if their study is included.
    """
    results = _without_people_of_studies(results)
    return _named(_main(results[results["factor"] == ""]))


def plain_rows(results: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of `whole_tasks` as JSON data (columns `GRADED`); numbers that are not known are null."""
    rows = whole_tasks(results)[list(GRADED)].astype(object)
    known = rows.where(rows.notna(), None)
    return [dict(zip(GRADED, row, strict=True)) for row in known.itertuples(index=False, name=None)]


def subgroups(results: pd.DataFrame) -> pd.DataFrame:
    """Like `whole_tasks`, with one row per arm, task, factor and level."""
    return _named(_main(results[results["factor"] != ""]))


def _without_people_of_studies(results: pd.DataFrame) -> pd.DataFrame:
    people = set(results.loc[results["role"] == "person", "subject"])
    return rows_without(results, [name for name in people if "/" in name and study_subject(name) in people])


@once_a_run
def whole_tasks_of(run: Run) -> pd.DataFrame:
    """`whole_tasks` of the run's results."""
    return whole_tasks(run.results)


@once_a_run
def subgroups_of(run: Run) -> pd.DataFrame:
    """`subgroups` of the run's results."""
    return subgroups(run.results)


def _main(rows: pd.DataFrame) -> pd.DataFrame:
    parts = []
    for _, task in rows.groupby(["suite", "task"], sort=False):
        names = list(task["protocol"].unique())
        protocol = "strict" if "strict" in names else names[0]
        protocol_rows = task[task["protocol"] == protocol]
        protocol_rows = protocol_rows[protocol_rows["metric"] == protocol_rows["metric"].iloc[0]]
        judged = set(protocol_rows.loc[protocol_rows["judge"] != "", "subject"])
        parts.append(protocol_rows[(protocol_rows["judge"] != "") | ~protocol_rows["subject"].isin(judged)])
    return pd.concat(parts, ignore_index=True) if parts else rows.copy()


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with `arm`: subject and condition, numbered if it repeats (two item sets of a suite)."""
    counts: Counter[tuple[str, ...]] = Counter()
    names = []
    for subject, condition, *place in zip(*(rows[name] for name in ARM_AND_PLACE), strict=True):
        name = arm_name(str(subject), str(condition))
        key = (name, *map(str, place))
        counts[key] += 1
        names.append(name if counts[key] == 1 else f"{name} ({counts[key]})")
    return rows.assign(arm=names)


def arm_order(rows: pd.DataFrame) -> list[str]:
    """Arms in the order of the run, simulated observers last."""
    simulated = set(rows.loc[rows["role"] == "simulated", "arm"])
    return sorted(rows["arm"].unique(), key=lambda name: name in simulated)


def level_order(items: ItemSet, task: str, factor: str, levels: Iterable[str]) -> list[str]:
    """Levels in the order of the items, so easy before hard if the suite has that order; numbers by size."""
    present = list(dict.fromkeys(item.factors.get(factor, "") for item in items.task(task)))
    order = list(dict.fromkeys(levels))
    if all(level.isdigit() for level in order):
        return sorted(order, key=int)
    return sorted(order, key=lambda level: present.index(level) if level in present else len(present))


def metric_in(suite: Suite, row: Any) -> Metric:
    """The metric of a row of results or contrasts."""
    return metric_of(suite.tasks[row.task].protocols[row.protocol], row.metric)


def grade_words(row: ResultRow, metric: Metric, write: Callable[[Grade], str] = grade_text) -> str:
    """The grade of a row of results, or the state in its place, with its note, and its floor if that is not blind."""
    grade = row.grade
    is_greater = grade.floor_name not in ("", BLIND) and grade.reason != states.NO_ROOM
    floor = f"floor {amount(grade.floor, metric)}: {grade.floor_name}" if is_greater else ""
    notes = "; ".join(text for text in (grade.note, floor) if text)
    return write(grade) + (f" ({notes})" if notes else "")
