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
(`Grade.is_decided`), and pages count by it. At a planned look (`deciding.PlannedLook`), all are of a fixed
number of items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from snellen.analysis.grading import states
from snellen.analysis.grading.rows import Grade, ResultRow
from snellen.core.score import Metric
from snellen.core.seeds import lazy_stream
from snellen.scoring.sequential import is_paired_beyond
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
FloorT = TypeVar("FloorT")
BLIND, WITHOUT_SCORE = "blind baseline", "items without a score"
GIVEN = {
    states.BOXES: "boxes only give",
    states.THUMBNAIL: "a thumbnail gives",
    states.COLOUR: "the named colour gives",
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


def greatest_first(
    floors: Iterable[FloorT], measured: Callable[[FloorT], float], row: ResultRow, metric: Metric
) -> list[FloorT]:
    """The floors that are above the blind baseline of a row, by their score on many items, the greatest first."""
    blind, ceiling = baseline(row, metric), ceiling_of(row, metric)
    above = [floor for floor in floors if progress(measured(floor), blind, ceiling) >= LEAST_EXCESS]
    return sorted(above, key=lambda floor: metric.sign * measured(floor), reverse=True)


def grade_of(
    row: ResultRow,
    metric: Metric,
    units: pd.DataFrame | None = None,
    floors: Sequence[UnitFloor] = (),
    thumbnail: float = math.nan,
) -> Grade:
    """The grade of a row of results that has none yet.

    `units` are its scored units (columns value, cluster_id, and those of `deciding.in_order` if they were asked until
    decided), `floors` the rules that apply to its subject, with their
    scores on these units. `thumbnail` is the score of a forest on thumbnails, for a subject to which it does not apply:
    a note states it if it reaches a quarter of the way.
    """
    if math.isnan(row.value):
        return without_score(row)
    blind, ceiling = baseline(row, metric), ceiling_of(row, metric)
    best = next(iter(greatest_first(floors, lambda floor: floor.measured, row, metric)), None)
    # In a part of a task, a rule may be worse than the blind baseline of that part, so both are floors.
    is_greater = best is not None and metric.sign * (best.value - blind) > 0
    floor, floor_name = (best.value, best.name) if best and is_greater else (blind, BLIND)
    scale = _Scale(row, metric, units, blind, ceiling)
    grade = incomplete(row)
    if grade is None and math.isnan(progress(row.value, blind, ceiling)):
        reason = states.NO_BASELINE if math.isnan(blind) else states.NO_ROOM
        grade = Grade(state=states.OPEN, reason=reason, decided_by=BLIND)
    if grade is None:
        is_full = best is not None and progress(best.measured, blind, ceiling) >= FULL
        edges = () if is_full else (QUARTER, HALF, NEARLY)
        passed = [edge for edge in edges if scale.is_above(edge, None) and scale.is_above(edge, best)]
        words = {QUARTER: "some", HALF: "most", NEARLY: "as people" if _people_known(row, metric) else GRADES[3]}
        if passed:
            grade = Grade(words[passed[-1]], "", "", decided_by=floor_name)
        else:
            grade = _unread(row) or _judged(scale, best, is_full)
    if grade is None:
        grade = _open(scale, best, floor_name)
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


def look_level(units: pd.DataFrame, level: float = 0.95) -> float:
    """The level of one interval of units such that those of all planned looks have this level together."""
    return 1 - (1 - level) / int(units["looks"].iloc[0]) if "looks" in units and len(units) else level


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


def _judged(scale: _Scale, best: UnitFloor | None, is_full: bool) -> Grade | None:
    """*None*, or the state of a score that is judged from the greatest floor; None for neither."""
    if scale.is_below(QUARTER, None):
        return Grade("none", "", "", decided_by=BLIND)
    if best is None:
        return None
    if is_full:
        given = f"{GIVEN[best.excess]} {_text(best.value, scale.metric)}"
        note = "; ".join((given, *([f"ask under {best.condition}"] if best.condition else [])))
        return Grade(state=states.OPEN, reason=states.NO_ROOM, decided_by=best.name, note=note)
    # Asked until decided, a score that may be just below the quarter from blind is at the boundary of *none*.
    if scale.is_above(QUARTER - BAND if scale.is_sequential else QUARTER, None) and scale.is_below(QUARTER, best):
        return Grade(state=states.NO_BETTER, reason=best.excess, decided_by=best.name)
    return None


def _open(scale: _Scale, best: UnitFloor | None, floor_name: str) -> Grade:
    """The state of a score between two grades: near the boundary if its interval is at most a quarter of the way wide.

    More items narrow such an interval but slowly.
    """
    is_narrow = scale.row.high - scale.row.low <= QUARTER * abs(scale.ceiling - scale.blind)
    above = "the floor" if scale.is_above(0.0, best) else "the blind baseline" if scale.is_above(0.0, None) else ""
    reason, note = states.BOUNDARY if is_narrow else states.TOO_FEW, above and f"above {above}"
    return Grade(state=states.OPEN, reason=reason, decided_by=floor_name, note=note)


def _text(value: float, metric: Metric) -> str:
    return f"{100 * value:.0f} %" if metric.share else f"{value:.{metric.decimals}f}"


@dataclass(frozen=True)
class _Scale:
    """The scale of a score from its floors to the ceiling, and the side of a boundary on which the interval of d is."""

    row: ResultRow
    metric: Metric
    units: pd.DataFrame | None
    blind: float
    ceiling: float

    @property
    def is_sequential(self) -> bool:
        """True for a task that was asked until decided."""
        return self.units is not None and "turn" in self.units

    def is_above(self, boundary: float, floor: UnitFloor | None) -> bool:
        """True if the whole interval is better than the boundary."""
        return self._is_beyond(boundary, floor, 1)

    def is_below(self, boundary: float, floor: UnitFloor | None) -> bool:
        """True if the whole interval is worse than the boundary."""
        return self._is_beyond(boundary, floor, -1)

    def _is_beyond(self, boundary: float, floor: UnitFloor | None, side: Literal[-1, 1]) -> bool:
        """Whether the interval is on one side; never if it is not estimable.

        A floor that is one number, and a metric whose summary is no mean, shift the interval of the score.
        """
        row, metric, units, goal = self.row, self.metric, self.units, boundary * self.ceiling
        is_better_high = metric.sign * side > 0
        if floor is None or units is None or metric.summary != "mean" or "weight" in units or not np.std(floor.values):
            low, high = (
                end - (1 - boundary) * (self.blind if floor is None else floor.value) for end in (row.low, row.high)
            )
            return low > goal if is_better_high else high < goal
        scores, floors = units["value"].to_numpy(float), (1 - boundary) * floor.values
        if "turn" in units:
            bounds = metric.bounds or (0.0, 1.0)
            return is_paired_beyond(scores, floors, units["turn"], bounds, goal, 1 if is_better_high else -1)
        rng = lazy_stream("grade", str(row.subject), str(row.task), floor.name)
        clusters, level = units["cluster_id"].to_numpy(str), look_level(units)
        pair = paired_difference(scores, floors, clusters, rng, level, metric.bounds)
        return pair.low > goal if is_better_high else pair.high < goal
