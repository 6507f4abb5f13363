"""The grade of a score: how far it is on the way from what can be scored without the ability to people.

A floor is such a score without the ability: chance, the blind baseline, or what the drawn boxes give (`floors`). The
way from a floor (0) leads to the ceiling (1): the score of people if known, else a perfect one. With the 95 % interval:

- none: it ends below a quarter of the way from the blind baseline;
- some, most: it begins above a quarter, or a half, of the way from the greatest floor that applies, and from blind;
- as people: it begins above nine tenths, and the score of people is known; otherwise nearly all right;
- too few items: none of these holds.

None is judged from the blind baseline, since a subject that reads drawn boxes does look; the others are judged from the
greatest floor. A floor known per item enters as a paired difference: per item d = y - ((1 - g) a + g c), with the score
y, the floor's score a, the ceiling c and the boundary g; a boundary is passed if the interval of the mean d, by
cluster, is above 0. Some cells have no grade but a state (`STATES`), which is stated in its place.

Of a task that was asked until decided, all intervals are confidence sequences. A score is decided (`is_decided`) if it
has a grade, is a threshold or its bound, or is shown to be no better than a named baseline. Asking stops by this rule,
and pages count by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from snellen.core.box_units import BOX_UNITS, FRACTIONS
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD, Metric
from snellen.core.seeds import lazy_stream
from snellen.scoring.sequential import paired_sequence
from snellen.scoring.uncertainty import paired_difference

GRADES = ("none", "some", "most", "nearly all right", "as people")
"""Worst first."""
TOO_FEW, GRADED = "too few items", "graded"
NO_MORE = "no more than boxes only give", "no more than a thumbnail gives", "no more than equal questions give"
LEFT_OUT_STATES = PARTLY_DECLINED, PARTLY_FAILED = "partly declined", "partly failed"
STATES = (
    GRADED,
    TOO_FEW,
    *NO_MORE,
    "cannot be graded",
    MEASURED,
    BELOW,
    ABOVE,
    NOT_UNDERSTOOD,
    *(f"boxes in {unit}" for unit in BOX_UNITS if unit != FRACTIONS),
    "cut off",
    "could not be read",
    "always the same answer",
    *LEFT_OUT_STATES,
    "declined",
    "not asked",
)
DECIDED = frozenset((GRADED, MEASURED, BELOW, ABOVE, *NO_MORE))
"""The states of scores that are decided."""
QUARTER, HALF, NEARLY = 0.25, 0.5, 0.9
"""Boundaries of grades, as shares of the way from a floor to the ceiling."""
BAND = 0.1
"""Share by which a score asked until decided, no more than a floor, may be below a quarter of the way from blind."""
FULL = 0.9
"""Share of the way from the blind baseline to the ceiling from which on a floor leaves nothing to grade."""
UNREAD, LEFT_OUT = 0.05, 0.10
"""Shares of items above which a low score may be due to wording, and a score is of a chosen part of the items."""
LEAST_EXCESS = 0.05
"""Share of the way that a floor must be above the blind baseline: less may be chance, and does not matter."""
BLIND = "blind baseline"
FALSE_MOST = 0.003
"""Share of the grades *most* or better, in simulated checkups, of abilities truly under halfway.

`python -m tests.helpers.grade_rates`, docs/measurements/grades.md.
"""
Colour: TypeAlias = Literal["below", "same", "part", "above", "none"]


@dataclass(frozen=True)
class UnitFloor:
    """The scores of a rule on the scored units of a subject, in their order, and their summary.

    `excess` is the state of a subject that is no better than the rule. `measured` is the score of the rule on many
    items, which decides which floor is the greatest. `condition` is the one under which the rule has nothing to read,
    if there is one.
    """

    name: str
    excess: str
    values: npt.NDArray[np.float64]
    value: float
    measured: float
    condition: str = ""


@dataclass(frozen=True)
class Grading:
    """The grade of a row of results, or its state; `note` explains it.

    `floor` and `floor_name` are the greatest floor that applies, `decided_by` what the grade or state was judged from.
    """

    grade: str = ""
    state: str = "not asked"
    floor: float = math.nan
    floor_name: str = ""
    decided_by: str = ""
    note: str = ""


def is_decided(state: str) -> bool:
    """True for the state of a score with a grade, a threshold or its bound, or one no better than a named baseline."""
    return state in DECIDED


def incomplete(row: Any) -> Grading | None:
    """The grading of a score from which more than `LEFT_OUT` of the items are left out; None if they are fewer.

    Items are left out if they were declined, failed or wait for a judge: such a score is one of items that the subject,
    its service or its judge chose. `results` also gives a row the share of groups that are left out with such an item
    (`left_out`), which is no column.
    """
    asked = row.items - row.not_applicable
    failed = 0 if math.isnan(row.failure_rate) else round(row.failure_rate * asked)
    share = getattr(row, "left_out", (row.not_applicable + failed) / row.items)
    if share <= LEFT_OUT:
        return None
    state = PARTLY_DECLINED if row.not_applicable > failed else PARTLY_FAILED
    return Grading(state=state, decided_by="items without a score", note=f"{asked - failed} of {row.items}")


def words(grade: str, state: str) -> str:
    """What a cell says: its grade, or its state."""
    return grade if state == GRADED else state


def colour(grade: str, state: str) -> Colour:
    """The colour of a cell on every page, as a class of the style sheets."""
    if state != GRADED:
        return "none" if state == "not asked" else "same"
    return "below" if grade == "none" else "part" if grade == "some" else "above"


def baseline(row: Any, metric: Metric) -> float:
    """The better of chance and blind baseline of a row of results; NaN for neither."""
    known = [float(score) for score in (row.chance, row.blind) if not math.isnan(score)]
    return (max if metric.higher_is_better else min)(known) if known else math.nan


def ceiling_of(row: Any, metric: Metric) -> float:
    """The ceiling of a row's task: the score of people; a perfect one if that is unknown or no better than blind."""
    return float(row.ceiling) if _people_known(row, metric) else metric.best


def _people_known(row: Any, metric: Metric) -> bool:
    return not math.isnan(row.ceiling) and metric.sign * (row.ceiling - baseline(row, metric)) > 0


def progress(score: float, floor: float, ceiling: float) -> float:
    """A score scaled from a floor (0) to the ceiling (1), negative below the floor; NaN if these are equal."""
    return math.nan if math.isnan(floor) or floor == ceiling else (score - floor) / (ceiling - floor)


def grading_of(
    row: Any,
    metric: Metric,
    units: pd.DataFrame | None = None,
    floors: Sequence[UnitFloor] = (),
    thumbnail: float = math.nan,
) -> Grading:
    """The grading of a row of results.

    `units` are its scored units (columns value, cluster_id, and turn if they were asked until decided: the place of the
    cluster in the order of asking), `floors` the rules that apply to its subject, with their
    scores on these units. `thumbnail` is the score of a forest on thumbnails, for a subject to which it does not apply:
    a note states it if it reaches a quarter of the way.
    """
    if math.isnan(row.value):
        return Grading(state="declined" if row.not_applicable else "not asked", decided_by="items without a score")
    blind, ceiling = baseline(row, metric), ceiling_of(row, metric)
    above = [floor for floor in floors if progress(floor.measured, blind, ceiling) >= LEAST_EXCESS]
    best = max(above, key=lambda floor: metric.sign * floor.measured, default=None)
    # In a part of a task, a rule may be worse than the blind baseline of that part, so both are floors.
    is_greater = best is not None and metric.sign * (best.value - blind) > 0
    known = (best.value, best.name) if best and is_greater else (blind, BLIND)
    remark = f"a thumbnail gives {_text(thumbnail, metric)}"
    remarks = [remark] if progress(thumbnail, blind, ceiling) >= QUARTER else []

    def grading(grade: str, state: str, decided_by: str, *notes: str) -> Grading:
        return Grading(grade, state, *known, decided_by, "; ".join(filter(None, (*notes, *remarks))))

    def end(boundary: float, floor: UnitFloor | None, upper: bool = False) -> float:
        """An end of the interval of d, signs turned so that more is better."""
        return _end(row, metric, boundary, floor, ceiling, blind, units, upper)

    if (partial := incomplete(row)) is not None:
        return grading("", partial.state, partial.decided_by, partial.note)
    if math.isnan(progress(row.value, blind, ceiling)):
        return grading("", "cannot be graded", BLIND, "no blind baseline" if math.isnan(blind) else "blind is perfect")
    is_sequential = units is not None and "turn" in units
    passed = [edge for edge in (QUARTER, HALF, NEARLY) if end(edge, best) > 0 and end(edge, None) > 0]
    is_full = best is not None and progress(best.measured, blind, ceiling) >= FULL
    if passed and not is_full:
        names = {QUARTER: "some", HALF: "most", NEARLY: "as people" if _people_known(row, metric) else GRADES[3]}
        return grading(names[passed[-1]], GRADED, known[1])
    if (unread := row.no_answer_rate + row.cut_off_rate) > UNREAD:
        if row.boxes_in:
            remedy = f"score again with --box-unit {row.boxes_in}"
            return grading("", f"boxes in {row.boxes_in}", "boxes in another unit than asked for", remedy)
        state = "cut off" if row.cut_off_rate >= row.no_answer_rate else "could not be read"
        share = f"{100 * unread:.0f} % of its replies"
        return grading("", state, "replies without an answer", share)
    if row.unable:
        return grading("", "always the same answer", "equal replies")
    if end(QUARTER, None, upper=True) < 0:
        return grading("none", GRADED, BLIND)
    if best is not None and is_full:
        instead = [f"ask under {best.condition}"] if best.condition else []
        given = f"{best.excess.removeprefix('no more than ')} {_text(best.value, metric)}"
        return grading("", "cannot be graded", best.name, given, *instead)
    # Asked until decided, a score that may be just below the quarter from blind is at the boundary of *none*.
    is_beyond_blind = end(QUARTER - BAND if is_sequential else QUARTER, None) > 0
    if best is not None and is_beyond_blind and end(QUARTER, best, upper=True) < 0:
        return grading("", best.excess, best.name)
    mark = "above the floor" if end(0.0, best) > 0 else "above the blind baseline" if end(0.0, None) > 0 else ""
    return grading("", TOO_FEW, known[1], mark)


def _text(value: float, metric: Metric) -> str:
    return f"{100 * value:.0f} %" if metric.share else f"{value:.{metric.decimals}f}"


def _end(
    row: Any,
    metric: Metric,
    boundary: float,
    floor: UnitFloor | None,
    ceiling: float,
    blind: float,
    units: pd.DataFrame | None,
    upper: bool,
) -> float:
    """The lower (or upper) end of the interval of d, signs turned; NaN if it is not estimable.

    A floor that is one number, and a metric whose summary is no mean, shift the interval of the score.
    """
    if floor is None or units is None or metric.summary != "mean" or "weight" in units or not np.std(floor.values):
        number = blind if floor is None else floor.value
        ends = sorted(
            metric.sign * (edge - (1 - boundary) * number - boundary * ceiling) for edge in (row.low, row.high)
        )
        return float(ends[upper])
    scores, clusters = units["value"].to_numpy(float), units["cluster_id"].to_numpy(str)
    if "turn" in units:
        sequence = paired_sequence(scores, (1 - boundary) * floor.values, units["turn"], metric.bounds or (0.0, 1.0))
        return float(sorted(metric.sign * (edge - boundary * ceiling) for edge in sequence)[upper])
    rng = lazy_stream("grade", str(row.subject), str(row.task), floor.name)
    pair = paired_difference(scores, (1 - boundary) * floor.values, clusters, rng, bounds=metric.bounds)
    ends = sorted(metric.sign * (edge - boundary * ceiling) for edge in (pair.low, pair.high))
    return float(ends[upper])
