"""The rule of verdicts: for each ability (a task), whether a subject sees it.

A score is scaled from the blind baseline (0: the better of chance and blind) to the ceiling (1: the score of people if
known, else a perfect one).

- sees: the interval is above the blind baseline, and reaches a quarter of the way or more.
- does not see: the interval ends below a quarter of the way (`SLIGHT`).
- not enough items: neither can be decided.
- not asked: there is no score.

On average at most one in twenty of a subject's verdicts may be wrong: if R of N abilities get one of the first two,
their intervals have level 1 - 0.05 R / N, and R is the largest number for which this holds (Benjamini and Yekutieli
2005, "False discovery rate-adjusted multiple confidence intervals for selected parameters", JASA 100).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.people import is_study, people_interval
from snellen.analysis.results import KEYS, baseline, metric_of, unit_interval, units_of
from snellen.analysis.section import Run
from snellen.core.score import Metric, Protocol
from snellen.scoring.uncertainty import Interval

State: TypeAlias = Literal["does not see", "not enough items", "sees", "not asked"]
STATES: tuple[State, ...] = ("does not see", "not enough items", "sees", "not asked")
"""Worst first."""
ERROR = 0.05
"""The share of a subject's verdicts that may be wrong, on average."""
SLIGHT = 0.25
"""Share of the way from blind to people; a subject that certainly gets less far does not see, even if above chance."""
UNREAD = 0.05
"""Share of unreadable replies above which a low score may be due to wording rather than sight."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on one ability of one subject. `progress`, `low`, `high` are scaled from blind (0) to people (1).

    `reason` states in words why the verdict is undecided, or why there is no score.
    """

    suite: str
    ability: str
    state: State
    progress: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reason: str = ""
    row: Any = field(default=None, repr=False, compare=False)


def corrected_level(decided: int, count: int) -> float:
    """The level of intervals if `decided` of `count` abilities get a verdict (Benjamini and Yekutieli 2005)."""
    return 1 - ERROR * max(decided, 1) / max(count, 1)


def progress(score: float, blind: float, ceiling: float) -> float:
    """A score scaled from blind (0) to the ceiling (1), negative below blind; NaN if these are equal.

    Metrics for which lower is better have a ceiling below blind.
    """
    return math.nan if math.isnan(blind) or blind == ceiling else (score - blind) / (ceiling - blind)


def ceiling_of(row: Any, metric: Metric) -> float:
    """The ceiling of a row's task: the score of people; a perfect one if that is unknown or no better than blind."""
    is_above = not math.isnan(row.ceiling) and metric.sign * (row.ceiling - baseline(row, metric)) > 0
    return float(row.ceiling) if is_above else metric.best


def verdict(row: Any, metric: Metric, interval: Interval, suite: str = "") -> Verdict:
    """The verdict on a scored row of results of a whole task, given its interval at the corrected level."""
    blind, ceiling = baseline(row, metric), ceiling_of(row, metric)
    ends = (progress(end, blind, ceiling) for end in (interval.low, interval.high))
    low, high = sorted(ends) if not math.isnan(interval.low) else (math.nan, math.nan)
    state, reason = _state(low, high, row)
    place = suite or str(row.suite), str(row.task)
    return Verdict(*place, state, progress(row.value, blind, ceiling), low, high, reason, row)


def _state(low: float, high: float, row: Any) -> tuple[State, str]:
    if math.isnan(low):
        unknown = math.isnan(row.chance) and math.isnan(row.blind)
        return "not enough items", "the blind baseline was not measured" if unknown else "no interval"
    if high < SLIGHT:
        if row.unable or row.no_answer_rate > UNREAD:
            return "not enough items", f"{row.no_answer_rate:.0%} of its replies could not be read"
        return "does not see", ""
    return ("sees", "") if low > 0 else ("not enough items", "")


def without_score(row: Any, protocol: Protocol, suite: str = "") -> Verdict:
    """The verdict on a row of results that has no score, with the reason."""
    waits = protocol.judge is not None and row.judge == ""
    reason = "declined" if row.not_applicable else "waits for a judge" if waits else "calls failed"
    return Verdict(suite or str(row.suite), str(row.task), "not asked", reason=reason, row=row)


@dataclass(frozen=True)
class ScoredRow:
    """A row of results of a whole task with its scored units, which give its interval at any level."""

    row: Any
    metric: Metric
    units: pd.DataFrame
    suite: str

    def verdict_at(self, level: float) -> Verdict:
        """The verdict by an interval of this level, computed as that of the row was."""
        return verdict(self.row, self.metric, self._interval(level), self.suite)

    def _interval(self, level: float) -> Interval:
        key = tuple(str(getattr(self.row, name)) for name in KEYS)
        if not is_study(str(self.row.subject)):
            return unit_interval(self.units, self.metric, (*key, "", ""), level)
        if "repeat" not in self.units:
            return Interval(math.nan, math.nan, "one person")
        people = self.units.rename(columns={"cluster_id": "cluster"}).assign(person=self.units["repeat"].astype(str))
        return people_interval(people, self.metric, *key, level=level)


def scored_row(run: Run, row: Any, suite: str) -> ScoredRow:
    """The `ScoredRow` of a row of results of a whole task with a score."""
    scores, protocol = run.scores[row.protocol], run.suite.tasks[row.task].protocols[row.protocol]
    names = ("task", "subject", "condition", "metric", "judge")
    of_row = np.logical_and.reduce([scores[name].to_numpy(object) == getattr(row, name) for name in names])
    return ScoredRow(row, metric_of(protocol, row.metric), units_of(scores[of_row], protocol), suite)


def corrected(scored_rows: Sequence[ScoredRow]) -> tuple[list[Verdict], float]:
    """The verdicts on the abilities of one subject, and the level of their intervals.

    Starting at the loosest level, the number of verdicts at one level sets the next level, until the number no longer
    falls; this number is the largest.
    """
    count = len(scored_rows)
    while True:
        level = corrected_level(count, len(scored_rows))
        answers = [row.verdict_at(level) for row in scored_rows]
        number = sum(answer.state in ("sees", "does not see") for answer in answers)
        if number >= count or count <= 1:
            return answers, level
        count = max(number, 1)
