"""Test and retest: thresholds of the first two repeats of a run, which ask for the same items."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from snellen.analysis.cells import DASH
from snellen.analysis.pivot import arm_scores, table_section
from snellen.analysis.run_view import arm_name, examined, main_arms
from snellen.analysis.section import ReportSection, Run
from snellen.core.score import MEASURED, Measurement
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import Measure
from snellen.suites.thresholds.scoring import digits, estimate_text, threshold


def retest(run: Run) -> Iterator[ReportSection]:
    """The section of a run with repeats; people of a study are none."""
    run, rows = run.unpooled or run, []
    for task, measure in MEASURES.items():
        for arm in examined(main_arms(run)):
            part = arm_scores(run, task, arm)
            repeats = sorted(part["repeat"].unique())[:2]
            if len(repeats) == 2:
                both = [_measured(run, measure, part[part["repeat"] == repeat]) for repeat in repeats]
                cells = [estimate_text(result, measure) for result in both]
                rows.append([task, arm_name(arm.subject, arm.condition), *cells, *ratio(*both)])
    note = (
        "Thresholds of the first two repeats, each with a 95 % credible interval, and their ratio, whose interval "
        "follows from both. A ratio of 1 outside it means that the subject changed from one to the other. A subject "
        "without noise of its own gives the same answers again, so that its ratio is 1 and says nothing."
    )
    names = ["task", "subject", "first", "second", "ratio", "in words"]
    yield from table_section("Test and retest", note, names, rows, "retest")


def _measured(run: Run, measure: Measure, part: pd.DataFrame) -> Measurement:
    return threshold(measure, [run.items.by_id[name] for name in part["item_id"]], part["value"].tolist())


def ratio(test: Measurement, again: Measurement) -> tuple[str, str]:
    """The ratio of two thresholds with its 95 % interval, from the widths of both in log units, and what it says."""
    if not test.state == again.state == MEASURED:
        return DASH, "not estimable"
    step = math.log(again.value / test.value)
    half = math.hypot(*(math.log(result.high / result.low) / 2 for result in (test, again)))
    low, high = math.exp(step - half), math.exp(step + half)
    words = "no clear difference" if low <= 1 <= high else "differs from one repeat to the other"
    return f"x{digits(math.exp(step))} [{digits(low)}, {digits(high)}]", words
