"""Authenticity of participants: a verdict from easy items and from times, shown next to results.

It excludes no one: that is the decision of the researcher.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pandas as pd

from snellen.analysis.studies.people_tables import person_answers
from snellen.analysis.tables.section import Run

Verdict: TypeAlias = Literal["passed", "failed", "too few"]
COLUMNS = ("subject", "items", "accuracy", "median_seconds", "fast_share", "authentic", "reasons")


@dataclass(frozen=True)
class AuthenticityRule:
    """Thresholds for a participant; None means no requirement.

    `min_accuracy` (0 to 1) is on the items, of which at least `min_items` must be answered for any verdict. The median
    of the seconds per item is from `min_median_seconds` to `max_median_seconds`. At most `max_fast_share` (0 to 1) of
    the pages took less than `possible_seconds`, too short a time to look and answer.
    """

    min_accuracy: float | None = None
    min_items: int = 1
    min_median_seconds: float | None = None
    max_median_seconds: float | None = None
    possible_seconds: float | None = None
    max_fast_share: float = 0.1


def authenticity(run: Run, rule: AuthenticityRule) -> pd.DataFrame:
    """One row per participant (`COLUMNS`) on all items of a run.

    `accuracy` is the mean of the tasks' main metric over the items asked, unread replies scored by the protocol;
    `fast_share` the share of pages below `possible_seconds`. `authentic` is passed, failed or, with too few items
    answered, too few; `reasons` lists what failed. Times that were not recorded fail nothing.
    """
    rows = [_row(str(subject), part, rule) for subject, part in person_answers(run).groupby("subject", sort=False)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _row(subject: str, rows: pd.DataFrame, rule: AuthenticityRule) -> dict[str, object]:
    answered = int((rows["outcome"] == "answered").sum())
    accuracy, median = float(rows["value"].mean()), float(rows["seconds"].median())
    pages = rows.groupby(["condition", "repeat", "page"])["seconds"].sum(min_count=1).dropna()
    fast = math.nan if rule.possible_seconds is None or pages.empty else float((pages < rule.possible_seconds).mean())
    reasons = list(_reasons(accuracy, median, fast, rule))
    verdict: Verdict = "too few" if answered < rule.min_items else "failed" if reasons else "passed"
    numbers = subject, answered, accuracy, median, fast, verdict, "; ".join(reasons)
    return dict(zip(COLUMNS, numbers, strict=True))


def _reasons(accuracy: float, median: float, fast: float, rule: AuthenticityRule) -> Iterator[str]:
    if rule.min_accuracy is not None and not accuracy >= rule.min_accuracy:
        yield f"accuracy {accuracy:.2f} under {rule.min_accuracy:g}"
    if rule.min_median_seconds is not None and median < rule.min_median_seconds:
        yield f"median of {median:.2f} s under {rule.min_median_seconds:g} s"
    if rule.max_median_seconds is not None and median > rule.max_median_seconds:
        yield f"median of {median:.2f} s over {rule.max_median_seconds:g} s"
    if fast > rule.max_fast_share:
        yield f"{100 * fast:.0f} % of pages in less than {rule.possible_seconds:g} s"
