"""A run as reports need it: its arms, rows of results and scores by task and factor, scored units by arm.

Shared by the `report/` packages of all suites. `strict` scores are used if there are some (`protocol_of`).
"""

from __future__ import annotations

import math
import typing
from collections import Counter, namedtuple
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from snellen.analysis.grading.rows import ResultRow, rows_of
from snellen.analysis.tables.rankings import ScoreMatrix
from snellen.analysis.tables.section import Run, once_a_run, protocol_of
from snellen.core.response import Response
from snellen.core.score import Metric, Protocol
from snellen.core.storage.runfolder import ArmCard
from snellen.scoring.uncertainty import Bounds


class ReportArm(NamedTuple):
    """A subject under a condition as written: one row of a table. Repeats belong to one arm."""

    subject: str
    condition: str


class HasSubject(typing.Protocol):
    """An arm, its card, or any object that belongs to one subject."""

    @property
    def subject(self) -> str:
        """The subject's name."""
        ...


ResponseKey: TypeAlias = tuple[str, str, int, str]
"""Subject, condition, repeat, item."""
OfSubject = TypeVar("OfSubject", bound=HasSubject)


# Arms


def arm_name(subject: str, condition: str) -> str:
    """The name of an arm in tables: the subject, and the condition unless it is vanilla."""
    return subject if condition == "vanilla" else f"{subject} [{condition}]"


@once_a_run
def simulated_subjects(run: Run) -> frozenset[str]:
    """The names of the simulated observers of a run."""
    return frozenset(arm.subject for arm in run.card.arms if arm.role == "simulated")


def examined(run: Run, arms: Sequence[OfSubject]) -> list[OfSubject]:
    """The arms of examined subjects of a run; those of simulated observers if there are no others."""
    return [arm for arm in arms if arm.subject not in simulated_subjects(run)] or list(arms)


def simulated_last(run: Run, arms: Iterable[OfSubject]) -> list[OfSubject]:
    """The arms of examined subjects of a run before those of simulated observers, otherwise in their order."""
    return sorted(arms, key=lambda arm: arm.subject in simulated_subjects(run))


def arm_cards(run: Run) -> dict[ReportArm, ArmCard]:
    """The card of each arm (from its first repeat), in the order of the run."""
    cards: dict[ReportArm, ArmCard] = {}
    for card in run.card.arms:
        cards.setdefault(ReportArm(card.subject, card.condition), card)
    return cards


def main_arms(run: Run) -> list[ArmCard]:
    """One arm per subject under the run's main condition (vanilla, else the most frequent), simulated subjects last.

    Of several repeats it is the first; scores have all of them.
    """
    cards = arm_cards(run)
    counts = Counter(condition for _, condition in cards)
    if not counts:
        return []
    main = "vanilla" if "vanilla" in counts else counts.most_common(1)[0][0]
    return simulated_last(run, (card for card in cards.values() if card.condition == main))


# Rows of results


def protocol_in(run: Run, task: str) -> Protocol:
    """The protocol whose scores sections show for a task."""
    return run.suite.tasks[task].protocols[protocol_of(run)]


def main_metric(run: Run, task: str) -> Metric:
    """The main metric of a task: the first of its protocol."""
    return protocol_in(run, task).metrics[0]


def rows_simulated_last(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of examined subjects of a run before those of simulated observers, otherwise in their order."""
    simulated = rows["subject"].isin(simulated_subjects(run))
    return pd.concat([rows[~simulated], rows[simulated]])


def examined_rows(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of examined subjects of a run; those of simulated observers if there are no others."""
    simulated = rows["subject"].isin(simulated_subjects(run))
    return rows if simulated.all() else rows[~simulated]


def without_unjudged(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of one task without the unjudged rows of subjects that were judged."""
    judged = set(rows.loc[rows["judge"] != "", "subject"])
    return rows[(rows["judge"] != "") | ~rows["subject"].isin(judged)]


@once_a_run
def result_rows(run: Run, task: str, factor: str = "", metric: str = "") -> pd.DataFrame:
    """The results of a task by a metric (default: the main one), one row per arm, level of `factor`, and judge.

    Simulated observers are last. Rows without scored units (declined arms) are included: see `scored`. Unjudged rows
    are left out if the subject was judged.
    """
    rows, protocol = run.results, protocol_of(run)
    rows = rows[(rows["task"] == task) & (rows["factor"] == factor) & (rows["protocol"] == protocol)]
    if rows.empty:
        return rows
    rows = rows[rows["metric"] == (metric or main_metric(run, task).name)]
    return rows_simulated_last(run, without_unjudged(rows))


def scored(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of results with at least one scored unit."""
    return rows[rows["n"] > 0]


def lines_of(rows: pd.DataFrame) -> Iterator[Any]:
    """The rows as named tuples of their cells (and `Index`)."""
    # itertuples would create a new class in every call, and read the columns one by one.
    line = _line_class(tuple(rows.columns))
    return (line(index, *cells) for index, cells in zip(rows.index, rows.to_numpy(object), strict=True))


@lru_cache(maxsize=256)
def _line_class(columns: tuple[str, ...]) -> Any:
    return namedtuple("Line", ("Index", *columns), rename=True)


def row_by_arm(rows: pd.DataFrame) -> dict[ReportArm, ResultRow]:
    """One row of results per arm; with several judges that of the first."""
    by_arm: dict[ReportArm, ResultRow] = {}
    for row in rows_of(rows):
        by_arm.setdefault(ReportArm(str(row.subject), str(row.condition)), row)
    return by_arm


def rows_by_arm(rows: pd.DataFrame) -> dict[ReportArm, dict[str, ResultRow]]:
    """The rows of results by arm and level; with several judges that of the first."""
    by_arm: dict[ReportArm, dict[str, ResultRow]] = {}
    for row in rows_of(rows):
        by_arm.setdefault(ReportArm(str(row.subject), str(row.condition)), {}).setdefault(str(row.level), row)
    return by_arm


def row_of(rows: pd.DataFrame, arm: ReportArm | ArmCard) -> ResultRow | None:
    """The first row of an arm, or None."""
    arms = zip(rows["subject"], rows["condition"], strict=True)
    position = next((n for n, names in enumerate(arms) if names == (arm.subject, arm.condition)), None)
    return None if position is None else next(rows_of(rows.iloc[position : position + 1]))


def scored_tasks(run: Run, arms: Sequence[ReportArm | ArmCard], tasks: Iterable[str]) -> list[str]:
    """The tasks in which any of the arms has a score, without those whose scores of items are not compared."""
    names = {ReportArm(arm.subject, arm.condition) for arm in arms}
    return [task for task in tasks if not names.isdisjoint(_scored_arms(run, task))]


def arms_with_all(run: Run, arms: Sequence[ArmCard], tasks: Sequence[str]) -> list[ArmCard]:
    """The arms that have a score in every one of the tasks."""
    return [arm for arm in arms if all((arm.subject, arm.condition) in _scored_arms(run, task) for task in tasks)]


@once_a_run
def _scored_arms(run: Run, task: str) -> frozenset[tuple[str, str]]:
    if main_metric(run, task).estimate is not None:
        return frozenset()
    rows = scored(result_rows(run, task))
    return frozenset(zip(rows["subject"], rows["condition"], strict=True))


def ordered_levels(levels: Iterable[str], order: Sequence[str]) -> list[str]:
    """Each level once: first those of `order` in its order, then the others by name."""
    names = set(levels)
    return [*(level for level in order if level in names), *sorted(names - set(order))]


@once_a_run
def divides(run: Run, task: str, factor: str) -> bool:
    """True if a factor divides a task: False if its results only repeat those of the task, as with one level."""
    rows = run.results[run.results["task"] == task]
    parts = rows[rows["factor"] == factor]
    levels = set(map(str, parts["level"]))
    if factor == "requires":
        return any(level.startswith("not ") for level in levels)
    return len(levels) > 1 or (len(levels) == 1 and parts["n"].max() < rows.loc[rows["factor"] == "", "n"].max())


def mean_chance(rows: pd.DataFrame) -> float:
    """The mean chance level of rows of results; NaN if none is known."""
    return float(rows["chance"].mean()) if len(rows) else math.nan


# Scores


def response_key(response: Response) -> ResponseKey:
    """The key of a response in score rows."""
    return *response.arm_key, response.item_id


def response_keys(scores: pd.DataFrame) -> Iterator[ResponseKey]:
    """The key of the response behind each score row."""
    yield from zip(*(scores[name] for name in ("subject", "condition", "repeat", "item_id")), strict=True)


@once_a_run
def score_rows(run: Run, task: str, metric: str = "") -> pd.DataFrame:
    """Score rows of a task by a metric (default: the main one), simulated observers last."""
    scores = run.scores[protocol_of(run)]
    name = metric or main_metric(run, task).name
    return rows_simulated_last(run, scores[(scores["task"] == task) & (scores["metric"] == name)])


def of_first_judge(scores: pd.DataFrame) -> pd.DataFrame:
    """Scores of one arm in one task; of several judges only those of the first."""
    judges = [judge for judge in scores["judge"].unique() if judge]
    return scores[scores["judge"] == judges[0]] if judges else scores


@once_a_run
def scored_units(run: Run, task: str) -> dict[ReportArm, pd.DataFrame]:
    """Scored units (items, or groups of items scored together) by arm, with columns value, right, cluster and weight.

    Repeats of a unit are averaged; `right` is the share of them with value 1. `weight` is the factor that the value is
    multiplied by. Of several judges the first one's scores count. None for a metric that is estimated from all answers.
    """
    if main_metric(run, task).estimate is not None:
        return {}
    protocol, units_by_arm = protocol_in(run, task), dict[ReportArm, pd.DataFrame]()
    for (subject, condition), part in score_rows(run, task).groupby(["subject", "condition"], sort=False):
        rows, repeats = of_first_judge(part), []
        for _, repeat in rows.groupby("repeat", sort=False):
            units = protocol.units(repeat)
            names = units.index if units.index.name == "group_id" else repeat.loc[units.index, "item_id"]
            repeats.append(units.set_axis(pd.Index(names, name="unit")))
        values = pd.concat(repeats).dropna(subset="value")
        values = values.assign(right=(values["value"] == 1.0).astype(float))
        values = values.assign(weight=values.get("weight", 1.0))
        values = values.rename(columns={"cluster_id": "cluster"})[["value", "right", "cluster", "weight"]]
        units = (
            values
            if values.index.is_unique
            else values.groupby("unit", sort=False).agg(
                {"value": "mean", "right": "mean", "cluster": "first", "weight": "max"}
            )
        )
        if len(units):
            units_by_arm[ReportArm(str(subject), str(condition))] = units
    return units_by_arm


def units_by_condition(run: Run, task: str) -> dict[str, pd.DataFrame]:
    """The `scored_units` of a task in a run of one subject, by condition; empty if the run has none."""
    if task not in set(run.scores[protocol_of(run)]["task"]):
        return {}
    return {arm.condition: units for arm, units in scored_units(run, task).items()}


def unit_bounds(run: Run, task: str, units_by_arm: Mapping[ReportArm, pd.DataFrame]) -> Bounds | None:
    """The least and the greatest possible value of a scored unit of the task: the metric's bounds times the weight."""
    bounds = main_metric(run, task).bounds
    weight = max((float(units["weight"].max()) for units in units_by_arm.values()), default=1.0)
    return None if bounds is None else (bounds[0] * weight, bounds[1] * weight)


def units_by_task(run: Run, tasks: Iterable[str]) -> Mapping[str, Mapping[ReportArm, pd.DataFrame]]:
    """The `scored_units` by task, without tasks that have none."""
    present = set(run.scores[protocol_of(run)]["task"])
    units = {task: scored_units(run, task) for task in tasks if task in present}
    return {task: arms for task, arms in units.items() if arms}


def score_matrix(run: Run, task: str, arms: Sequence[ArmCard], name: str = "") -> ScoreMatrix:
    """Scores of the arms (rows, in their order) on the `scored_units` of a task, ready to be ranked."""
    units_by_arm = scored_units(run, task)
    units = [units_by_arm.get(ReportArm(arm.subject, arm.condition)) for arm in arms]
    clusters = pd.concat([part["cluster"] for part in units if part is not None])
    clusters = clusters[~clusters.index.duplicated()].sort_index()
    values = [np.full(len(clusters), np.nan) if u is None else u["value"].reindex(clusters.index) for u in units]
    return ScoreMatrix(
        name or task,
        np.array(values, np.float64),
        tuple(clusters.astype(str)),
        not main_metric(run, task).higher_is_better,
    )
