"""What the command `run` says of runs, and runs of which it says so without doing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from snellen.core.storage.itemset import is_itemset, read_card
from snellen.core.storage.runfolder import default_folder
from snellen.reports.task_tables import TaskTables
from snellen.runs.generated_sets import itemset_folder
from snellen.runs.stamp import add_table, has_table, read_stamp, run_key
from snellen.subjects.registry import make_subject
from snellen.suites import SUITES

if TYPE_CHECKING:
    from snellen.exam.run import Examination


@dataclass(frozen=True)
class RunSummary:
    """A run: where it lies, and how many items have a response.

    How many of these failed, and by subject: why, why items were declined, and how many were not asked. Its table, if
    it is seen.
    """

    root: Path
    responses: int
    failed: int = 0
    failures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    declines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unasked: Mapping[str, int] = field(default_factory=dict)
    table: TaskTables | None = None


def summary(examination: Examination, *, with_table: bool) -> RunSummary:
    """What is said of a run that was asked; its table is kept, to be looked up the next time."""
    table = None
    if with_table and examination.responses:
        from snellen.reports import print_table

        table = print_table(examination.results())
        add_table(examination.root, table.subjects, table.columns)
    return RunSummary(
        examination.root,
        len(examination.responses),
        examination.failed,
        examination.reasons("failed"),
        examination.reasons("declined"),
        examination.unasked(),
        table,
    )


def finished_summary(
    itemset: str,
    subjects: Sequence[str],
    folder: Path | None,
    *,
    with_table: bool,
    conditions: Sequence[str],
    inputs: Mapping[str, Path],
    **options: Any,
) -> RunSummary | None:
    """What is said of a run that is finished already; None where there is still something to do.

    `folder` is the one that was named for it. Neither its items nor its responses are read: their digests are held
    against its stamp.
    """
    root = itemset_folder(itemset, options["limit"])
    if not is_itemset(root):
        return None
    card = read_card(root)
    run = folder or default_folder(card, subjects, conditions)
    if not run.is_dir() or not SUITES.is_packaged(card.suite):
        return None
    examined = [make_subject(subject) for subject in subjects]
    stamp = read_stamp(run, run_key(root, examined, inputs, conditions=list(conditions), **options))
    if stamp is None or (with_table and not has_table(run, stamp)):
        return None
    table = TaskTables(stamp.subjects, stamp.columns) if with_table else None
    return RunSummary(run, stamp.responses, declines=stamp.declines, table=table)
