"""Thresholds of single people, and profiles: thresholds as multiples of those of people, or of a reference observer."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from snellen.analysis.studies.people import is_person
from snellen.analysis.tables import plots
from snellen.analysis.tables.cells import DASH
from snellen.analysis.tables.pivot import table_section
from snellen.analysis.tables.run_view import ReportArm, main_arms, result_rows, row_by_arm
from snellen.analysis.tables.section import ReportSection, Run, once_a_run
from snellen.core.score import ABOVE, BELOW, MEASURED
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import SIDE
from snellen.suites.thresholds.published import NOISE, NORMS, REFERENCE, SAME_REFERENCE, arcmin
from snellen.suites.thresholds.scoring import amount, digits, estimate_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_MEASURABLE = "not measurable at this distance"
"""In place of a threshold of a person that is smaller than what the pixels of the screen show."""
ARCMIN = "arcmin", 1, 1.0
ANGLES = {"acuity": ARCMIN, "crowded-acuity": ARCMIN, "vernier": ("arcsec", 60, 0.0)}
"""The tasks whose thresholds are lengths on the screen: the unit of the angle, the number of units in a minute of arc,
and the pixels below which a screen cannot show the length (offsets below one are shown by shades of grey)."""
ENDS = {BELOW: -math.inf, ABOVE: math.inf}


class PersonThreshold(NamedTuple):
    """The threshold of one person, its bound or the reason for none. Pixels per cm and distance are NaN if unknown."""

    name: str
    reason: str
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
        if is_person(arm) and row is not None:
            size = (float(arm.attributes.get(name, math.nan)) for name in ("px_per_cm", "distance_cm"))
            thresholds.append(PersonThreshold(arm.subject, row.grade.threshold, row.value, row.low, row.high, *size))
    return thresholds


def median_of(thresholds: Sequence[PersonThreshold]) -> Median | None:
    """The median of people with a threshold or a bound; None without any, or if it is beyond the levels."""
    logs = [ENDS.get(t.reason, math.log(t.value)) for t in thresholds if t.reason in (MEASURED, *ENDS)]
    middle = median(logs) if logs else math.nan
    return Median(math.exp(middle), len(logs)) if math.isfinite(middle) else None


def medians(run: Run) -> dict[str, Median]:
    """The medians of all people of a run, by the tasks that have one; of judgements those of the spread."""
    return {task: of_people for task in MEASURES if (of_people := median_of(people_thresholds(run, task)))}


def angle_text(task: str, threshold: PersonThreshold) -> str:
    """The threshold of a person at a known distance as an angle with its interval, a bound, or the reason for none."""
    unit, per_arcmin, least_px = ANGLES[task]
    if threshold.reason == BELOW or threshold.value < least_px:
        return NOT_MEASURABLE
    if threshold.reason not in (MEASURED, ABOVE):
        return threshold.reason
    value, low, high = (
        digits(per_arcmin * arcmin(end, threshold.distance_cm, threshold.px_per_cm))
        for end in (threshold.value, threshold.low, threshold.high)
    )
    return f"{value} {unit} [{low}, {high}]" if threshold.reason == MEASURED else f"more than {value} {unit}"


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


# The profile


class Multiple(NamedTuple):
    """A threshold as a multiple of a unit; without an interval it is a bound."""

    task: str
    reason: str
    value: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """`x5.61 [3.90, 7.70]`, or the bound."""
        if self.reason == MEASURED:
            return f"x{digits(self.value)} [{digits(self.low)}, {digits(self.high)}]"
        return f"{ {BELOW: 'less', ABOVE: 'more'}[self.reason] } than x{digits(self.value)}"


def reference_units() -> dict[str, float]:
    """The thresholds of the reference observer by task, in the units of the tasks."""
    return {task: REFERENCE[name] for task in MEASURES if (name := SAME_REFERENCE.get(task, task)) in REFERENCE}


def multiples(by_task: Mapping[str, Sequence[Any]], unit_by_task: Mapping[str, float]) -> dict[str, list[Multiple]]:
    """The thresholds of each subject by its name, as multiples of these units of the tasks."""
    by_name: dict[str, list[Multiple]] = {}
    for task, thresholds in by_task.items():
        for threshold in thresholds:
            of_subject = by_name.setdefault(threshold.name, [])
            if task in unit_by_task and threshold.reason in (MEASURED, BELOW, ABOVE):
                ends = (end / unit_by_task[task] for end in (threshold.value, threshold.low, threshold.high))
                of_subject.append(Multiple(task, threshold.reason, *ends))
    return {name: of_subject for name, of_subject in by_name.items() if of_subject}


def in_words(of_subject: Sequence[Multiple], norm: str = "the reference") -> str:
    """Which measures are best and worst as compared with the norm, if their intervals are apart."""
    measured = sorted((m for m in of_subject if m.reason == MEASURED), key=lambda multiple: multiple.value)
    if len(measured) < 2 or measured[0].high >= measured[-1].low:
        return "no clear difference between the measures"
    factor = digits(measured[-1].value / measured[0].value)
    return f"best at {measured[0].task}, and {factor} times as far from {norm} at {measured[-1].task}"


def profile(by_task: Mapping[str, Sequence[Any]], medians: Mapping[str, Median]) -> Iterator[ReportSection]:
    """The sections in units of people, by their `medians`, and of a reference observer.

    Each needs a subject with a threshold in two measures that have the unit.
    """
    people = sorted({of_people.people for of_people in medians.values()})
    count = " to ".join(map(str, people[:: max(1, len(people) - 1)]))
    note = (
        f"Thresholds as multiples of the median threshold of {count} {'person' if people == [1] else 'people'} in this "
        "report. They compare measures that have different units: x1 is as good as these people, x2 needs twice as "
        "much. People sat where they chose to; those who did not understand a question are not counted. Of judgements "
        "the threshold is the spread. Bars are 95 % credible intervals, which do not cover other people."
    )
    units = {task: of_people.value for task, of_people in medians.items()}
    yield from _section("profile-people", by_task, units, note, "people", "the people")
    side = {task: [t for t in thresholds if t.result.side == SIDE] for task, thresholds in by_task.items()}
    note = (
        f"Thresholds as multiples of those of a reference observer, which knows everything of an image but the answer, "
        f"and sees it with noise of {NOISE:g} grey levels in every pixel. They compare measures that have different "
        "units: a subject that uses what the pixels tell equally well everywhere has one multiple. Subjects get images "
        "without this noise, so multiples below 1 are common and do not mean better than possible; another noise would "
        "move all of them about alike. Bars are 95 % credible intervals. Number, judgements and pointing have no such "
        "observer."
    )
    yield from _section("profile", side, reference_units(), note, "a reference observer", "the reference")


def _section(
    name: str, by_task: Mapping[str, Sequence[Any]], unit_by_task: Mapping[str, float], note: str, unit: str, norm: str
) -> Iterator[ReportSection]:
    by_name = multiples(by_task, unit_by_task)
    tasks = [task for task in by_task if any(m.task == task for of_subject in by_name.values() for m in of_subject)]
    if len(tasks) < 2:
        return
    rows = []
    for subject, of_subject in by_name.items():
        texts = {multiple.task: multiple.text for multiple in of_subject}
        rows.append([subject, *(texts.get(task, DASH) for task in tasks), in_words(of_subject, norm)])
    rows.append([f"unit (x1): {unit}", *(amount(unit_by_task[task], MEASURES[task]) for task in tasks), DASH])
    names, title = ["subject", *tasks, "in words"], f"Profile in units of {unit}"
    figure = partial(draw_profile, list(by_name.items())[: plots.MAX_SERIES], tasks, unit)
    yield from table_section(title, note, names, rows, name, figure)


def draw_profile(series: Sequence[tuple[str, Any]], tasks: Sequence[str], unit: str) -> Figure:
    """One row per task: multiples of a unit with their intervals; bounds are hollow."""
    figure, (axes,) = plots.panel_figure(1, (7.2, 0.55 * len(tasks) + 1.6))
    for index, (name, multiples) in enumerate(series):
        appearance, offset = plots.series_appearance(index), plots.side_by_side(index, len(series), 0.6 / len(series))
        axes.plot([], [], linestyle="none", label=plots.two_lines(name, 40), **appearance)
        for multiple in multiples:
            y = tasks.index(multiple.task) + offset
            style = {**appearance, "markerfacecolor": "white" if np.isnan(multiple.low) else appearance["color"]}
            plots.draw_levels(axes, [multiple], [y], horizontal=True, linestyle="none", **style)
    axes.axvline(1.0, color=plots.MUTED, linestyle="--", linewidth=0.9)
    axes.set(xscale="log", xlabel=f"threshold, in units of {unit}")
    least, most = axes.get_xlim()
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200) if least <= tick <= most]
    axes.set_xticks(ticks, [f"x{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(tasks)), list(tasks))
    axes.invert_yaxis()
    plots.plain_axes(axes)
    figure.legend(loc="outside lower left", ncols=2, fontsize=8.5)
    return figure
