"""The section on people, and runs for the rest of a report, with a study's people as one subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from snellen.analysis.studies.people import people_of, pooled, rows_of, studies_of, with_people_as_ceilings
from snellen.analysis.studies.people_tables import person_table, study_table
from snellen.analysis.tables.run_view import arm_name, lines_of
from snellen.analysis.tables.section import Run
from snellen.reports.comparisons import signed
from snellen.reports.export import write_frame
from snellen.reports.loading import Exam, all_results
from snellen.reports.rows import metric_in
from snellen.reports.words import probability, span

WORDING = (
    "These people read questions worded for people, without the form of a reply and the list of options; other "
    "subjects read the prompt. A difference may be due to the wording."
)


@dataclass(frozen=True)
class PeopleSection:
    """Tables of people: studies by task, people against models, and each person; `name` is the file prefix.

    `wording` says that people read other words than models; empty if they read the same.
    """

    studies: pd.DataFrame
    against: pd.DataFrame
    persons: pd.DataFrame
    name: str
    wording: str = ""


def with_studies(exam: Exam) -> Exam:
    """The exam with people as studies, which are ceilings of the others (`with_ceilings`)."""
    if not people_of(exam.joined.card.arms):
        return exam
    joined = pooled(exam.joined)
    return Exam(tuple(map(pooled, exam.runs)), replace(joined, results=with_ceilings(joined.results, exam, joined)))


def with_ceilings(rows: pd.DataFrame, exam: Exam, joined: Run) -> pd.DataFrame:
    """Rows with people as ceilings if all runs have the same items; `joined` has people as studies."""
    same_items = len({run.items.card.instalments or run.card.content_hash for run in exam.runs}) == 1
    return with_people_as_ceilings(rows, joined) if same_items else rows


def reported_results(runs: Sequence[Run], exams: Sequence[Exam], studies: Sequence[Exam]) -> pd.DataFrame:
    """The rows of `results.csv`: for exams with people first the studies, then all subjects, including each person."""
    if not any(people_of(run.card.arms) for run in runs):
        return all_results(runs)
    everything = []
    for exam, study_exam in zip(exams, studies, strict=True):
        joined = study_exam.joined
        rows = [with_ceilings(run.results, exam, joined) for run in exam.runs]
        together = pd.concat([rows_of(joined.results, studies_of(joined.card.arms)), *rows], ignore_index=True)
        everything.append(replace(joined, results=together))
    return all_results(everything)


def people_section(run: Run, study_run: Run, pairs: pd.DataFrame, tables: Path, name: str) -> PeopleSection | None:
    """Write the section's tables and return it; None without people. `pairs` are contrasts of the `study_run`."""
    if not people_of(run.card.arms):
        return None
    is_own = any(arm.attributes.get("wording") == "people" for arm in run.card.arms)
    section = PeopleSection(
        study_table(run, study_run),
        people_against(study_run, pairs),
        person_table(run),
        name,
        WORDING if is_own else "",
    )
    for part in ("studies", "against", "persons"):
        write_frame(tables, f"{name}-people-{part}", getattr(section, part))
    return section


def people_against(run: Run, pairs: pd.DataFrame) -> pd.DataFrame:
    """The contrasts of a study with other subjects, people first; simulated ones only if there are no others."""
    lines, names_by_role = [], dict[str, set[str]]()
    for arm in run.card.arms:
        names_by_role.setdefault(arm.role, set()).add(arm_name(arm.subject, arm.condition))
    studies, simulated = (names_by_role.get(role, set()) for role in ("person", "simulated"))
    real = {*pairs["first"], *pairs["second"]} - studies - simulated
    for pair in lines_of(pairs):
        if real and pair.family == "simulated":
            continue
        sides = [name in studies for name in (pair.first, pair.second)]
        if sides.count(True) != 1:
            continue
        sign = 1 if sides[0] else -1
        names = (pair.first, pair.second)[::sign]
        low, high = sorted((sign * pair.low, sign * pair.high))
        metric = metric_in(run.suite, pair)
        gap = f"{signed(sign * pair.difference, metric, pair.n)} {span(low, high, metric, pair.n)}".strip()
        verdict = "too few clusters" if pair.too_few_clusters else "clear" if pair.clear else "not clear"
        place = run.suite.card.task_title(pair.task), *names, pair.n, pair.clusters
        lines.append([*place, gap, probability(pair.p_holm), verdict])
    heads = ["task", "people", "against", "units", "clusters", "people minus the other", "corrected p", "verdict"]
    return pd.DataFrame(lines, columns=heads)
