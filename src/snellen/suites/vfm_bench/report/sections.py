"""The report's sections for VFM Bench: the paper's tables and figures, made from our runs.

Printed numbers (`published.py`) are shown only by `--compare published`, never in these tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd

from snellen.analysis.cells import DASH, percent, value_range
from snellen.analysis.people import is_study
from snellen.analysis.pivot import table_section
from snellen.analysis.run_view import ReportArm
from snellen.analysis.section import ReportSection, Run
from snellen.analysis.shot_curves import delta, delta_above_chance, eta, eta_above_chance
from snellen.suites.vfm_bench.report import ablations, by_industry, confusions, figures, reasoning
from snellen.suites.vfm_bench.report.derived_cells import (
    accuracy_cell,
    derived_cell,
    derived_interval,
    guess_accuracy,
    no_gain_reason,
    no_room_reason,
)
from snellen.suites.vfm_bench.report.shot_series import ShotGains, ShotSeries, accuracy_rows, in_main_setting, series_of

MEANING = (
    "Efficiency (eta) is the mean gain over 0 shots, across all numbers of shots, as a share of the largest gain; "
    "effectiveness (delta) is the mean gain as a share of the largest possible one"
)


def sections(run: Run) -> Iterator[ReportSection]:
    """The sections for which the run has numbers: Table 1, findings, Table 4, Figure 7, then our own."""
    series = series_of(run)
    plain = in_main_setting(series)
    if gains := shot_gains(run, plain):
        yield from table_1(gains)
        yield from above_chance(plain)
    yield from reasoning.sections(run, plain)
    yield from ablations.sections(run, series)
    yield from by_industry.sections(run, plain)
    yield from confusions.sections(run, plain)


# Accuracy by number of shots, with efficiency and effectiveness (Table 1, Figure 3, equations 2 and 3)


def shot_gains(run: Run, plain: Sequence[ShotSeries]) -> list[ShotGains]:
    """The series with their derived numbers, each over the items scored at all its numbers of shots."""
    rows = accuracy_rows(run)
    return [
        ShotGains(
            series,
            {shots: rows[ReportArm(series.subject, condition)][""] for shots, condition in series.conditions.items()},
            derived_interval(eta, [series.scored()], "eta", series.name),
            derived_interval(delta, [series.scored()], "delta", series.name),
        )
        for series in plain
        if any(ReportArm(series.subject, condition) in rows for condition in series.conditions.values())
    ]


def table_1(gains: Sequence[ShotGains]) -> Iterator[ReportSection]:
    """Subjects by shots, percent with interval, and the random policy."""
    shots = sorted({count for gain in gains for count in gain.rows})
    cells = [
        [
            gain.series.subject,
            value_range(int(row.n) for row in gain.rows.values() if row.n),
            *(accuracy_cell(gain.rows.get(count)) for count in shots),
            derived_cell(gain.eta, no_gain_reason(gain.series.curve())),
            derived_cell(gain.delta, no_room_reason(gain.series.curve())),
        ]
        for gain in gains
    ]
    scores = pd.concat([gain.series.scored() for gain in gains])
    chances = {count: guess_accuracy(scores[scores["shots"] == count]) for count in shots}
    guesses = [f"{100 * chances[count]:.1f}" if not math.isnan(chances[count]) else DASH for count in shots]
    cells.append(["(random policy)", value_range([scores["item_id"].nunique()]), *guesses, DASH, DASH])
    note = (
        "Percent right with 95 % interval, by the number of solved examples per class (shots). The random policy is "
        "exact: the mean of one over the number of classes. "
        f"{MEANING}. Both are in percent, over the items scored at all of a "
        "subject's numbers of shots, with intervals from resampled concepts. Their means depend on the numbers of "
        "shots run. Neither is defined without 0 shots; efficiency is undefined without any gain, effectiveness if 0 "
        "shots are perfect."
    )
    if any(is_study(gain.series.subject) for gain in gains):
        note += (
            " People answered at some numbers of shots only. Their accuracies have intervals over people and items, "
            "efficiency and effectiveness over items alone."
        )
    heads = ("1 shot" if count == 1 else f"{count} shots" for count in shots)
    names = ["subject", "items", *heads, "efficiency", "effectiveness"]
    figure = partial(figures.by_shots, gains, chances)
    yield from table_section("Accuracy by shots (Table 1, Figure 3)", note, names, cells, "table-1", figure)


def above_chance(plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Efficiency and effectiveness with exact chance instead of 0 shots, for all subjects, if one lacks 0 shots."""
    with_demos = [series for series in plain if max(series.shots, default=0) > 0]
    if all(0 in series.shots for series in with_demos):
        return
    cells = []
    for series in with_demos:
        scores = series.scored(k for k in series.shots if k > 0)
        arms = [scores, scores.drop_duplicates("item_id").assign(shots=0, value=lambda rows: rows["chance"])]
        numbers = [
            derived_interval(lambda curve, base, f=f: f(curve, base[0]), arms, f"{name} above chance", series.name)
            for name, f in (("eta", eta_above_chance), ("delta", delta_above_chance))
        ]
        derived = derived_cell(numbers[0], "undefined: no gain"), derived_cell(numbers[1], "undefined")
        cells.append([series.subject, percent(guess_accuracy(scores), 200), *derived])
    note = (
        "Encoders know no names and cannot answer without demos. Here exact chance on the scored items replaces the "
        "accuracy at 0 shots for all subjects, so these numbers can be compared with each other but not with those of "
        f"Table 1. {MEANING}. Percent with 95 % interval."
    )
    names = ["subject", "chance", "efficiency above chance", "effectiveness above chance"]
    yield from table_section("The same with chance instead of 0 shots", note, names, cells, "table-1-above-chance")
