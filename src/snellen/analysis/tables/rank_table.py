"""Ranks of the subjects of a run, by task and on average."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from snellen.analysis.tables.rankings import Ranked, ScoreMatrix, fewest_clusters, ranked
from snellen.analysis.tables.run_view import arms_with_all, examined, main_arms, score_matrix, scored_tasks
from snellen.analysis.tables.section import Run
from snellen.core.storage.runfolder import ArmCard

AVERAGE = ""
"""The task of an average rank."""
FEWEST = 3
"""Fewest subjects with a common rank."""
COLUMNS = ("subject", "task", "rank", "low", "high", "subjects", "clusters")


def rank_table(run: Run) -> pd.DataFrame:
    """The rank of every examined subject under the main condition in each task, and its average rank (`AVERAGE`).

    A task ranks the `subjects` that have a score in it, two or more. The average is over all these tasks and covers the
    subjects that have scores in all of them, ranked among themselves. 95 % intervals are those of `rankings`. A rank
    depends on which other subjects were examined. Columns: `COLUMNS`.
    """
    arms = examined(run, main_arms(run))
    participants = {
        task: present
        for task in scored_tasks(run, arms, run.suite.tasks)
        if len(present := arms_with_all(run, arms, [task])) > 1
    }
    matrices = {task: score_matrix(run, task, present) for task, present in participants.items()}
    rows = [row for task, present in participants.items() for row in _rows(present, [matrices[task]], task)]
    everywhere = [arm for arm in arms if all(arm in present for present in participants.values())]
    if len(participants) > 1 and len(everywhere) > 1:
        row_numbers = {task: [present.index(arm) for arm in everywhere] for task, present in participants.items()}
        complete = [replace(matrix, values=matrix.values[row_numbers[task]]) for task, matrix in matrices.items()]
        rows += _rows(everywhere, complete, AVERAGE)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def common_ranks(runs: Sequence[Run]) -> dict[str, Ranked]:
    """The average rank of every examined subject over the tasks of all runs in which each of them has a score.

    Empty for fewer than `FEWEST` subjects, and without such a task.
    """
    arms_by_run = [{arm.subject: arm for arm in examined(run, main_arms(run))} for run in runs]
    subjects = list(dict.fromkeys(subject for arms in arms_by_run for subject in arms))
    matrices = []
    for run, by_subject in zip(runs, arms_by_run, strict=True):
        arms = [by_subject[subject] for subject in subjects if subject in by_subject]
        for task in scored_tasks(run, arms, run.suite.tasks):
            if len(arms_with_all(run, arms, [task])) == len(subjects):
                matrices.append(score_matrix(run, task, arms))
    return dict(zip(subjects, ranked(matrices)[AVERAGE], strict=True)) if matrices and len(subjects) >= FEWEST else {}


def _rows(arms: Sequence[ArmCard], matrices: Sequence[ScoreMatrix], task: str) -> Iterator[dict[str, Any]]:
    ranks = ranked(matrices)[task]
    for arm, rank in zip(arms, ranks, strict=True):
        yield {
            "subject": arm.subject,
            "task": task,
            "rank": rank.value,
            "low": rank.low,
            "high": rank.high,
            "subjects": len(arms),
            "clusters": fewest_clusters(matrices),
        }
