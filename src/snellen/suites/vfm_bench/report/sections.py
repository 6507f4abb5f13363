"""The report's sections for VFM Bench: the paper's tables and figures, made from our runs.

Printed numbers (`published.py`) are shown only by `--compare published`, never in these tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, percent, value_range
from snellen.analysis.people import is_study
from snellen.analysis.pivot import table_section
from snellen.analysis.plots import (
    MAX_SERIES,
    MUTED,
    SERIES,
    draw_levels,
    legend_below,
    panel_figure,
    percent_axis,
    plain_axes,
    series_appearance,
    two_lines,
)
from snellen.analysis.run_view import ReportArm, examined
from snellen.analysis.section import ReportSection, Run
from snellen.analysis.shot_curves import Curve, DerivedInterval, delta, delta_above_chance, eta, eta_above_chance
from snellen.suites.vfm_bench.report.ablations import causes, changes, every_change, strategies
from snellen.suites.vfm_bench.report.by_industry import by_industry
from snellen.suites.vfm_bench.report.confusions import confused_classes
from snellen.suites.vfm_bench.report.reasoning import reasoning
from snellen.suites.vfm_bench.report.shot_series import (
    ShotSeries,
    accuracy_cell,
    accuracy_rows,
    derived_cell,
    derived_interval,
    guess_accuracy,
    in_main_setting,
    series_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    yield from reasoning(run, plain)
    yield from causes(run, series)
    all_changes = changes(series)
    yield from strategies(series, all_changes)
    yield from every_change(all_changes)
    yield from by_industry(run, plain)
    yield from confused_classes(run, plain)


# Accuracy by number of shots, with efficiency and effectiveness (Table 1, Figure 3, equations 2 and 3)


@dataclass(frozen=True)
class ShotGains:
    """The gains of one subject from shots: a row of results by shots, eta and delta (fractions, NaN if undefined)."""

    series: ShotSeries
    rows: Mapping[int, Any]
    eta: DerivedInterval
    delta: DerivedInterval


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
    figure = partial(by_shots, gains, chances)
    yield from table_section("Accuracy by shots (Table 1, Figure 3)", note, names, cells, "table-1", figure)


def no_gain_reason(curve: Curve) -> str:
    """The reason, in words, that a curve has no efficiency."""
    return _no_base_reason(curve) or "undefined: no gain"


def no_room_reason(curve: Curve) -> str:
    """The reason, in words, that a curve has no effectiveness."""
    return _no_base_reason(curve) or "undefined: perfect at 0 shots"


def _no_base_reason(curve: Curve) -> str:
    if 0 not in curve:
        return "undefined: no 0 shots"
    return "" if len(curve) > 1 else "undefined: no demos"


def by_shots(gains: Sequence[ShotGains], chances: Mapping[int, float]) -> Figure:
    """Accuracy against shots with interval bands and chance, next to efficiency and effectiveness (Figure 3).

    Efficiency or effectiveness is left out if it is undefined for all subjects.
    """
    in_figure = examined([gain.series for gain in gains])[:MAX_SERIES]
    gains = [gain for gain in gains if gain.series in in_figure]
    derived = {"efficiency η": [gain.eta for gain in gains], "effectiveness δ": [gain.delta for gain in gains]}
    derived = {name: numbers for name, numbers in derived.items() if not all(math.isnan(n.value) for n in numbers)}
    size = 7 + 2.2 * len(derived), 3.5 + 0.16 * len(gains)
    figure, (curves, *beside) = panel_figure(1 + len(derived), size, width_ratios=[2.2] + [1] * len(derived))
    for index, gain in enumerate(gains):
        rows = {shots: row for shots, row in gain.rows.items() if row.n}
        shots, accuracy = list(rows), [row.value for row in rows.values()]
        curves.plot(shots, accuracy, linewidth=1.6, label=two_lines(gain.series.name), **series_appearance(index))
        low, high = ([getattr(row, end) for row in rows.values()] for end in ("low", "high"))
        curves.fill_between(shots, low, high, color=SERIES[index % len(SERIES)], alpha=0.13, linewidth=0)
    known_chances = {shots: chance for shots, chance in chances.items() if not math.isnan(chance)}
    appearance: dict[str, Any] = {"color": MUTED, "linewidth": 1.2, "linestyle": "--", "label": "random policy"}
    curves.plot(list(known_chances), list(known_chances.values()), **appearance)
    curves.set_xticks(sorted(chances))
    curves.set_xlabel("solved examples of every class")
    curves.set_title("accuracy")
    percent_axis(curves)
    for axes, (name, numbers) in zip(beside, derived.items(), strict=True):
        _draw_derived(axes, name, numbers)
    legend_below(figure, curves)
    return figure


def _draw_derived(axes: Axes, title: str, numbers: Sequence[DerivedInterval]) -> None:
    """One dot with interval per subject, in the colour of its line; undefined numbers are marked as such."""
    for index, derived in enumerate(numbers):
        if math.isnan(derived.value):
            axes.annotate("undefined", (0.02, index), xycoords=("axes fraction", "data"), va="center", color=MUTED)
            continue
        draw_levels(axes, [derived], [index], horizontal=True, elinewidth=1.3, **series_appearance(index))
    axes.set_ylim(len(numbers) - 0.4, -0.6)
    axes.set_yticks([])
    defined = [derived for derived in numbers if not math.isnan(derived.value)]
    lowest = min([0.0, *(np.nanmin([derived.value, derived.low]) for derived in defined)])
    axes.set_xlim(max(-1.0, lowest) - 0.04, 1.04)
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}")
    axes.set_title(f"{title}, %")
    plain_axes(axes, "x")


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
