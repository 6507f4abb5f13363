"""What judges made of descriptions: verdicts nobody could read, and means by the pattern of the video (section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from snellen.analysis.cells import cell
from snellen.analysis.section import ReportSection, Run, fakes_last
from snellen.suites.vlm2_bench.report.run_view import metric_of, result_rows, score_rows
from snellen.suites.vlm2_bench.scoring import TOP
from snellen.suites.vlm2_bench.tasks import VIDEOS


def sections(run: Run) -> Iterator[ReportSection]:
    """One table for all judges, where somebody judged."""
    texts = {(r.subject, r.condition, r.repeat, r.item_id) for r in run.responses if r.task in VIDEOS and r.text}
    lines = []
    for task in VIDEOS:
        scores = score_rows(run, task, metric_of(run, task))
        whole, parts = result_rows(run, task), result_rows(run, task, "pattern")
        scores = scores[scores["judge"] != ""]
        for place, rows in scores.groupby(["judge", "subject", "condition"], sort=False):
            described = rows[[key in texts for key in _keys(rows)]]
            outcomes = described["outcome"].value_counts()
            unread, unheard = int(outcomes.get("no_answer", 0)), int(outcomes.get("failed", 0))
            held = {str(row.level): row for row in _of(pd.concat([whole, parts]), *map(str, place)).itertuples()}
            means = [cell(held.get(level)) for level in (*TOP, "")]
            lines.append([task, *map(str, place), len(described), len(rows) - len(described), unread, unheard, *means])
    if not lines:
        return
    note = (
        "Verdicts by judge and subject: how many descriptions there were, how many replies held none, how many "
        "verdicts held no readable score (0 in `strict`, left out in `published`), how many calls failed; then percent "
        "of the best score (1 for PQ, 2 for PQP) with 95 % interval. The task is scored by the mean of these two. A "
        "judge may be wrong: draw a sample for people by `snellen judge RUN --sample FILE`, and compare what they "
        "wrote by `snellen judge RUN --agreement FILE` (in the paper 178 of 180 verdicts were confirmed)."
    )
    counts = ["descriptions", "without a text", "verdicts not readable", "failed"]
    frame = pd.DataFrame(
        lines, columns=["task", "judge", "subject", "condition", *counts, *(f"mean {name}" for name in TOP), "both"]
    )
    yield ReportSection("What the judge said of videos", note, fakes_last(frame), None, "judge")


def _keys(rows: pd.DataFrame) -> Iterator[tuple[str, str, int, str]]:
    yield from zip(rows["subject"], rows["condition"], rows["repeat"], rows["item_id"], strict=True)


def _of(rows: pd.DataFrame, judge: str, subject: str, condition: str) -> pd.DataFrame:
    return rows[(rows["judge"] == judge) & (rows["subject"] == subject) & (rows["condition"] == condition)]
