"""The section on people, and runs as the rest of a report sees them: a study's people as one subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from snellen.analysis.people import has_people, is_person, is_study, pooled, rows_of, with_people_as_ceilings
from snellen.analysis.people_tables import person_table, study_table
from snellen.analysis.run_view import lines_of
from snellen.analysis.section import Run
from snellen.reports.comparisons import signed
from snellen.reports.export import write_frame
from snellen.reports.loading import Exam, all_results
from snellen.reports.rows import metric_in
from snellen.reports.words import probability, span


@dataclass(frozen=True)
class PeopleSection:
    """What the page says of people: studies by task, people against models, and everybody; `name` begins its files."""

    studies: pd.DataFrame
    against: pd.DataFrame
    persons: pd.DataFrame
    name: str


def with_studies(exam: Exam) -> Exam:
    """The exam with people as studies, who are ceilings of the others where all runs are about the very same items."""
    if not has_people(exam.joined.card.arms):
        return exam
    joined = pooled(exam.joined)
    if len({run.card.content_hash for run in exam.runs}) == 1:
        joined = replace(joined, results=with_people_as_ceilings(joined.results, joined))
    return Exam(tuple(map(pooled, exam.runs)), joined)


def reported_results(runs: Sequence[Run], exams: Sequence[Exam], studies: Sequence[Exam]) -> pd.DataFrame:
    """`results.csv`: of exams with people the studies, then everybody else, then each person."""
    if not any(has_people(run.card.arms) for run in runs):
        return all_results(runs)
    everything = []
    for exam, study_exam in zip(exams, studies, strict=True):
        people = rows_of(exam.joined.results, is_person)
        rows = pd.concat([study_exam.joined.results, people], ignore_index=True)
        everything.append(replace(study_exam.joined, results=rows))
    return all_results(everything)


def people_section(run: Run, study_run: Run, pairs: pd.DataFrame, tables: Path, name: str) -> PeopleSection | None:
    """The section, its tables written to files; None without people. `pairs` are contrasts of the `study_run`."""
    if not has_people(run.card.arms):
        return None
    section = PeopleSection(study_table(run, study_run), people_against(study_run, pairs), person_table(run), name)
    for part in ("studies", "against", "persons"):
        write_frame(tables, f"{name}-people-{part}", getattr(section, part))
    return section


def people_against(run: Run, pairs: pd.DataFrame) -> pd.DataFrame:
    """The contrasts of a study with another subject, people first."""
    lines = []
    for pair in lines_of(pairs):
        sides = [is_study(name) for name in (pair.first, pair.second)]
        if sides.count(True) != 1:
            continue
        turn = 1 if sides[0] else -1
        names = (pair.first, pair.second)[::turn]
        low, high = sorted((turn * pair.low, turn * pair.high))
        metric = metric_in(run.suite, pair)
        gap = f"{signed(turn * pair.difference, metric, pair.n)} {span(low, high, metric, pair.n)}".strip()
        verdict = "too few clusters" if pair.too_few_clusters else "clear" if pair.clear else "not clear"
        lines.append([pair.task, *names, pair.n, pair.clusters, gap, probability(pair.p_holm), verdict])
    heads = ["task", "people", "against", "units", "clusters", "people minus the other", "corrected p", "verdict"]
    return pd.DataFrame(lines, columns=heads)
