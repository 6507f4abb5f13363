"""The grade of a score: how far it is on the way from what can be scored without the ability to people.

A floor is such a score without the ability: chance, the blind baseline, or what the drawn boxes give (`floors`). The
way from a floor (0) leads to the ceiling (1): the score of people if known, else a perfect one. With the 95 % interval:

- none: it ends below a quarter of the way from the blind baseline;
- some, most: it begins above a quarter, or a half, of the way from the greatest floor that applies, and from blind;
- as people: it begins above nine tenths, and the score of people is known; otherwise nearly all right;
- open: none of these holds.

None is judged from the blind baseline, since a subject that reads drawn boxes does look; the others are judged from the
greatest floor. A floor known per item enters as a paired difference: per item d = y - ((1 - g) a + g c), with the score
y, the floor's score a, the ceiling c and the boundary g; a boundary is passed if the interval of the mean d, by
cluster, is above 0. Some scores have a state in place of a grade (`rows.STATES`).

Of a task that was asked until decided, all intervals are confidence sequences. Asking stops once a score is decided
(`Grade.is_decided`), and pages count by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from snellen.analysis.grading import states
from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.core.score import Metric
from snellen.core.seeds import lazy_stream
from snellen.scoring.sequential import paired_sequence
from snellen.scoring.uncertainty import paired_difference

GRADES = ("none", "some", "most", "nearly all right", "as people")
"""Worst first."""
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
BLIND, WITHOUT_SCORE = "blind baseline", "items without a score"
GIVEN = {
    states.BOXES: "boxes only give",
    states.THUMBNAIL: "a thumbnail gives",
    states.EQUAL_QUESTIONS: "equal questions give",
}
"""What a floor gives, in words."""
FALSE_MOST = 0.003
"""Share of the grades *most* or better, in simulated checkups, of abilities truly under halfway.

`python -m tests.helpers.grade_rates`, docs/measurements/grades.md.
"""


@dataclass(frozen=True)
class UnitFloor:
    """The scores of a rule on the scored units of a subject, in their order, and their summary.

    `excess` is the reason of a subject that is no better than the rule. `measured` is the score of the rule on many
    items, which decides which floor is the greatest. `condition` is the one under which the rule has nothing to read,
    if there is one.
    """

    name: str
    excess: str
    values: npt.NDArray[np.float64]
    value: float
    measured: float
    condition: str = ""


def incomplete(row: ResultRow) -> Grade | None:
    """The grade of a score from which more than `LEFT_OUT` of the items are left out; None if they are fewer.

    Items are left out if they were declined, failed or wait for a judge: such a score is one of items that the subject,
    its service or its judge chose.
    """
    asked = row.items - row.not_applicable
    failed = 0 if math.isnan(row.failure_rate) else round(row.failure_rate * asked)
    share = (row.not_applicable + failed) / row.items if math.isnan(row.left_out) else row.left_out
    if share <= LEFT_OUT:
        return None
    state = states.DECLINED if row.not_applicable > failed else states.FAILED
    note = f"{asked - failed} of {row.items}"
    return Grade(state=state, reason=states.IN_PART, decided_by=WITHOUT_SCORE, note=note)


def baseline(row: ResultRow, metric: Metric) -> float:
    """The better of chance and blind baseline of a row of results; NaN for neither."""
    known = [float(score) for score in (row.chance, row.blind) if not math.isnan(score)]
    return (max if metric.higher_is_better else min)(known) if known else math.nan


def ceiling_of(row: ResultRow, metric: Metric) -> float:
    """The ceiling of a row's task: the score of people; a perfect one if that is unknown or no better than blind."""
    return float(row.ceiling) if _people_known(row, metric) else metric.best


def _people_known(row: ResultRow, metric: Metric) -> bool:
    return not math.isnan(row.ceiling) and metric.sign * (row.ceiling - baseline(row, metric)) > 0


def progress(score: float, floor: float, ceiling: float) -> float:
    """A score scaled from a floor (0) to the ceiling (1), negative below the floor; NaN if these are equal."""
    return math.nan if math.isnan(floor) or floor == ceiling else (score - floor) / (ceiling - floor)


def grade_of(
    row: ResultRow,
    metric: Metric,
    units: pd.DataFrame | None = None,
    floors: Sequence[UnitFloor] = (),
    thumbnail: float = math.nan,
) -> Grade:
    """The grade of a row of results that has none yet.

    `units` are its scored units (columns value, cluster_id, and turn if they were asked until decided: the place of the
    cluster in the order of asking), `floors` the rules that apply to its subject, with their
    scores on these units. `thumbnail` is the score of a forest on thumbnails, for a subject to which it does not apply:
    a note states it if it reaches a quarter of the way.
    """
    if math.isnan(row.value):
        return without_score(row)
    blind, ceiling = baseline(row, metric), ceiling_of(row, metric)
    above = [floor for floor in floors if progress(floor.measured, blind, ceiling) >= LEAST_EXCESS]
    best = max(above, key=lambda floor: metric.sign * floor.measured, default=None)
    # In a part of a task, a rule may be worse than the blind baseline of that part, so both are floors.
    is_greater = best is not None and metric.sign * (best.value - blind) > 0
    floor, floor_name = (best.value, best.name) if best and is_greater else (blind, BLIND)

    def end(boundary: float, floor: UnitFloor | None, upper: bool = False) -> float:
        """An end of the interval of d, signs turned so that more is better."""
        return _end(row, metric, boundary, floor, ceiling, blind, units, upper)

    grade = incomplete(row)
    if grade is None and math.isnan(progress(row.value, blind, ceiling)):
        reason = states.NO_BASELINE if math.isnan(blind) else states.NO_ROOM
        grade = Grade(state=states.OPEN, reason=reason, decided_by=BLIND)
    if grade is None:
        is_full = best is not None and progress(best.measured, blind, ceiling) >= FULL
        edges = () if is_full else (QUARTER, HALF, NEARLY)
        passed = [edge for edge in edges if end(edge, best) > 0 and end(edge, None) > 0]
        words = {QUARTER: "some", HALF: "most", NEARLY: "as people" if _people_known(row, metric) else GRADES[3]}
        is_sequential = units is not None and "turn" in units
        if passed:
            grade = Grade(words[passed[-1]], "", "", decided_by=floor_name)
        else:
            grade = _unread(row) or _judged(metric, end, best, is_full, is_sequential)
    if grade is None:
        grade = _open(row, end, best, floor_name, abs(ceiling - blind))
    remark = f"a thumbnail gives {_text(thumbnail, metric)}" if progress(thumbnail, blind, ceiling) >= QUARTER else ""
    note = "; ".join(filter(None, (grade.note, remark)))
    return replace(grade, floor=floor, floor_name=floor_name, note=note)


def without_score(row: ResultRow) -> Grade:
    """The state of a row without a value."""
    failed = 0.0 if math.isnan(row.failure_rate) else row.failure_rate * (row.items - row.not_applicable)
    if not failed and not row.not_applicable:
        return Grade(decided_by=WITHOUT_SCORE)
    state = states.FAILED if failed > row.not_applicable else states.DECLINED
    return Grade(state=state, reason=states.ALL, decided_by=WITHOUT_SCORE)


def _unread(row: ResultRow) -> Grade | None:
    """The state of a low score that may be due to replies without an answer; None if enough were read."""
    unread = row.no_answer_rate + row.cut_off_rate
    if unread > UNREAD and row.boxes_in:
        note = f"boxes in {row.boxes_in}; score again with --box-unit {row.boxes_in}"
        return Grade(
            state=states.UNREADABLE, reason=states.UNIT, decided_by="boxes in another unit than asked for", note=note
        )
    if unread > UNREAD:
        reason = states.CUT_OFF if row.cut_off_rate >= row.no_answer_rate else states.WORDS
        note = f"{100 * unread:.0f} % of its replies"
        return Grade(state=states.UNREADABLE, reason=reason, decided_by="replies without an answer", note=note)
    return Grade(state=states.OPEN, reason=states.SAME_ANSWER, decided_by="equal replies") if row.degenerate else None


def _judged(
    metric: Metric, end: Callable[..., float], best: UnitFloor | None, is_full: bool, is_sequential: bool
) -> Grade | None:
    """*None*, or the state of a score that is judged from the greatest floor; None for neither."""
    if end(QUARTER, None, upper=True) < 0:
        return Grade("none", "", "", decided_by=BLIND)
    if best is None:
        return None
    if is_full:
        given = f"{GIVEN[best.excess]} {_text(best.value, metric)}"
        note = "; ".join((given, *([f"ask under {best.condition}"] if best.condition else [])))
        return Grade(state=states.OPEN, reason=states.NO_ROOM, decided_by=best.name, note=note)
    # Asked until decided, a score that may be just below the quarter from blind is at the boundary of *none*.
    is_beyond_blind = end(QUARTER - BAND if is_sequential else QUARTER, None) > 0
    if is_beyond_blind and end(QUARTER, best, upper=True) < 0:
        return Grade(state=states.NO_BETTER, reason=best.excess, decided_by=best.name)
    return None


def _open(row: ResultRow, end: Callable[..., float], best: UnitFloor | None, floor_name: str, distance: float) -> Grade:
    """The state of a score between two grades: near the boundary if its interval is at most a quarter of the way wide.

    More items narrow such an interval but slowly. `distance` is the length of the way from the blind baseline.
    """
    reason = states.BOUNDARY if row.high - row.low <= QUARTER * distance else states.TOO_FEW
    note = "above the floor" if end(0.0, best) > 0 else "above the blind baseline" if end(0.0, None) > 0 else ""
    return Grade(state=states.OPEN, reason=reason, decided_by=floor_name, note=note)


def _text(value: float, metric: Metric) -> str:
    return f"{100 * value:.0f} %" if metric.share else f"{value:.{metric.decimals}f}"


def _end(
    row: ResultRow,
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
