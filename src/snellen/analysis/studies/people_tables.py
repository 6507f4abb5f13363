"""Tables of people for reports: each study by task, and each person."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.studies.people import is_person, people_interval, people_of, rows_of, study_of, study_subject
from snellen.analysis.tables.cells import DASH, metric_cell, number, with_interval
from snellen.analysis.tables.run_view import ReportArm, main_metric, result_rows, row_of, score_rows, scored_units
from snellen.analysis.tables.section import Run, once_a_run
from snellen.analysis.units import summary
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.core.storage.run_tables import read_calls
from snellen.scoring.agreement import fleiss_kappa, percent_agreement, rating_counts, split_half

QUESTIONS = "questions"
"""The attribute of a person's card with the number of items of their form, under all conditions."""
NAMED_ANSWERS = ("choice", "true_false", "integer")
"""Kinds of answers that two people can both give: agreement is computed for these."""


class Trimmed(NamedTuple):
    """The value with its interval without the best and the worst person, and the people dropped."""

    value: float
    low: float
    high: float
    dropped: tuple[str, ...]


class PeopleAgreement(NamedTuple):
    """Agreement of people on the same items: the share of pairs (0 to 1) over `items`, and kappa over `rated` of them.

    Fleiss' kappa needs equally many people per item: it is over the items with the most frequent number, `raters`.
    """

    share: float
    items: int
    kappa: float
    rated: int
    raters: int


def studies_of(run: Run) -> list[tuple[str, str]]:
    """(study, condition) of every group of people in a run, in its order."""
    return list(dict.fromkeys((study_of(a.subject), a.condition) for a in run.card.arms if is_person(a)))


@once_a_run
def person_units(run: Run, task: str, study: str, condition: str) -> pd.DataFrame:
    """The scored units of a study's people in a task: columns unit, value, cluster, weight, person."""
    people = people_of(run.card.arms)
    parts = [
        units.reset_index(names="unit").assign(person=arm.subject)
        for arm, units in scored_units(run, task).items()
        if arm.subject in people and study_of(arm.subject) == study and arm.condition == condition
    ]
    columns = ["unit", "value", "cluster", "weight", "person"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def score_by_person(units: pd.DataFrame, metric: Metric) -> dict[str, float]:
    """The metric's summary of the units of each person."""
    return {
        str(person): summary(part.to_numpy(float), metric)
        for person, part in units.groupby("person", sort=False)["value"]
    }


def best_first(scores: Mapping[str, float], metric: Metric) -> list[str]:
    """People by their scores, the best first; equal ones by name."""
    return sorted(scores, key=lambda person: (-metric.sign * scores[person], person))


@once_a_run
def extremes(run: Run, tasks: tuple[str, ...], study: str, condition: str) -> tuple[str, ...]:
    """The people with the highest and the lowest mean score over all units of these tasks; none if fewer than three.

    ComBo, appendix C.3, drops them by their total scores over both types of questions, which for people with equally
    many answers is the same as by their means. Tasks must have the same unit, higher better.
    """
    units = pd.concat([person_units(run, task, study, condition) for task in tasks])
    scores = {str(person): float(part.mean()) for person, part in units.groupby("person", sort=False)["value"]}
    order = sorted(scores, key=lambda person: (-scores[person], person))
    return (order[0], order[-1]) if len(order) > 2 else ()


def trimmed(run: Run, task: str, study: str, condition: str) -> Trimmed:
    """The people's value without the best and the worst of them, chosen over all tasks that are shares together.

    In a task with another unit they are chosen by that task alone.
    """
    metric, units = main_metric(run, task), person_units(run, task, study, condition)
    if metric.share and metric.higher_is_better:
        shares = tuple(
            name for name in run.suite.tasks
            if (m := main_metric(run, name)).share and m.higher_is_better
            and len(person_units(run, name, study, condition))
        )  # fmt: skip
        dropped = extremes(run, shares, study, condition)
    else:
        order = best_first(score_by_person(units, metric), metric)
        dropped = (order[0], order[-1]) if len(order) > 2 else ()
    rest = units[~units["person"].isin(dropped)]
    if not dropped or rest.empty:
        return Trimmed(math.nan, math.nan, math.nan, ())
    low, high, _ = people_interval(rest, metric, "trimmed", study, task, condition)
    return Trimmed(summary(rest["value"].to_numpy(float), metric), low, high, dropped)


def reliability(run: Run, task: str, study: str, condition: str) -> float:
    """Split-half reliability of the people's scores in a task (`scoring.agreement`); NaN if not estimable."""
    units = person_units(run, task, study, condition)
    if units.empty:
        return math.nan
    table = units.pivot_table(index="person", columns="unit", values="value", aggfunc="mean", sort=True)
    return split_half(table.to_numpy(float), stream("people", "split-half", study, task, condition))


def agreement(run: Run, task: str, study: str, condition: str) -> PeopleAgreement:
    """Agreement of a study's people on items that several of them were asked; NaN if there are none.

    Unreadable replies count as one separate answer. Answers without names (boxes, texts) are not compared.
    """
    rows = score_rows(run, task)
    rows = rows_of(rows, [person for person in people_of(run.card.arms) if study_of(person) == study])
    rows = rows[(rows["condition"] == condition) & rows["outcome"].isin(["answered", "no_answer", "cut_off"])]
    if rows.empty or run.suite.tasks[task].kind not in NAMED_ANSWERS:
        return PeopleAgreement(math.nan, 0, math.nan, 0, 0)
    codes = rows.assign(code=pd.factorize(rows["prediction"].astype(str))[0])
    table = codes.pivot_table(index="item_id", columns=["subject", "repeat"], values="code", aggfunc="first")
    counts = rating_counts(table.to_numpy(float))
    raters = counts.sum(axis=1).astype(int)
    counts, raters = counts[raters > 1], raters[raters > 1]
    if not len(counts):
        return PeopleAgreement(math.nan, 0, math.nan, 0, 0)
    usual = int(np.bincount(raters).argmax())
    rated = counts[raters == usual]
    return PeopleAgreement(percent_agreement(counts), len(counts), fleiss_kappa(rated), len(rated), usual)


# Answers and their times


@once_a_run
def person_answers(run: Run) -> pd.DataFrame:
    """One row per person and item: subject, condition, task, item_id, page, value, outcome, seconds.

    `value` is the main metric's. The `seconds` of a page (a call) are divided equally among its items.
    """
    people, parts = people_of(run.card.arms), []
    for task in run.suite.tasks:
        rows = rows_of(score_rows(run, task), people)
        parts.append(rows[["subject", "condition", "repeat", "task", "item_id", "value", "outcome"]])
    answers = pd.concat(parts, ignore_index=True).drop_duplicates(["subject", "condition", "repeat", "item_id"])
    seconds = _seconds(run)
    pages = {(*r.arm_key, r.item_id): r.calls for r in run.responses if r.subject in people}
    sharing: dict[str, int] = {}
    for calls in pages.values():
        for call in calls:
            sharing[call] = sharing.get(call, 0) + 1
    keys = list(zip(*(answers[name] for name in ("subject", "condition", "repeat", "item_id")), strict=True))
    calls_of = [pages.get(key, ()) for key in keys]
    return answers.assign(
        page=[calls[0] if calls else "" for calls in calls_of],
        seconds=[
            sum(seconds.get(call, math.nan) / sharing[call] for call in calls) if calls else math.nan
            for calls in calls_of
        ],
    )


def _seconds(run: Run) -> dict[str, float]:
    """Seconds of every call."""
    seconds: dict[str, float] = {}
    for root in run.roots:
        if (root / "exchanges.parquet").is_file():
            table = read_calls(root, "key", "seconds").to_pydict()
            seconds |= {key: time for key, time in zip(table["key"], table["seconds"], strict=True) if time is not None}
    return seconds


# Tables


def study_table(run: Run, pooled_run: Run) -> pd.DataFrame:
    """One row per study, condition and task. `run` has the people, `pooled_run` the studies in their place."""
    lines = []
    for study, condition in studies_of(run):
        for task in run.suite.tasks:
            units = person_units(run, task, study, condition)
            if len(units):
                lines.append(
                    [
                        study,
                        condition,
                        *_heads(run, [task]),
                        *_study_cells(run, pooled_run, task, study, condition, units),
                    ]
                )
    heads = [
        "study", "condition", "task", "people", "units per person", "pooled", "without best and worst",
        "best and worst", "reliability", "agreement", "Fleiss' kappa",
    ]  # fmt: skip
    return pd.DataFrame(lines, columns=heads)


def _study_cells(
    run: Run, pooled_run: Run, task: str, study: str, condition: str, units: pd.DataFrame
) -> Iterator[str]:
    metric, scores = main_metric(run, task), score_by_person(units, main_metric(run, task))
    sizes, order = units.groupby("person")["unit"].size(), best_first(scores, metric)
    yield str(len(scores))
    usual = "–".join(dict.fromkeys((str(sizes.min()), str(sizes.max()))))
    yield f"{usual} of {units['unit'].nunique()}"
    row = row_of(result_rows(pooled_run, task), ReportArm(study_subject(order[0]), condition))
    yield metric_cell(row, metric)
    rest = trimmed(run, task, study, condition)
    text = number(rest.value, metric, len(units))
    ends = (number(end, metric, len(units)) for end in (rest.low, rest.high))
    yield text if math.isnan(rest.low) else with_interval(text, *ends)
    ends_of_order = dict.fromkeys((order[0], order[-1]))
    yield ", ".join(
        f"{_alias(person)} {number(scores[person], metric, int(sizes[person]))}" for person in ends_of_order
    )
    yield _decimal(reliability(run, task, study, condition))
    alike = agreement(run, task, study, condition)
    yield DASH if math.isnan(alike.share) else f"{100 * alike.share:.0f} % ({alike.items} items)"
    yield DASH if math.isnan(alike.kappa) else f"{alike.kappa:.2f} ({alike.rated} × {alike.raters})"


def _decimal(score: float) -> str:
    return DASH if math.isnan(score) else f"{score:.2f}"


def _alias(subject: str) -> str:
    return subject.partition("/")[2]


def person_table(run: Run) -> pd.DataFrame:
    """One row per person and condition: items answered, time, and a score per task with the interval of its items."""
    answers = person_answers(run)
    tasks = [task for task in run.suite.tasks if (answers["task"] == task).any()]
    rows = {task: result_rows(run, task) for task in tasks}
    total = answers[answers["outcome"] == "answered"].groupby("subject")["item_id"].size().to_dict()
    lines = []
    for (subject, condition), part in answers.groupby(["subject", "condition"], sort=False):
        arm, metrics = ReportArm(str(subject), str(condition)), [main_metric(run, task) for task in tasks]
        cells = [metric_cell(row_of(rows[t], arm), m) for t, m in zip(tasks, metrics, strict=True)]
        responded = int((part["outcome"] == "answered").sum())
        seconds = part["seconds"].dropna()
        time = DASH if seconds.empty else f"{seconds.median():.1f}"
        remark = _remark(run, arm, int(total.get(subject, 0)))
        lines.append([study_of(arm.subject), _alias(arm.subject), condition, f"{responded} of {len(part)}", time, *cells, remark])  # fmt: skip  # noqa: E501
    heads = ["study", "person", "condition", "answered of shown", "median seconds", *_heads(run, tasks), "remark"]
    return pd.DataFrame(lines, columns=heads)


def _heads(run: Run, tasks: Sequence[str]) -> list[str]:
    titles = [(run.suite.card.task_title(task), main_metric(run, task)) for task in tasks]
    return [title if metric.share else f"{title} {metric.words}" for title, metric in titles]


def _remark(run: Run, arm: ReportArm, answered: int) -> str:
    """The remark that a person did not finish their form, if the card records its length."""
    card = next(card for card in run.card.arms if (card.subject, card.condition) == arm)
    size: Any = card.attributes.get(QUESTIONS, "")
    is_number = size.isdecimal() and len(size) < 10
    return f"partial: {answered} of {size} items in all" if is_number and answered < int(size) else ""
