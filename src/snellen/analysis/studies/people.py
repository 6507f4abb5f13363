"""People in a run: each is a subject `human:STUDY/p07`, and all of a study together are `human:STUDY`.

In tables and figures a study is one subject whose repeats are its people. Its intervals redraw people and items
(`scoring.crossed`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.grading.results import results, with_python_strings
from snellen.analysis.grading.rows import KEYS, ResultRow, result_columns
from snellen.analysis.tables.section import Run, once_a_run
from snellen.core.grouping import lists_by_key
from snellen.core.hashing import digest
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.runfolder import ArmCard
from snellen.core.suite import Suite
from snellen.scoring.crossed import crossed_interval
from snellen.scoring.uncertainty import Interval, untold

HUMAN = "human:"
CEILING_KEYS = ("task", "condition", "split", "protocol", "judge", "metric", "factor", "level")
"""Columns that a row of results shares with the row of the people that are its ceiling."""
RELEASED = "released"
"""The recipe whose items are the paper's own, for which its printed ceilings stay."""
PersonKey: TypeAlias = tuple[str, str, int]
"""A person's subject, the condition, and the repeat."""


def is_person(arm: ArmCard) -> bool:
    """True if an arm is one person of a study."""
    return arm.role == "person" and "/" in arm.subject


def people_of(arms: Sequence[ArmCard]) -> frozenset[str]:
    """The names of all subjects that are one person of a study."""
    return frozenset(arm.subject for arm in arms if is_person(arm))


def studies_of(arms: Sequence[ArmCard]) -> frozenset[str]:
    """The names of all subjects that are all people of a study."""
    return frozenset(arm.subject for arm in arms if arm.role == "person" and not is_person(arm))


def study_of(subject: str) -> str:
    """The study of a person, or of all of its people: `human:X/p07` and `human:X` belong to `X`.

    A person who is in a report twice, as `human:X/p07 (run 2)`, belongs to the study `X (run 2)`.
    """
    study, _, person = subject.removeprefix(HUMAN).partition("/")
    _, mark, number = person.partition(" (run ")
    return study + mark + number


def study_subject(subject: str) -> str:
    """The subject of all people of this person's study."""
    return HUMAN + study_of(subject)


def _numbers(arms: Sequence[ArmCard]) -> dict[PersonKey, int]:
    """The number of each person as a repeat of the study, from 0 under every condition."""
    numbers: dict[PersonKey, int] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for arm in arms:
        if is_person(arm) and (key := arm.arm_key) not in numbers:
            study = study_subject(arm.subject), arm.condition
            numbers[key], counts[study] = counts[study], counts[study] + 1
    return numbers


def _of_study(rows: pd.DataFrame, numbers: Mapping[PersonKey, int]) -> pd.DataFrame:
    """Score rows of people as those of their studies, one repeat per person."""
    keys = zip(rows["subject"], rows["condition"], rows["repeat"], strict=True)
    repeats = [numbers[str(subject), str(condition), int(repeat)] for subject, condition, repeat in keys]
    return rows.assign(subject=[study_subject(str(subject)) for subject in rows["subject"]], repeat=repeats)


def rows_of(rows: pd.DataFrame, subjects: Collection[str]) -> pd.DataFrame:
    """The rows of these subjects."""
    return rows[rows["subject"].isin(subjects)]


def rows_without(rows: pd.DataFrame, subjects: Collection[str]) -> pd.DataFrame:
    """The rows of all other subjects."""
    return rows[~rows["subject"].isin(subjects)]


@once_a_run
def pooled(run: Run) -> Run:
    """The run with all people of a study as one subject, before all others; unchanged if there are no people."""
    people = people_of(run.card.arms)
    if not people:
        return run
    numbers = _numbers(run.card.arms)
    people_arms, other_arms = ([arm for arm in run.card.arms if is_person(arm) is human] for human in (True, False))
    others = rows_without(run.results, people)
    arms = [*_study_arms(people_arms, numbers), *other_arms]
    ordered = sorted(run.responses, key=lambda response: response.subject not in people)
    return replace(
        run,
        unpooled=run,
        card=run.card.model_copy(update={"arms": arms}),
        responses=tuple(
            replace(r, subject=study_subject(r.subject), repeat=numbers[r.arm_key]) if r.subject in people else r
            for r in ordered
        ),
        scores={name: _pooled_scores(rows, people, numbers) for name, rows in run.scores.items()},
        results=pd.concat([study_results(run.scores, run.items, run.suite, run.card.arms), others], ignore_index=True),
    )


def _study_arms(arms: Sequence[ArmCard], numbers: Mapping[PersonKey, int]) -> list[ArmCard]:
    """People's arms as repeats of their studies; a study's card has the settings that all share."""
    by_study = lists_by_key((study_subject(arm.subject), arm) for arm in arms)
    cards = []
    for study, members in by_study.items():
        update = {
            "subject": study,
            "fingerprint": digest(sorted({arm.fingerprint for arm in members}), 12),
            "settings": _in_common([arm.settings for arm in members]),
            "attributes": _in_common([arm.attributes for arm in members]),
        }
        for arm in members:
            number = numbers[arm.arm_key]
            cards.append(arm.model_copy(update={**update, "repeat": number}))
    return cards


def _in_common(tables: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        key: entry for key, entry in tables[0].items() if all(key in table and table[key] == entry for table in tables)
    }


def _pooled_scores(scores: pd.DataFrame, subjects: Collection[str], numbers: Mapping[PersonKey, int]) -> pd.DataFrame:
    """Score rows with these people as repeats of their studies, which come first."""
    of_studies = _of_study(rows_of(scores, subjects), numbers)
    return pd.concat([of_studies, rows_without(scores, subjects)], ignore_index=True)


def study_results(
    scores: Mapping[str, pd.DataFrame], items: ItemSet, suite: Suite, arms: Sequence[ArmCard]
) -> pd.DataFrame:
    """Rows of results of every study of a run (subject `human:STUDY`), over all protocols.

    `n` counts answers: a unit counts once per person who answered it. The value is the metric's summary over all.
    `items_needed` is empty, since more people may be needed as well as more items.
    """
    numbers = _numbers(arms)
    persons = {(study_subject(name), condition, number): name for (name, condition, _), number in numbers.items()}

    def interval(units: pd.DataFrame, metric: Metric, key: tuple[Any, ...]) -> Interval:
        if units.empty or "repeat" not in units:
            return untold("one person" if len(units) else "no units")
        subject, condition = (str(key[KEYS.index(name)]) for name in ("subject", "condition"))
        names = [persons[subject, condition, int(number)] for number in units["repeat"]]
        return people_interval(units.rename(columns={"cluster_id": "cluster"}).assign(person=names), metric, *key)

    people, tables = people_of(arms), list[pd.DataFrame]()
    study_arms = [arm.model_copy(update={"subject": study_subject(arm.subject)}) for arm in arms if is_person(arm)]
    for table in scores.values():
        rows = with_python_strings(table)
        rows = rows_of(rows, people)
        if len(rows):
            tables.append(results(_of_study(rows, numbers), items, suite, study_arms, interval))
    empty = pd.DataFrame(columns=result_columns(suite))
    together = pd.concat(tables, ignore_index=True).assign(items_needed=math.nan) if tables else empty
    return with_python_strings(together)


def people_interval(units: pd.DataFrame, metric: Metric, *key: Any, level: float = 0.95) -> Interval:
    """The interval of the metric's summary of units of several people, with people and clusters redrawn.

    Columns of `units`: value, cluster, person, and weight if units count differently. `key` seeds the draws.
    """
    weights = units["weight"].to_numpy(float) if "weight" in units else np.ones(len(units))
    ends = crossed_interval(
        units["value"].to_numpy(float) / weights, units["person"].to_numpy(str), units["cluster"].to_numpy(str),
        metric.summary, metric.bounds, stream("people", *map(str, key)), weights, level,
    )  # fmt: skip
    return ends.above(metric.least)


def number_of_people(run: Run, subject: str, condition: str) -> int:
    """The number of people of a study under a condition, in a `pooled` run."""
    return sum(arm.subject == subject and arm.condition == condition for arm in run.card.arms)


# Ceilings


@once_a_run
def ceiling_studies(run: Run) -> dict[tuple[str, ...], tuple[str, float]]:
    """The study with most answers and its value by `CEILING_KEYS`, of a `pooled` run."""
    best: dict[tuple[str, ...], tuple[int, str, float]] = {}
    rows = run.results
    rows = rows_of(rows, studies_of(run.card.arms))
    for key, subject, n, value in zip(
        zip(*(rows[name].astype(str) for name in CEILING_KEYS), strict=True), rows["subject"], rows["n"], rows["value"],
        strict=True,
    ):  # fmt: skip
        if n > best.get(key, (0, "", 0.0))[0]:
            best[key] = int(n), str(subject), float(value)
    return {key: (subject, value) for key, (_, subject, value) in best.items()}


def with_people_as_ceilings(rows: pd.DataFrame, run: Run) -> pd.DataFrame:
    """Rows of results whose ceilings are the people of the `pooled` run, if it has some.

    Task, condition, metric and level must match. On the paper's own items a printed ceiling stays. People are no
    ceiling for people.
    """
    studies, released = ceiling_studies(run), run.items.card.source == RELEASED
    ceilings = list[float]()
    keys = zip(*(rows[name].astype(str) for name in CEILING_KEYS), strict=True)
    for key, role, printed in zip(keys, rows["role"], rows["ceiling"], strict=True):
        if key not in studies or (released and not pd.isna(printed)):
            ceilings.append(printed)
        else:
            ceilings.append(math.nan if role == "person" else studies[key][1])
    return rows.assign(ceiling=ceilings)


def ceiling_source(run: Run, row: ResultRow) -> str:
    """The source of a row's ceiling (from `with_people_as_ceilings`): `8 people of STUDY`; or empty."""
    study = ceiling_studies(run).get(tuple(str(getattr(row, name)) for name in CEILING_KEYS))
    if study is None or study[1] != row.ceiling:
        return ""
    count = number_of_people(run, study[0], str(row.condition))
    return f"{count} {'person' if count == 1 else 'people'} of {study_of(study[0])}"
