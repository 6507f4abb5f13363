"""The profile of a subject: its thresholds as multiples of those of an ideal observer with noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from snellen.analysis.cells import DASH
from snellen.analysis.plots import MAX_SERIES
from snellen.analysis.section import ReportSection
from snellen.core.score import ABOVE, BELOW, MEASURED, NOT_UNDERSTOOD
from snellen.suites.thresholds.measures.measure import SIDE
from snellen.suites.thresholds.published import IDEAL, NOISE, SAME_IDEAL
from snellen.suites.thresholds.report import figures
from snellen.suites.thresholds.scoring import digits


class Multiple(NamedTuple):
    """A threshold as a multiple of the ideal observer's; without an interval it is a bound."""

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


def multiples(by_task: Mapping[str, Sequence[Any]]) -> dict[str, list[Multiple]]:
    """The multiples of each subject, by its name. `by_task` has thresholds in the units of the tasks."""
    by_name: dict[str, list[Multiple]] = {}
    for task, thresholds in by_task.items():
        ideal = IDEAL.get(SAME_IDEAL.get(task, task))
        for threshold in thresholds:
            of_subject = by_name.setdefault(threshold.name, [])
            if ideal is not None and threshold.result.side == SIDE and threshold.state != NOT_UNDERSTOOD:
                ends = (end / ideal for end in (threshold.value, threshold.low, threshold.high))
                of_subject.append(Multiple(task, threshold.state, *ends))
    return {name: of_subject for name, of_subject in by_name.items() if of_subject}


def in_words(of_subject: Sequence[Multiple]) -> str:
    """Which measures are best and worst, if their intervals are apart."""
    measured = sorted((m for m in of_subject if m.state == MEASURED), key=lambda multiple: multiple.value)
    if len(measured) < 2 or measured[0].high >= measured[-1].low:
        return "no clear difference between the measures"
    factor = digits(measured[-1].value / measured[0].value)
    return f"best at {measured[0].task}, and {factor} times as far from the ideal at {measured[-1].task}"


def profile(by_task: Mapping[str, Sequence[Any]]) -> Iterator[ReportSection]:
    """The section, if a subject has a threshold in two measures that have an ideal observer."""
    by_name = multiples(by_task)
    tasks = [task for task in by_task if any(m.task == task for of_subject in by_name.values() for m in of_subject)]
    if len(tasks) < 2:
        return
    note = (
        f"Thresholds as multiples of those of an ideal observer, which knows everything of an image but the answer, "
        f"and sees it with noise of {NOISE:g} grey levels in every pixel. They compare measures that have different "
        "units: a subject that uses what the pixels tell equally well everywhere has one multiple. Subjects get images "
        "without this noise, so a multiple below 1 is possible; another noise would move all of them about alike. Bars "
        "are 95 % credible intervals. Number and judgements have no such observer."
    )
    rows = []
    for name, of_subject in by_name.items():
        texts = {multiple.task: multiple.text for multiple in of_subject}
        rows.append([name, *(texts.get(task, DASH) for task in tasks), in_words(of_subject)])
    table = pd.DataFrame(rows, columns=["subject", *tasks, "in words"])
    figure = partial(figures.profile, list(by_name.items())[:MAX_SERIES], tasks)
    yield ReportSection("Profile in units of an ideal observer", note, table, figure, "profile")
