"""Which subject to use: for each ability the best, and those that paired tests do not separate from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from snellen.analysis.grading.rows import rows_of
from snellen.analysis.tables.run_view import arm_name, lines_of
from snellen.core.score import Metric
from snellen.reports.front_page import AbilityName, ExamPart, by_need, main_rows
from snellen.reports.rows import metric_in
from snellen.reports.words import first_text, marked_amount

CHOICE = "choice"
"""File name of the table."""


@dataclass(frozen=True)
class AbilityChoice:
    """The subjects of one ability: the best, those not separable from it, and those that are clearly worse.

    Each is a subject with its score, as text; the best are several if their scores are equal. `grade` is that of the
    first of them, or its state. `uncompared` are those with a score but no test against the best.
    """

    suite: str
    task: str
    about: AbilityName
    best: tuple[tuple[str, str], ...]
    grade: str
    level: tuple[tuple[str, str], ...]
    worse: tuple[tuple[str, str], ...]
    uncompared: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SubjectChoice:
    """A subject's standing over all abilities that it shares with others: in how many it is clearly worse."""

    subject: str
    abilities: int
    worse: int


def ability_choices(parts: Sequence[ExamPart]) -> list[AbilityChoice]:
    """The choices of all abilities that at least two models or encoders have scores for, by what they need."""
    choices = (choice for part in parts for choice in _of_part(part))
    return [choice for _, group in by_need(choices, lambda choice: choice.about) for choice in group]


def subject_choices(choices: Sequence[AbilityChoice]) -> list[SubjectChoice]:
    """The standing of every subject, the one that is least often clearly worse first, then the most often asked.

    Subjects that were not compared with the best are left out.
    """
    counts: dict[str, list[int]] = {}
    uncompared = {subject for choice in choices for subject, _ in choice.uncompared}
    for choice in choices:
        for subject, _ in (*choice.best, *choice.level, *choice.worse):
            counts.setdefault(subject, [0, 0])[0] += 1
        for subject, _ in choice.worse:
            counts[subject][1] += 1
    lines = [SubjectChoice(subject, *count) for subject, count in counts.items() if subject not in uncompared]
    return sorted(lines, key=lambda line: (line.worse / line.abilities, -line.abilities, line.subject))


def choice_frame(choices: Sequence[AbilityChoice]) -> pd.DataFrame:
    """The choices as a table of text: one row per ability."""
    rows = [
        [choice.suite, choice.task, _text(choice.best), choice.grade, _text(choice.level), _text(choice.worse)]
        for choice in choices
    ]
    return pd.DataFrame(
        rows, columns=["suite", "task", "best", "grade of the best", "no clear difference", "clearly worse"]
    )


def _text(group: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{subject} {score}" for subject, score in group)


def _of_part(part: ExamPart) -> Iterator[AbilityChoice]:
    rows = main_rows(part)
    rows = rows[rows["value"].notna() & ~rows["role"].isin(["simulated", "person"])]
    tests: dict[tuple[str, frozenset[str]], Any] = {
        (test.task, frozenset((test.first, test.second))): test for test in lines_of(part.pairs)
    }
    for task, of_task in rows.groupby("task", sort=False):
        if len(of_task) < 2:
            continue
        metric = metric_in(part.run.suite, next(rows_of(of_task)))
        in_order = of_task.sort_values("value", ascending=not metric.higher_is_better, kind="stable")
        ranked = [row for row in rows_of(in_order) if not row.grade.is_of_part]
        others = [row for row in rows_of(of_task) if row.grade.is_of_part]
        if not ranked:
            continue
        best = arm_name(ranked[0].subject, ranked[0].condition)
        groups: dict[str, list[tuple[str, str]]] = {"best": [], "level": [], "worse": [], "uncompared": []}
        groups["uncompared"] = [(str(row.subject), marked_amount(row.value, metric, row.n)) for row in others]
        for row in ranked:
            test = tests.get((str(task), frozenset((best, arm_name(row.subject, row.condition)))))
            if row.value == ranked[0].value:
                group = "best"
            else:
                group = "uncompared" if test is None else "worse" if _is_worse(test, best, metric) else "level"
            groups[group].append((str(row.subject), marked_amount(row.value, metric, row.n)))
        yield AbilityChoice(
            part.title, str(task), part.ability(str(task)), grade=first_text(ranked[0].grade),
            **{name: tuple(group) for name, group in groups.items()},
        )  # fmt: skip


def _is_worse(test: Any, best: str, metric: Metric) -> bool:
    """Whether the subject that was tested against the best one is clearly worse on the items that both answered."""
    advantage = test.difference if test.first == best else -test.difference
    return bool(test.clear and advantage * metric.sign > 0)
