"""Thresholds of single people: as angles where their screen and distance are known, and their medians."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from snellen.analysis.cells import DASH
from snellen.analysis.people import is_person
from snellen.analysis.pivot import table_section
from snellen.analysis.run_view import ReportArm, main_arms, result_rows, row_by_arm
from snellen.analysis.section import ReportSection, Run, once_a_run
from snellen.core.score import ABOVE, BELOW, MEASURED
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.published import NORMS, arcmin
from snellen.suites.thresholds.scoring import digits, estimate_text

NOT_MEASURABLE = "not measurable at this distance"
"""In place of a threshold of a person that is smaller than what the pixels of the screen show."""
ARCMIN = "arcmin", 1, 1.0
ANGLES = {"acuity": ARCMIN, "crowded-acuity": ARCMIN, "vernier": ("arcsec", 60, 0.0)}
"""The tasks whose thresholds are lengths on the screen: the unit of the angle, the number of units in a minute of arc,
and the pixels below which a screen cannot show the length (offsets below one are shown by shades of grey)."""
ENDS = {BELOW: -math.inf, ABOVE: math.inf}


class PersonThreshold(NamedTuple):
    """The threshold of one person, or its bound or state, with pixels per centimetre and distance (NaN if unknown)."""

    name: str
    state: str
    value: float
    low: float
    high: float
    px_per_cm: float
    distance_cm: float


class Median(NamedTuple):
    """The median threshold of people, in the unit of the task, and their number."""

    value: float
    people: int


@once_a_run
def people_thresholds(run: Run, task: str) -> list[PersonThreshold]:
    """The thresholds of all people of a run, also of one in which a study is one subject."""
    run = run.unpooled or run
    rows, thresholds = row_by_arm(result_rows(run, task)), []
    for arm in main_arms(run):
        row = rows.get(ReportArm(arm.subject, arm.condition))
        if is_person(arm.subject) and row is not None:
            size = (float(arm.attributes.get(name, math.nan)) for name in ("px_per_cm", "distance_cm"))
            thresholds.append(PersonThreshold(arm.subject, row.state, row.value, row.low, row.high, *size))
    return thresholds


def median_of(thresholds: Sequence[PersonThreshold]) -> Median | None:
    """The median of people with a threshold or a bound; None without any, or if it is beyond the levels."""
    logs = [ENDS.get(t.state, math.log(t.value)) for t in thresholds if t.state in (MEASURED, *ENDS)]
    middle = median(logs) if logs else math.nan
    return Median(math.exp(middle), len(logs)) if math.isfinite(middle) else None


def medians(run: Run) -> dict[str, Median]:
    """The medians of all people of a run, by the tasks that have one; of judgements those of the spread."""
    return {task: of_people for task in MEASURES if (of_people := median_of(people_thresholds(run, task)))}


def angle_text(task: str, threshold: PersonThreshold) -> str:
    """The threshold of a person at a known distance as an angle with its interval, as a bound, or its state."""
    unit, per_arcmin, least_px = ANGLES[task]
    if threshold.state == BELOW or threshold.value < least_px:
        return NOT_MEASURABLE
    if threshold.state not in (MEASURED, ABOVE):
        return threshold.state
    value, low, high = (
        digits(per_arcmin * arcmin(end, threshold.distance_cm, threshold.px_per_cm))
        for end in (threshold.value, threshold.low, threshold.high)
    )
    return f"{value} {unit} [{low}, {high}]" if threshold.state == MEASURED else f"more than {value} {unit}"


def angles(run: Run) -> Iterator[ReportSection]:
    """The section of a run with people whose screen and distance are known."""
    published = [norm for norm in NORMS if norm.task in ANGLES]
    sources = "; ".join(
        f"{norm.task} {norm.value:g} {norm.unit}, {norm.conditions} ({norm.source})" for norm in published
    )
    note = (
        "Thresholds of people whose screen and distance are known, in pixels of the image (which are pixels of the "
        "screen) and as angles at the eye. A person who reads gaps of less than one pixel has to sit farther away to "
        "be measured. Distances are those that people stated. Published norms are of people who saw well, and no "
        f"ceilings of this report: {sources}."
    )
    norms = {norm.task: f"{norm.value:g} {norm.unit}" for norm in published}
    rows = [
        [task, person.name, f"{person.distance_cm:g} cm",
         f"{arcmin(1.0, person.distance_cm, person.px_per_cm):.2f} arcmin",
         estimate_text(person, MEASURES[task]), angle_text(task, person), norms.get(task, DASH)]
        for task in ANGLES for person in people_thresholds(run, task) if not math.isnan(person.px_per_cm)
    ]  # fmt: skip
    names = ["task", "person", "distance", "one pixel", "threshold", "angle", "published norm"]
    yield from table_section("People's thresholds as angles", note, names, rows, "angles")
