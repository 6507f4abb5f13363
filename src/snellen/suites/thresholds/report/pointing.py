"""Bias and precision of pointing, by the place and the size of the disc."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

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

Part = tuple[str, Callable[[Item], bool]]
BOUNDS = (1, 6, 11, LEVELS + 1)
"""The first level of each third of the sizes, and the controls."""


def parts() -> Iterator[Part]:
    """All answers, then those by eccentricity and by size: a name, and which items belong to it."""
    yield "all", lambda item: True
    for name in ECCENTRICITIES:
        yield name, lambda item, name=name: item.factors["eccentricity"] == name  # type: ignore[misc]
    for first, end in pairwise(BOUNDS):
        name = f"{POINTING.levels[first - 1]:g} to {POINTING.levels[end - 2]:g} px"
        yield name, lambda item, first=first, end=end: first <= int(item.factors["level"]) < end  # type: ignore[misc]


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
        for name, is_in in parts() if answers else ():
            of_part = [(item, point) for item, point in answers if is_in(item)]
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
