"""The profile of a subject: its thresholds as multiples of those of an ideal observer with noise, or of people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from snellen.analysis import plots
from snellen.analysis.cells import DASH
from snellen.analysis.pivot import table_section
from snellen.analysis.section import ReportSection
from snellen.core.score import ABOVE, BELOW, MEASURED
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import SIDE
from snellen.suites.thresholds.published import IDEAL, NOISE, SAME_IDEAL
from snellen.suites.thresholds.report.people import Median
from snellen.suites.thresholds.scoring import amount, digits

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Multiple(NamedTuple):
    """A threshold as a multiple of a unit; without an interval it is a bound."""

    task: str
    state: str
    value: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """`x5.61 [3.90, 7.70]`, or the bound."""
        if self.state == MEASURED:
            return f"x{digits(self.value)} [{digits(self.low)}, {digits(self.high)}]"
        return f"{ {BELOW: 'less', ABOVE: 'more'}[self.state] } than x{digits(self.value)}"


def ideal_units() -> dict[str, float]:
    """The thresholds of the ideal observer by task, in the units of the tasks."""
    return {task: IDEAL[name] for task in MEASURES if (name := SAME_IDEAL.get(task, task)) in IDEAL}


def multiples(by_task: Mapping[str, Sequence[Any]], unit_by_task: Mapping[str, float]) -> dict[str, list[Multiple]]:
    """The thresholds of each subject by its name, as multiples of these units of the tasks."""
    by_name: dict[str, list[Multiple]] = {}
    for task, thresholds in by_task.items():
        for threshold in thresholds:
            of_subject = by_name.setdefault(threshold.name, [])
            if task in unit_by_task and threshold.state in (MEASURED, BELOW, ABOVE):
                ends = (end / unit_by_task[task] for end in (threshold.value, threshold.low, threshold.high))
                of_subject.append(Multiple(task, threshold.state, *ends))
    return {name: of_subject for name, of_subject in by_name.items() if of_subject}


def in_words(of_subject: Sequence[Multiple], norm: str = "the ideal") -> str:
    """Which measures are best and worst as compared with the norm, if their intervals are apart."""
    measured = sorted((m for m in of_subject if m.state == MEASURED), key=lambda multiple: multiple.value)
    if len(measured) < 2 or measured[0].high >= measured[-1].low:
        return "no clear difference between the measures"
    factor = digits(measured[-1].value / measured[0].value)
    return f"best at {measured[0].task}, and {factor} times as far from {norm} at {measured[-1].task}"


def profile(by_task: Mapping[str, Sequence[Any]], medians: Mapping[str, Median]) -> Iterator[ReportSection]:
    """The sections in units of people, by their `medians`, and of an ideal observer.

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
        f"Thresholds as multiples of those of an ideal observer, which knows everything of an image but the answer, "
        f"and sees it with noise of {NOISE:g} grey levels in every pixel. They compare measures that have different "
        "units: a subject that uses what the pixels tell equally well everywhere has one multiple. Subjects get images "
        "without this noise, so a multiple below 1 is possible; another noise would move all of them about alike. Bars "
        "are 95 % credible intervals. Number and judgements have no such observer."
    )
    yield from _section("profile", side, ideal_units(), note, "an ideal observer", "the ideal")


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
            fill = "white" if np.isnan(multiple.low) else appearance["color"]
            axes.plot((multiple.low, multiple.high), (y, y), color=appearance["color"], linewidth=1.4)
            axes.plot([multiple.value], [y], linestyle="none", **appearance, markerfacecolor=fill)
    axes.axvline(1.0, color=plots.MUTED, linestyle="--", linewidth=0.9)
    axes.set_xscale("log")
    least, most = axes.get_xlim()
    ticks = [tick for tick in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200) if least <= tick <= most]
    axes.set_xticks(ticks, [f"x{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(tasks)), list(tasks))
    axes.invert_yaxis()
    axes.set_xlabel(f"threshold, in units of {unit}")
    plots.plain_axes(axes)
    figure.legend(loc="outside lower left", ncols=2, fontsize=8.5)
    return figure
