"""Abstraction Alignment as the paper has it for people: without the best and the worst (appendix C.3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.cells import percent_interval
from snellen.analysis.people import is_study, people_interval
from snellen.analysis.run_view import ReportArm, main_metric, score_rows
from snellen.analysis.section import Run
from snellen.suites.combo.questions import alignment
from snellen.suites.combo.report.studies import without_best_and_worst

MIN_PEOPLE = 3
TASKS = (alignment.IMG2TEXT, alignment.TEXT2IMG)


class AnswerShare(NamedTuple):
    """A share with its interval, of `n` answers."""

    value: float
    low: float
    high: float
    n: int


def mean_of_two(first: Any, second: Any) -> str:
    """The mean of two independent shares with an interval made of theirs (Zou and Donner 2008, Statist. Med. 27)."""
    mean = (first.value + second.value) / 2
    low = mean - np.hypot(first.value - first.low, second.value - second.low) / 2
    high = mean + np.hypot(first.high - first.value, second.high - second.value) / 2
    return percent_interval(mean, low, high, first.n + second.n)


def trimmed_line(run: Run, arm: ReportArm) -> list[list[str]]:
    """The line of Table 3 for a study of people without those of the highest and the lowest total over both tasks.

    None for other subjects, for fewer than three people, and where a task was not asked.
    """
    if not is_study(arm.subject):
        return []
    parts = [score_rows(run, task, "accuracy") for task in TASKS]
    rows = pd.concat([part[(part["subject"] == arm.subject) & (part["condition"] == arm.condition)] for part in parts])
    rows = rows.dropna(subset="value")
    people = rows.assign(subject=[f"{number:04d}" for number in rows["repeat"]])
    if people["subject"].nunique() < MIN_PEOPLE or people["task"].nunique() < len(TASKS):
        return []
    rest = without_best_and_worst(people)
    shares = [_share(run, rest[rest["task"] == task], task, arm) for task in TASKS]
    if any(share.n == 0 for share in shares):
        return []
    name = f"{arm.subject} without best and worst"
    return [[name, arm.condition, *(percent_interval(*share) for share in shares), mean_of_two(*shares)]]


def _share(run: Run, rows: pd.DataFrame, task: str, arm: ReportArm) -> AnswerShare:
    units = rows.rename(columns={"cluster_id": "cluster", "subject": "person"})
    low, high, _ = people_interval(units, main_metric(run, task), "trimmed", *arm, task)
    return AnswerShare(float(rows["value"].mean()), low, high, len(rows))
