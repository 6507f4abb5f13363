"""Verdicts of judges on descriptions: unreadable ones, and means by the pattern of the video (section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from snellen.analysis.cells import result_cell
from snellen.analysis.pivot import table_section
from snellen.analysis.run_view import ReportArm, response_key, response_keys, result_rows, rows_by_arm, score_rows
from snellen.analysis.section import ReportSection, Run
from snellen.core.subject import is_simulated
from snellen.suites.vlm2_bench.scoring import TOP
from snellen.suites.vlm2_bench.tasks import VIDEOS


def sections(run: Run) -> Iterator[ReportSection]:
    """One table for all judges, if there are verdicts."""
    with_text = {response_key(r) for r in run.responses if r.task in VIDEOS and r.text}
    lines = []
    for task in VIDEOS:
        scores = score_rows(run, task)
        results = pd.concat([result_rows(run, task), result_rows(run, task, "pattern")])
        scores = scores[scores["judge"] != ""]
        for key, rows in scores.groupby(["judge", "subject", "condition"], sort=False):
            judge, *arm = map(str, key)
            described = rows[[key in with_text for key in response_keys(rows)]]
            outcomes = (int((described["outcome"] == outcome).sum()) for outcome in ("no_answer", "failed"))
            levels = rows_by_arm(results[results["judge"] == judge]).get(ReportArm(*arm), {})
            means = [result_cell(levels.get(level)) for level in (*TOP, "")]
            counts = [len(described), len(rows) - len(described), *outcomes]
            lines.append([task, judge, *arm, *counts, *means])
    note = (
        "Verdicts by judge and subject: the numbers of descriptions, of replies without one, of verdicts without a "
        "readable score (0 in `strict`, left out in `published`), and of failed calls; then percent of the best score "
        "(1 for PQ, 2 for PQP) with 95 % interval. The task's score is the mean of these two. A judge may be wrong: "
        "draw a sample for people with `snellen judge RUN --sample FILE`, and compare their decisions with `snellen "
        "judge RUN --agreement FILE` (in the paper 178 of 180 verdicts were confirmed)."
    )
    count_names = ["descriptions", "without a text", "verdicts not readable", "failed"]
    means = [*(f"mean {name}" for name in TOP), "both"]
    names = ["task", "judge", "subject", "condition", *count_names, *means]
    lines.sort(key=lambda line: is_simulated(str(line[2])))
    yield from table_section("Verdicts on descriptions of videos", note, names, lines, "judge")
