"""Reasoning models compared with their counterparts (finding 3 of section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH
from snellen.analysis.groups import counterparts
from snellen.analysis.pivot import table_section
from snellen.analysis.section import ReportSection, Run
from snellen.analysis.shot_curves import Curve, common, curve_of, delta, eta
from snellen.suites.vfm_bench.published import DELTA_GAIN, ETA_GAIN
from snellen.suites.vfm_bench.report.shot_series import ShotSeries, derived_cell, derived_interval

Statistic: TypeAlias = Callable[[Curve], float | None]
UNDEFINED = "undefined"


def mean_gap(statistic: Statistic, curves: Sequence[Curve]) -> float | None:
    """The mean of a statistic over reasoning models minus that over their counterparts; None if any is undefined.

    `curves` alternate between a reasoning model and its counterpart.
    """
    numbers = [statistic(curve) for curve in curves]
    defined = [number for number in numbers if number is not None]
    if not defined or len(defined) < len(numbers):
        return None
    return float(np.mean(defined[::2]) - np.mean(defined[1::2]))


def reasoning(run: Run, plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Eta and delta of every pair with their differences in points, and the means over the pairs."""
    by_name = {series.subject: series for series in plain if len(series.shots) > 1}
    compared = [(by_name[a], by_name[b]) for a, b in counterparts(run.card.arms) if a in by_name and b in by_name]
    cells = [[first.subject, second.subject, *_compare(first, second)] for first, second in compared]
    if len(compared) > 1:
        arms = [arm for first, second in compared for arm in _at_common_shots(first, second)]
        gaps = [_gap_cell(statistic, arms, "all") for statistic in (eta, delta)]
        cells.append([f"(mean of {len(compared)} pairs)", "", DASH, DASH, gaps[0], DASH, DASH, gaps[1]])
    note = (
        "Efficiency (eta) and effectiveness (delta) in percent, and the first subject's minus the second's in "
        "percentage points with 95 % interval (concepts resampled jointly), on the items scored in both at all numbers "
        "of shots that both have. Pairs are those named by subjects (attributes reasoning and counterpart), and one "
        "model with and without reasoning effort. The paper prints means over three pairs: "
        f"{ETA_GAIN:+.1f} in efficiency and {DELTA_GAIN:+.1f} in effectiveness, written as percent; they are points."
    )
    names = ["reasons", "counterpart", "efficiency", "its", "difference", "effectiveness", "its ", "difference "]
    yield from table_section("Reasoning models and their counterparts (Finding 3)", note, names, cells, "reasoning")


def _at_common_shots(first: ShotSeries, second: ShotSeries) -> list[pd.DataFrame]:
    shots = set(first.shots) & set(second.shots)
    return [first.scored(shots), second.scored(shots)]


def _compare(first: ShotSeries, second: ShotSeries) -> Iterator[str]:
    """Eta of both and the difference, then delta of both and the difference."""
    arms = _at_common_shots(first, second)
    if any(arm.empty for arm in arms) or (on_common_items := common(arms))[0].empty:
        yield from [DASH] * 6
        return
    curves = [curve_of(arm) for arm in on_common_items]
    for statistic in (eta, delta):
        for curve in curves:
            number = statistic(curve)
            yield UNDEFINED if number is None else f"{100 * number:.1f}"
        yield _gap_cell(statistic, arms, first.subject, second.subject)


def _gap_cell(statistic: Statistic, arms: Sequence[pd.DataFrame], *key: str) -> str:
    gap = derived_interval(lambda *curves: mean_gap(statistic, curves), arms, "reasoning", statistic.__name__, *key)
    # Written with one decimal, since differences of ratios are small.
    return derived_cell(gap._replace(items=max(gap.items, 200)) if gap.items else gap, UNDEFINED, "+")
