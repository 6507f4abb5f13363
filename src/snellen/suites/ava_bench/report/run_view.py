"""A run as the suite's pieces need it: arms, rows of results, scores by ability, and how numbers are written."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, percent, unheard
from snellen.analysis.rankings import Ability, Ranked
from snellen.analysis.section import Run, protocol_of
from snellen.core.runfolder import ArmCard
from snellen.core.score import Metric
from snellen.suites.ava_bench.abilities import ABILITIES, ability_named, atomic
from snellen.suites.ava_bench.published import COLUMNS

TOWERS: tuple[tuple[str, str], ...] = (
    ("SigLIP-2", r"siglip[-_ ]?(?:v)?2"),
    ("SigLIP-1", r"siglip"),
    ("AIMv2", r"aim-?v2"),
    ("InternVL-2.5", r"intern-?v"),
    ("CLIP", r"\bclip"),
    ("RADIOv2.1", r"radio"),
    ("DINOv2", r"dino-?v2"),
    ("SAM", r"\bsam\b"),
    ("MiDaS-3.0", r"midas"),
)
"""Towers of Table 5 and how names of subjects speak of them; the first that fits counts."""


# Arms


def main_arms(run: Run) -> list[ArmCard]:
    """One arm a subject under the run's main condition: vanilla, else the one most subjects have. Simulated ones last.

    Of several repeats it is the first; scores hold all of them.
    """
    found: dict[tuple[str, str], ArmCard] = {}
    for arm in run.card.arms:
        found.setdefault((arm.subject, arm.condition), arm)
    counts = Counter(condition for _, condition in found)
    if not counts:
        return []
    main = "vanilla" if "vanilla" in counts else counts.most_common(1)[0][0]
    arms = [arm for arm in found.values() if arm.condition == main]
    return sorted(arms, key=lambda arm: is_fake(arm.subject))


def is_fake(subject: str) -> bool:
    """Whether this is a simulated observer."""
    return subject.startswith("fake:")


def examined(arms: Sequence[ArmCard]) -> list[ArmCard]:
    """Arms of examined subjects; those of simulated observers where there are no others."""
    return [arm for arm in arms if not is_fake(arm.subject)] or list(arms)


def tower_of(arm: ArmCard) -> str:
    """The tower of Table 5 that a subject sees through, by its attribute `tower` or its name; empty for others."""
    told = arm.attributes.get("tower", arm.subject).casefold()
    return next((name for name, pattern in TOWERS if re.search(pattern, told)), "")


# Rows and scores


def metric_of(run: Run, task: str) -> Metric:
    """The first metric of a task."""
    return ability_named(task).protocols[protocol_of(run)].metrics[0]


def result_rows(run: Run, task: str, factor: str = "") -> pd.DataFrame:
    """The results of a task's first metric that hold a value: a row an arm (and level)."""
    rows = run.results
    rows = rows[(rows["task"] == task) & (rows["factor"] == factor) & (rows["protocol"] == protocol_of(run))]
    return rows[(rows["metric"] == metric_of(run, task).name) & (rows["n"] > 0)]


def row_of(rows: pd.DataFrame, arm: ArmCard) -> Any:
    """The first row of an arm, or None."""
    mine = rows[(rows["subject"] == arm.subject) & (rows["condition"] == arm.condition)]
    return next(mine.itertuples(), None)


def tasks_of(run: Run, arms: Sequence[ArmCard], among: Sequence[str] = ()) -> list[str]:
    """The tasks that any of the arms has a value in: of those named, else of atomic ones, those of Table 5 first."""
    tasks = among or tuple(dict.fromkeys((*COLUMNS, *atomic())))
    return [task for task in tasks if any(row_of(result_rows(run, task), arm) is not None for arm in arms)]


def complete(run: Run, arms: Sequence[ArmCard], tasks: Sequence[str]) -> list[ArmCard]:
    """The arms that have a value in all of the tasks."""
    rows = [result_rows(run, task) for task in tasks]
    return [arm for arm in arms if all(row_of(one, arm) is not None for one in rows)]


def ability_of(run: Run, task: str, arms: Sequence[ArmCard], name: str = "") -> Ability:
    """Scores of the arms (its rows, in their order) on the items of a task; repeats of an item are averaged."""
    metric, scores = metric_of(run, task), run.scores[protocol_of(run)]
    scores = scores[(scores["task"] == task) & (scores["metric"] == metric.name)].dropna(subset="value")
    keys = [(arm.subject, arm.condition) for arm in arms]
    mine = scores[pd.MultiIndex.from_frame(scores[["subject", "condition"]]).isin(keys)]
    table = mine.pivot_table(values="value", index=["subject", "condition"], columns="item_id", aggfunc="mean")
    clusters = mine.drop_duplicates("item_id").set_index("item_id")["cluster_id"]
    values = table.reindex(pd.MultiIndex.from_tuples(keys)).to_numpy(np.float64)
    held = tuple(str(clusters[item]) for item in table.columns)
    return Ability(name or task, values, held, not metric.higher_is_better)


def levels_of(run: Run, task: str, factor: str) -> list[str]:
    """The levels of a factor that have a value, known ones first in their order."""
    found = {str(level) for level in result_rows(run, task, factor)["level"]}
    known = next((ability.subgroups[factor] for ability in ABILITIES.values() if factor in ability.subgroups), ())
    return [*(level for level in known if level in found), *sorted(found - set(known))]


def chance_of(rows: pd.DataFrame) -> float:
    """The mean chance of some rows of results; NaN where none is known."""
    return float(rows["chance"].mean()) if len(rows) else math.nan


def of_the_way(value: float, chance: float, metric: Metric) -> float:
    """How much of the way from chance (0) to a perfect score (1) a value goes; below 0 where worse than chance."""
    perfect = 1.0 if metric.higher_is_better else 0.0
    return math.nan if math.isnan(chance) or chance == perfect else (value - chance) / (perfect - chance)


# Words


def number(value: float, metric: Metric, n: int) -> str:
    """A score as people read it: percent of shares (a decimal only where there are items enough), else its own unit."""
    if math.isnan(value):
        return DASH
    if metric.share:
        return percent(value, n)
    return f"{value:.1f}" if metric.name == "ciede2000" else f"{value:.3f}"


def cell(row: Any, metric: Metric) -> str:
    """A row of results: score with interval, and what was not answered or failed."""
    if row is None:
        return DASH
    told = number(row.value, metric, row.n)
    if not math.isnan(row.low):
        told += f" [{number(row.low, metric, row.n)}, {number(row.high, metric, row.n)}]"
    return told + unheard(row)


def span(told: Ranked, places: int = 1) -> str:
    """A rank or a measure of agreement with its interval, where there is one."""
    if math.isnan(told.value):
        return DASH
    value, low, high = (f"{one:.{places}f}" for one in told)
    return value if math.isnan(told.low) else f"{value} [{low}, {high}]"


def headed(run: Run, task: str) -> str:
    """The head of a column: the task, its unit, and an arrow to where better is."""
    metric = metric_of(run, task)
    unit = "" if metric.name == "accuracy" else f" {metric.name}"
    return f"{task}{unit} {'↑' if metric.higher_is_better else '↓'}"
