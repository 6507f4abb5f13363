"""The row of results: every number that belongs to a score, with its grade. Everything that is shown is read from rows.

The columns of `results.csv` are the fields of `ResultRow`, in their order; those of a `Grade` are columns of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, get_type_hints

import pandas as pd

from snellen.analysis.grading import states
from snellen.core.response import Role, Source
from snellen.core.score import NOT_UNDERSTOOD
from snellen.core.suite import Suite


@dataclass(frozen=True)
class Grade:
    """The grade of a score (`word`), or the state in its place and the reason for it. One of the two is empty.

    `decided_by` is what it was judged from.
    """

    word: str = ""
    state: str = states.NOT_ASKED
    reason: str = states.NEVER
    floor: float = math.nan
    floor_name: str = ""
    decided_by: str = ""
    note: str = ""

    @property
    def label(self) -> str:
        """The word, or the state with its reason."""
        return self.word or f"{self.state}: {self.reason}"

    @property
    def threshold(self) -> str:
        """What a threshold is (`MEASURED`, a bound, not understood), or the state in its place."""
        return self.reason if self.state == states.THRESHOLD else self.label

    @property
    def is_decided(self) -> bool:
        """True for a grade, a threshold or its bound, and a score no better than a named baseline."""
        is_measured = self.state == states.THRESHOLD and self.reason != NOT_UNDERSTOOD
        return bool(self.word) or self.state == states.NO_BETTER or is_measured

    @property
    def needs_items(self) -> bool:
        """True if more items decide the score."""
        return self.state == states.OPEN and self.reason in (states.TOO_FEW, states.BOUNDARY)

    @property
    def is_of_part(self) -> bool:
        """True for a score of items that the subject, its service or its judge chose."""
        return self.state in (states.DECLINED, states.FAILED) and self.reason == states.IN_PART


@dataclass(frozen=True, kw_only=True)
class ResultRow:
    """The number of a subject in a task (or in a subgroup of it) under a condition, by one metric, and its grade.

    Shares are fractions from 0 to 1, also in `value`, `low`, `high`, `value_answered`, `chance`, `blind`, `ceiling` and
    `floor` of metrics that are shares; these are in natural units otherwise. NaN is unknown. `axes` are the columns of
    the condition; `arm` is the name of the row in tables. `left_out` is the share of the items, or of the groups that
    are scored together, without a score.
    """

    subject: Annotated[str, "who was examined"] = ""
    role: Annotated[Role, "what the subject is: `model`, `encoder`, `person` or `simulated`"] = "model"
    source: Annotated[Source, "where its replies come from: `asked` or `recorded`"] = "asked"
    suite: Annotated[str, "the suite"] = ""
    task: Annotated[str, "the task"] = ""
    condition: Annotated[
        str, "the condition as written; columns with its axes, as resolved for the subject, follow"
    ] = ""
    split: Annotated[str, "the split of the items"] = "test"
    protocol: Annotated[str, "how replies were scored"] = "strict"
    judge: Annotated[str, "who judged them; empty if nobody needed to, or has yet"] = ""
    metric: Annotated[str, "the metric"] = ""
    value: Annotated[float, "the score"] = math.nan
    low: Annotated[float, "the lower end of its 95 % interval"] = math.nan
    high: Annotated[float, "the upper end"] = math.nan
    interval: Annotated[str, "the kind of interval, or `not estimable: ` and the reason"] = ""
    value_answered: Annotated[
        float, "the score over the scored units all of whose replies could be read; empty if there is none"
    ] = math.nan
    n: Annotated[int, "scored units"] = 0
    clusters: Annotated[int, "independent clusters among them"] = 0
    minimum_detectable_effect: Annotated[
        float,
        "the smallest difference from a reference that these units can detect, at 80 % power and 5 % two-sided; empty "
        "without an interval",
    ] = math.nan
    items_needed: Annotated[
        float,
        "how many such units would detect the observed difference from the better of chance and blind; empty if there "
        "is no difference, and for studies of people, in which the number of people may be the limit",
    ] = math.nan
    chance: Annotated[float, "the score of guessing"] = math.nan
    blind: Annotated[float, "the score of the best attacker that sees no image, if measured"] = math.nan
    ceiling: Annotated[
        float,
        "the score of people, if known: the people of the report on the same items, else the value that the suite's "
        "paper prints",
    ] = math.nan
    no_answer_rate: Annotated[float, "the share of replies without a readable answer"] = math.nan
    cut_off_rate: Annotated[float, "the share of replies that ended at the token limit without one"] = math.nan
    failure_rate: Annotated[float, "the share of calls that failed"] = math.nan
    not_applicable: Annotated[int, "items that the subject declined"] = 0
    factor: Annotated[str, "the factor of a subgroup; empty if the row is about the whole task"] = ""
    level: Annotated[str, "the level of the factor"] = ""
    degenerate: Annotated[
        bool,
        "whether the subject could not do the task at all: half of its replies unreadable, or one and the same answer "
        "throughout; given in addition to the score, never in its place",
    ] = False
    items: Annotated[int, "items asked, including declined and failed ones"] = 0
    boxes_in: Annotated[
        str, "the unit of the boxes, if nearly all of them are in another unit than was asked for and not read"
    ] = ""
    grade: Grade = field(default_factory=Grade)
    axes: Mapping[str, Any] = field(default_factory=dict)
    arm: str = ""
    left_out: float = math.nan

    def cells(self) -> dict[str, Any]:
        """The cells of the row by column, those of the axes among them."""
        grade = {name: getattr(self.grade, attribute) for name, attribute in _GRADE.items()}
        return {name: getattr(self, name) for name in _NUMBERS} | grade | dict(self.axes)


_GRADE = {"grade": "word", **{name: name for name in ("state", "reason", "floor", "floor_name", "decided_by", "note")}}
_NUMBERS = [entry.name for entry in fields(ResultRow) if entry.name not in ("grade", "axes", "arm", "left_out")]
KEYS = ("subject", "suite", "task", "condition", "split", "protocol", "judge", "metric")
ABOUT_GRADES = {
    "grade": "the grade ([reports](reports.md#how-to-read-the-front-page)); empty if there is none",
    "state": "what is stated in its place; empty if there is a grade",
    "reason": "the reason for the state",
    "floor": "the greatest floor that applies to the subject: its score on the same units",
    "floor_name": "the name of this floor",
    "decided_by": "what the grade or state was judged from",
    "note": "a remark",
}
"""What the columns of the grade mean; those of numbers say it themselves."""


def result_columns(suite: Suite) -> list[str]:
    """The columns of `results.csv` of a suite."""
    return columns_with(axis.name for axis in suite.axes)


def columns_with(axes: Iterable[str]) -> list[str]:
    """The columns of results of suites with these axes, which follow `condition`."""
    place = _NUMBERS.index("condition") + 1
    return [*_NUMBERS[:place], *axes, *_NUMBERS[place:], *_GRADE]


def column_meanings() -> dict[str, str]:
    """What the columns of `results.csv` mean, without those of axes."""
    hints = get_type_hints(ResultRow, include_extras=True)
    return {name: hints[name].__metadata__[0] for name in _NUMBERS} | ABOUT_GRADES


def rows_of(results: pd.DataFrame) -> Iterator[ResultRow]:
    """The rows of results of a table with any of its columns; columns that it lacks have their default."""
    places = list(enumerate(map(str, results.columns)))
    grades = [(place, _GRADE[name]) for place, name in places if name in _GRADE]
    numbers = [(place, name) for place, name in places if name == "arm" or name in _NUMBERS]
    axes = [(place, name) for place, name in places if name not in {*_GRADE, *_NUMBERS, "arm"}]
    for cells in results.to_numpy(object):
        grade = Grade(**{name: cells[place] for place, name in grades})
        values = {name: cells[place] for place, name in numbers}
        yield ResultRow(**values, grade=grade, axes={name: cells[place] for place, name in axes})
