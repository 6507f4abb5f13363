"""Models that reason against their counterparts that do not (finding 3 of section 4.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH
from snellen.analysis.section import ReportSection, Run
from snellen.analysis.shot_curves import Curve, Interval, common, curve_of, delta, eta
from snellen.core.runfolder import ArmCard
from snellen.suites.vfm_bench.published import DELTA_GAIN, ETA_GAIN
from snellen.suites.vfm_bench.report.run_view import Line, derived, told_interval

Statistic: TypeAlias = Callable[[Curve], float | None]
NO = ("", "no", "false", "0")
"""What the attribute `reasoning` holds where a subject does not reason."""
UNDEFINED = "undefined"


def pairs(arms: Sequence[ArmCard]) -> list[tuple[str, str]]:
    """(who reasons, the counterpart) by name, each pair once, in the order of the run.

    Told by the attributes `reasoning` and `counterpart` (the name of another subject of the run); or one model with and
    without reasoning: settings that differ in `reasoning_effort` alone, which is `none` for the counterpart.
    """
    cards = {arm.subject: arm for arm in reversed(arms)}
    found = []
    for arm in reversed(cards.values()):
        told = arm.attributes.get("counterpart", "")
        if told in cards and arm.attributes.get("reasoning", "").lower() not in NO:
            found.append((arm.subject, told))
        effort = arm.settings.get("reasoning_effort")
        twin = {**arm.settings, "reasoning_effort": "none"}
        if effort not in (None, "none"):
            found += [(arm.subject, name) for name, card in cards.items() if card.settings == twin]
    return list(dict.fromkeys(found))


def mean_gap(statistic: Statistic, curves: Sequence[Curve]) -> float | None:
    """The mean of a statistic over who reasons minus that over the counterparts; None where one is not defined.

    `curves` alternate: one who reasons, its counterpart, the next one.
    """
    values = [statistic(curve) for curve in curves]
    told = [value for value in values if value is not None]
    if not told or len(told) < len(values):
        return None
    return float(np.mean(told[::2]) - np.mean(told[1::2]))


def sections(run: Run, lines: Sequence[Line]) -> Iterator[ReportSection]:
    """Eta and delta of every pair with their differences in points, and the means over the pairs."""
    by_name = {line.subject: line for line in lines if len(line.shots) > 1}
    held = [(by_name[a], by_name[b]) for a, b in pairs(run.card.arms) if a in by_name and b in by_name]
    if not held:
        return
    cells = [[mine.subject, other.subject, *_compared(mine, other)] for mine, other in held]
    if len(held) > 1:
        arms = [arm for mine, other in held for arm in _at_common_shots(mine, other)]
        told = [_gap(statistic, arms, "all") for statistic in (eta, delta)]
        cells.append([f"(mean of {len(held)} pairs)", "", DASH, DASH, told[0], DASH, DASH, told[1]])
    note = (
        "Efficiency (eta) and effectiveness (delta) in percent, and the first subject's minus the second's in "
        "percentage points with 95 % interval, whole concepts drawn again for both at once, on the items heard in both "
        "at all the numbers of shots that both have. Pairs are those that subjects name (attributes reasoning and "
        "counterpart) and one model with and without reasoning effort. The paper prints means over three pairs: "
        f"{ETA_GAIN:+.1f} in efficiency and {DELTA_GAIN:+.1f} in effectiveness, written as percent; they are points."
    )
    names = ["reasons", "counterpart", "efficiency", "its", "difference", "effectiveness", "its ", "difference "]
    frame = pd.DataFrame(cells, columns=names)
    yield ReportSection("Reasoning models against their counterparts (Finding 3)", note, frame, None, "reasoning")


def _at_common_shots(mine: Line, other: Line) -> list[pd.DataFrame]:
    shots = set(mine.shots) & set(other.shots)
    return [mine.heard(shots), other.heard(shots)]


def _compared(mine: Line, other: Line) -> Iterator[str]:
    """Eta of both and the difference, then delta of both and the difference."""
    arms = _at_common_shots(mine, other)
    if any(arm.empty for arm in arms) or (cut := common(arms))[0].empty:
        yield from [DASH] * 6
        return
    curves = [curve_of(arm) for arm in cut]
    for statistic in (eta, delta):
        for curve in curves:
            value = statistic(curve)
            yield UNDEFINED if value is None else f"{100 * value:.1f}"
        yield _gap(statistic, arms, mine.subject, other.subject)


def _gap(statistic: Statistic, arms: Sequence[pd.DataFrame], *place: str) -> str:
    found = told_interval(lambda *curves: mean_gap(statistic, curves), arms, "reasoning", statistic.__name__, *place)
    return derived(_as_points(found), UNDEFINED, "+")


def _as_points(found: Interval) -> Interval:
    """The same, told with a decimal: differences of ratios are small."""
    return found._replace(items=max(found.items, 200)) if found.items else found
