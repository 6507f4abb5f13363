"""Further instalments of a checkup's sets: those that decide the most scores for their time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from snellen.analysis.grading.deciding import units_to_decide
from snellen.analysis.grading.rows import ResultRow
from snellen.core.build_options import BuildOptions
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import ItemSetCard
from snellen.core.subject import Subject
from snellen.exam.checkup_sets import Battery, drawing_seconds, plan_of
from snellen.exam.examination import Examination
from snellen.exam.session import undecided

MAX_ITEMS = 2000
"""More than the instalments have: their number is the limit."""
SECONDS_AN_ITEM = 0.03
"""Seconds in which all packaged subjects are asked about an item, and their scores decided."""
MORE_SECONDS = 180
"""Seconds after which no further instalment is drawn with `more`."""


def grow(
    batteries: Sequence[Battery],
    subjects: Sequence[str | Subject],
    examinations: dict[str, Examination],
    deadline: float,
    run_set: Callable[[Battery, ItemSet, int | None], Examination],
    draw_next_instalment: Callable[[ItemSet], bool],
) -> float:
    """Draw and ask further instalments until the deadline, and replace the examinations.

    The next instalments are those expected to decide the most scores of subjects for their time; if none is, one of the
    set with the most undecided scores. The time of a set's first instalment is planned, at the pace of the others on
    this machine; that of later ones is measured. While instalments of one set are asked, `draw_next_instalment` draws
    one of the set whose turn is next. Returns the pace: the mean ratio of measured to planned times, 1 without any.
    """
    by_suite = {battery.suite: battery for battery in batteries}
    planned = {name: _instalment_seconds(battery.options) for name, battery in by_suite.items()}
    instalments_needed, measured, drawn_ahead = dict[str, list[float]](), dict[str, float](), set[str]()
    while True:
        pace = fmean([measured[name] / planned[name] for name in measured] or [1.0])
        seconds = {name: measured.get(name, pace * planned[name]) for name in by_suite}
        for name in [name for name in by_suite if name not in instalments_needed]:
            card = examinations[name].items.card
            scores = undecided(examinations[name], subjects, MAX_ITEMS) if card.instalments_left else []
            instalments_needed[name] = [
                _instalments_needed(growth, card) for who, _, growth in scores if who.role != "simulated"
            ]
        left = deadline - time.monotonic()
        if not any(instalments_needed.values()) or left <= 0:
            return pace
        most = max(by_suite, key=lambda name: len(instalments_needed[name]) / seconds[name])
        name, count = _next_instalments(instalments_needed, seconds, left) or (
            most, _to_look(1, examinations[most].items.card)
        )  # fmt: skip
        items, start = examinations[name].items, time.monotonic()
        following = _next_instalments({**instalments_needed, name: []}, seconds, left - count * seconds[name])
        is_ahead = following is not None and draw_next_instalment(examinations[following[0]].items)
        before = len(items.card.instalments)
        most_instalments = before + (count if name in measured else _to_look(1, items.card))
        examinations[name] = run_set(by_suite[name], items, most_instalments)
        added = len(examinations[name].items.card.instalments) - before
        if added and name not in drawn_ahead:
            measured[name] = (time.monotonic() - start) / added
        drawn_ahead.discard(name)
        if following is not None and is_ahead:
            drawn_ahead.add(following[0])
        del instalments_needed[name]


def _instalments_needed(growth: float, card: ItemSetCard) -> float:
    """The number of further instalments that make a set this many times as large; infinite if fewer are left.

    It ends at a planned look, if one follows.
    """
    if not math.isfinite(growth):
        return math.inf
    needed = _to_look(max(1, math.ceil((growth - 1) * len(card.instalments))), card)
    return needed if needed <= card.instalments_left else math.inf


def _to_look(needed: int, card: ItemSetCard) -> int:
    """The number of further instalments, at least `needed`, up to the next planned look; `needed` if none follows."""
    drawn, looks = len(card.instalments), card.declaration.planned_looks if card.declaration else ()
    return next((look - drawn for look in looks if look - drawn >= needed), needed)


def _next_instalments(
    instalments_needed: Mapping[str, Sequence[float]], seconds: Mapping[str, float], left: float
) -> tuple[str, int] | None:
    """The set, and the number of its instalments, that decide the most scores for their time; None if none in `left`.

    `instalments_needed` has the number that each undecided score needs, `seconds` the time of one instalment.
    """
    choices = {
        (name, int(count)): sum(needed <= count for needed in scores) / (count * seconds[name])
        for name, scores in instalments_needed.items()
        for count in scores
        if count * seconds[name] <= left
    }
    return max(choices, key=lambda choice: choices[choice], default=None)


def expected_decisions(
    too_few: Sequence[ResultRow], batteries: Sequence[Battery], examinations: Mapping[str, Examination], pace: float
) -> int:
    """About the number of these scores that `more` would decide, by the units that they need (`units_to_decide`).

    `pace` is the ratio of the time that instalments take on this machine to the planned one.
    """
    from snellen.reports.rows import metric_in

    instalments_needed: dict[str, list[float]] = {}
    seconds = {battery.suite: pace * _instalment_seconds(battery.options) for battery in batteries}
    for row in [row for row in too_few if row.suite in seconds]:
        examination = examinations[row.suite]
        growth = units_to_decide(row, metric_in(examination.suite, row)) / row.n
        instalments_needed.setdefault(row.suite, []).append(_instalments_needed(growth, examination.items.card))
    left, decided = float(MORE_SECONDS), 0
    while choice := _next_instalments(instalments_needed, seconds, left):
        name, count = choice
        decided += sum(needed <= count for needed in instalments_needed[name])
        instalments_needed[name] = [needed - count for needed in instalments_needed[name] if needed > count]
        left -= count * seconds[name]
    return decided


def _instalment_seconds(options: BuildOptions) -> float:
    """The planned seconds of drawing and asking a further instalment of a set."""
    instalment = replace(options, test_only=True, tasks=options.instalment_tasks or options.tasks)
    plan = plan_of(instalment)
    return drawing_seconds(plan) + SECONDS_AN_ITEM * float(sum(plan["items"].values()))
