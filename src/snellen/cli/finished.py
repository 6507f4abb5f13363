"""Summaries of runs for the command `run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from snellen.core.storage.runfolder import cost_by_subject, read_run_card, recorded_subjects
from snellen.exam.examination import Examination
from snellen.reports.task_tables import TaskTables


@dataclass(frozen=True)
class RunSummary:
    """A run for printing: its folder, numbers of responses and of failed ones, its table or else its graded rows.

    `failures` and `declines` are reasons by subject, `unasked` numbers of items by subject. `is_old`: the run was
    finished by an earlier command. `cut_off` counts replies, but for recorded ones, that ended at the token limit;
    `cost` is that of all recorded calls, by subject with known prices. `recorded` are the subjects that cannot be
    asked for more.
    """

    root: Path
    responses: int
    failed: int = 0
    failures: Mapping[str, Sequence[str]] = field(default_factory=dict)
    declines: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unasked: Mapping[str, int] = field(default_factory=dict)
    table: TaskTables | None = None
    rows: Sequence[Mapping[str, Any]] = ()
    is_old: bool = False
    cut_off: int = 0
    cost: Mapping[str, float] = field(default_factory=dict)
    recorded: frozenset[str] = frozenset()


def summary(examination: Examination, *, with_table: bool = False, with_rows: bool = False) -> RunSummary:
    """The summary of a run."""
    recorded = frozenset(recorded_subjects(read_run_card(examination.root)))
    return RunSummary(
        examination.root,
        len(examination.responses),
        examination.failed,
        examination.reasons("failed"),
        examination.reasons("declined"),
        examination.unasked(),
        _table(examination) if with_table and examination.responses else None,
        _rows(examination) if with_rows else (),
        cut_off=sum(response.cut_off for response in examination.responses if response.subject not in recorded),
        cost=cost_by_subject(examination.root),
        recorded=recorded,
    )


def _table(examination: Examination) -> TaskTables:
    from snellen.reports import print_table

    return print_table(
        examination.all_results(), suite_of=lambda _: examination.suite,
        can_grow=examination.items.card.source == "generated", unread=examination.unread(),
    )  # fmt: skip


def _rows(examination: Examination) -> list[dict[str, Any]]:
    from snellen.reports.rows import plain_rows

    return plain_rows(examination.all_results()) if examination.responses else []
