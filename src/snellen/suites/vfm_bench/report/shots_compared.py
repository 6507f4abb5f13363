"""Accuracy by number of shots, with efficiency and effectiveness (Table 1, Figure 3, equations 2 and 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd

from snellen.analysis.cells import DASH, percent
from snellen.analysis.section import ReportSection, Run
from snellen.analysis.shot_curves import Interval, delta, delta_above_chance, eta, eta_above_chance
from snellen.suites.vfm_bench.report import figures
from snellen.suites.vfm_bench.report.run_view import (
    Line,
    cell,
    chance_of,
    counts,
    derived,
    no_gain_reason,
    no_room_reason,
    result_rows,
    told_interval,
)

MEANING = (
    "Efficiency (eta) is the mean gain of all numbers of shots over none as a share of the largest one, effectiveness "
    "(delta) as a share of all there was to gain"
)


@dataclass(frozen=True)
class Learnt:
    """What one subject makes of more shots: a row of results by shots, eta and delta (fractions, NaN if undefined)."""

    line: Line
    rows: Mapping[int, Any]
    eta: Interval
    delta: Interval


def learnt(run: Run, lines: Sequence[Line]) -> list[Learnt]:
    """The lines with their derived numbers, each over the items that it was heard on at all its numbers of shots."""
    rows = result_rows(run)
    return [
        Learnt(
            line,
            {shots: rows[line.subject, condition][""] for shots, condition in line.conditions.items()},
            told_interval(eta, [line.heard()], "eta", line.name),
            told_interval(delta, [line.heard()], "delta", line.name),
        )
        for line in lines
        if any((line.subject, condition) in rows for condition in line.conditions.values())
    ]


def sections(run: Run, lines: Sequence[Line]) -> Iterator[ReportSection]:
    """Table 1 with Figure 3, and the same above chance where some subject cannot do without demos."""
    found = learnt(run, lines)
    if found:
        yield table_1(found)
        yield from above_chance(lines)


def table_1(found: Sequence[Learnt]) -> ReportSection:
    """Subjects by shots, percent with interval; the random policy below."""
    shots = sorted({count for one in found for count in one.rows})
    cells = [
        [
            one.line.subject,
            counts(int(row.n) for row in one.rows.values() if row.n),
            *(cell(one.rows.get(count)) for count in shots),
            derived(one.eta, no_gain_reason(one.line.curve())),
            derived(one.delta, no_room_reason(one.line.curve())),
        ]
        for one in found
    ]
    heard = pd.concat([one.line.heard() for one in found])
    chances = {count: chance_of(heard[heard["shots"] == count]) for count in shots}
    guessed = [f"{100 * chances[count]:.1f}" if not math.isnan(chances[count]) else DASH for count in shots]
    cells.append(["(random policy)", counts([heard["item_id"].nunique()]), *guessed, DASH, DASH])
    note = (
        "Percent right with 95 % interval, by the number of solved examples of every class (shots). The random policy "
        "is exact: the mean of one over the number of classes. "
        f"{MEANING}: both in percent, over the items heard at all the numbers "
        "of shots a subject has, with whole concepts drawn again for the interval. Who was asked at other "
        "numbers of shots has other means. Neither is defined without an answer at 0 shots, efficiency not where "
        "nothing is gained, effectiveness not where 0 shots are perfect."
    )
    frame = pd.DataFrame(cells, columns=["subject", "items", *map(_head, shots), "efficiency", "effectiveness"])
    return ReportSection(
        "Accuracy by shots (Table 1, Figure 3)", note, frame, partial(figures.by_shots, found, chances), "table-1"
    )


def _head(shots: int) -> str:
    return f"{shots} shot" if shots == 1 else f"{shots} shots"


def above_chance(lines: Sequence[Line]) -> Iterator[ReportSection]:
    """Efficiency and effectiveness with exact chance in the place of zero shots, for all; only where one needs it."""
    asked = [line for line in lines if max(line.shots, default=0) > 0]
    if all(0 in line.shots for line in asked):
        return
    cells = []
    for line in asked:
        heard = line.heard(k for k in line.shots if k > 0)
        arms = [heard, heard.drop_duplicates("item_id").assign(shots=0, value=lambda rows: rows["chance"])]
        told = [
            told_interval(lambda curve, base: eta_above_chance(curve, base[0]), arms, "eta above chance", line.name),
            told_interval(
                lambda curve, base: delta_above_chance(curve, base[0]), arms, "delta above chance", line.name
            ),
        ]
        base = percent(chance_of(heard), 200)
        cells.append([line.subject, base, derived(told[0], "undefined: no gain"), derived(told[1], "undefined")])
    note = (
        "Encoders know no names and cannot answer without demos. Here chance (exact, of the items they were heard on) "
        "stands for everyone in the place of what zero shots would give, so that these numbers compare with each other "
        f"and never with those of Table 1. {MEANING}; percent with 95 % interval."
    )
    names = ["subject", "chance", "efficiency above chance", "effectiveness above chance"]
    frame = pd.DataFrame(cells, columns=names)
    yield ReportSection("The same with chance in the place of zero shots", note, frame, None, "table-1-above-chance")
