"""Bias and precision of pointing, by the place and the size of the disc."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np

from snellen.analysis.tables.cells import DASH
from snellen.analysis.tables.pivot import arm_scores, table_section
from snellen.analysis.tables.run_view import ReportArm, arm_name, examined, main_arms
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.item import Item
from snellen.suites.thresholds.measures.measure import LEVELS
from snellen.suites.thresholds.measures.pointing import ECCENTRICITIES, POINTING
from snellen.suites.thresholds.pointing import fit_errors, signed_error
from snellen.suites.thresholds.scoring import error

SIZES = {
    f"{POINTING.levels[first - 1]:g} to {POINTING.levels[last - 1]:g} px": range(first, last + 1)
    for first, last in ((1, 5), (6, 10), (11, LEVELS))
}
"""The levels of each third of the sizes; controls are in none."""


def parts_of(item: Item) -> tuple[str, ...]:
    """The rows in which the answer to an item counts."""
    sizes = (name for name, levels in SIZES.items() if int(item.factors["level"]) in levels)
    return "all", item.factors["eccentricity"], *sizes


def pointing(run: Run) -> Iterator[ReportSection]:
    """The section of a run with points."""
    rows = []
    for arm in (ReportArm(arm.subject, arm.condition) for arm in examined(run, main_arms(run))):
        scores = arm_scores(run, POINTING.task, arm)
        answers = [
            (run.items.by_id[item_id], point)
            for item_id, text in zip(scores["item_id"], scores["prediction"], strict=True)
            if (point := json.loads(text)) is not None
        ]
        for name in ("all", *ECCENTRICITIES, *SIZES) if answers else ():
            of_part = [(item, point) for item, point in answers if name in parts_of(item)]
            rows.append([arm_name(*arm), name, f"{len(of_part)}", *_cells(of_part)])
    note = (
        "Signed errors of points in pixels: bias is their mean, to the right of the disc's middle and below it, and "
        "spread their standard deviation, the root mean square of both axes. Points that are nowhere near the disc "
        "count as slips. The threshold of a subject without bias is 2.355 times its spread. Near, middle and far are "
        "discs within 75, within 150 and beyond 150 px of the middle of the image."
    )
    names = ["subject", "discs", "points", "hits", "bias to the right", "bias downwards", "spread", "slips"]
    yield from table_section("Where it points", note, names, rows, "pointing")


def _cells(item_points: Sequence[tuple[Item, Sequence[float]]]) -> list[str]:
    """Hits, biases, spread and slips; a dash for what too few points tell."""
    hits = f"{sum(error(item, point) == 0.0 for item, point in item_points)}"
    fits = [fit_errors([signed_error(item, point, axis) for item, point in item_points]) for axis in (0, 1)]
    known = [fit for fit in fits if fit is not None]
    if len(known) < len(fits):
        return [hits, DASH, DASH, DASH, DASH]
    spread = float(np.sqrt(np.mean([fit.spread**2 for fit in known])))
    slips = max(len(item_points) - fit.points for fit in known)
    return [hits, *(f"{fit.bias:+.1f} px" for fit in known), f"{spread:.1f} px", f"{slips:.0f}"]
