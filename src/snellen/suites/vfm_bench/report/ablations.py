"""What a change of names, pictures or instruction does to accuracy (section 4.3 and 4.4: Tables 2 to 4)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, percent
from snellen.analysis.section import ReportSection, Run
from snellen.analysis.shot_curves import Curve, Interval, average, common, curve_of, gain_at, phi
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import Paired, paired_difference
from snellen.suites.vfm_bench.items import SHOTS
from snellen.suites.vfm_bench.published import ABLATIONS
from snellen.suites.vfm_bench.report import figures
from snellen.suites.vfm_bench.report.run_view import (
    Line,
    Lines,
    cell,
    derived,
    examined,
    result_rows,
    runs_of,
    spanned,
    told_interval,
    written,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALL_SHOTS = tuple(range(SHOTS + 1))
MOVED = ("instruction", "query", "demos", "labels", "pictures")
"""The axes that are changes; `sheet`, `order` and `prompt` are other ways of showing the same."""
NOTHING_RIGHT = "undefined: nothing right unchanged"
CAUSES = ("hkfi", "dipi")
STRATEGIES = ("fdli", "ichi", "ndni")
COLUMNS: Mapping[str, str] = {
    "vdpi": "one shot (φ vdpi)",
    "hkfi": "region enhanced (φ hkfi)",
    "dipi": "detailed instruction (φ dipi)",
    "fdli": "fabricated names (φ fdli)",
    "ichi": "replicated demos (φ ichi)",
    "ndni": "others' demos under noise (φ ndni)",
}
"""The changes of Table 4, in its order."""


@dataclass(frozen=True)
class Change:
    """One subject with and without a change, on the items heard in both at all of `shots`.

    `before` and `after` lead from shots to accuracy. `gap` is the difference of their means over shots, `phi` that
    difference as a share of the mean before (equation 4; NaN where nothing is right before).
    """

    original: Line
    what: str
    shots: tuple[int, ...]
    before: Curve
    after: Curve
    gap: Paired
    phi: Interval


def split(line: Line) -> tuple[str, tuple[tuple[str, str], ...]]:
    """(what is changed, as a condition; the rest of the setting)."""
    changed = tuple(term for term in line.setting if term[0] in MOVED)
    return written(changed), tuple(term for term in line.setting if term[0] not in MOVED)


def change(original: Line, changed: Line, wanted: Sequence[int] = ALL_SHOTS) -> Change | None:
    """The change over those wanted shots that both lines have; None without any, or without a common item."""
    shots = tuple(k for k in wanted if k in original.shots and k in changed.shots)
    if not shots:
        return None
    after, before = common([changed.heard(shots), original.heard(shots)])
    if before.empty:
        return None
    new, old = _item_means(after), _item_means(before)
    clusters = before.groupby("item_id")["cluster_id"].first()
    what = split(changed)[0]
    place = (original.name, what, *map(str, shots))
    gap = paired_difference(new, old, clusters.to_numpy(str), stream("vfm-bench", "change", *place))
    found = told_interval(lambda mine, base: phi(mine, base, shots), [after, before], "phi", *place)
    return Change(original, what, shots, curve_of(before), curve_of(after), gap, found)


def _item_means(arm: pd.DataFrame) -> NDArray[np.float64]:
    """Mean over shots of each item, repeats averaged first, in the order of ids."""
    each = arm.groupby(["item_id", "shots"])["value"].mean().groupby(level="item_id").mean()
    return each.to_numpy(np.float64)


def changes(lines: Lines, wanted: Sequence[int] = ALL_SHOTS) -> list[Change]:
    """Every line that changes something against the one that changes nothing and is shown alike otherwise."""
    found = []
    for (subject, _), line in lines.items():
        what, rest = split(line)
        original = lines.get((subject, rest))
        if what and original is not None and (one := change(original, line, wanted)) is not None:
            found.append(one)
    return found


def sections(run: Run, lines: Lines) -> Iterator[ReportSection]:
    """Table 4 in its two halves with Figures 8 and 6, then every change that was run."""
    found = changes(lines)
    originals = [line for line in lines.values() if not split(line)[0]]
    yield from causes(run, originals, lines)
    yield from strategies(originals, found)
    if found:
        yield every_change(found)


# Table 4, left half: causes, at 0 shots


def causes(run: Run, originals: Sequence[Line], lines: Lines) -> Iterator[ReportSection]:
    """What helps where names alone do not: one shot, the region enhanced, a detailed instruction (Figure 8)."""
    at_none = {(one.original.name, one.what): one for one in changes(lines, (0,))}
    rows, cells, bars = result_rows(run), [], list[figures.Bar]()
    for line in originals:
        held = [at_none.get((line.name, ABLATIONS[name].condition)) for name in CAUSES]
        one_shot = _one_shot(line)
        if 0 not in line.shots or (one_shot is None and not any(held)):
            continue
        base = cell(rows[line.subject, line.conditions[0]][""])
        told = derived(one_shot[2], NOTHING_RIGHT, "+") if one_shot else DASH
        cells.append([line.name, base, told, *(_phi(one, (0,)) for one in held)])
        if one_shot is not None:
            bars.append((line.name, COLUMNS["vdpi"], *one_shot))
        for name, one in zip(CAUSES, held, strict=True):
            if one is not None:
                bars.append((line.name, COLUMNS[name], one.before[0], one.after[0], one.phi))
    if not cells:
        return
    note = (
        "Base: percent right at 0 shots. Then by how much of that base accuracy grows with one shot, with the deciding "
        "region of the query shown larger and framed, and with a description of every class: in percent of the base, "
        "with 95 % interval (whole concepts drawn again), on the items heard in both, so that another base belongs to "
        "each (items whose region nobody marked cannot be enhanced). The first is the gain at one shot, which is what "
        "the paper prints; its Table 3 defines it otherwise. Where draws often have an empty base there is no interval."
    )
    names = ["subject", "base (0 shots)", *(COLUMNS[name] for name in ("vdpi", *CAUSES))]
    order = [line.name for line in examined([line for line in originals if line.name in {c[0] for c in cells}])]
    figure = partial(figures.causes, bars, order)
    title = "What is missing at 0 shots (Table 4, Figure 8)"
    yield ReportSection(title, note, pd.DataFrame(cells, columns=names), figure, "table-4-causes")


def _one_shot(line: Line) -> tuple[float, float, Interval] | None:
    """(accuracy at none, at one shot, gain as a share of the former), on the items heard at both."""
    if not {0, 1} <= set(line.shots):
        return None
    (heard,) = common([line.heard((0, 1))])
    if heard.empty:
        return None
    curve = curve_of(heard)
    return curve[0], curve[1], told_interval(lambda held: gain_at(held, 1), [heard], "gain at one shot", line.name)


def _phi(one: Change | None, wanted: Sequence[int]) -> str:
    """A change in percent, with the shots it is over where some are missing."""
    if one is None:
        return DASH
    told = derived(one.phi, NOTHING_RIGHT, "+")
    return told if one.shots == tuple(wanted) else f"{told}, over {runs_of(one.shots)}"


# Table 4, right half: strategies, over all shots


def strategies(originals: Sequence[Line], found: Sequence[Change]) -> Iterator[ReportSection]:
    """What demos are used for: fabricated names, replicated demos, noise for the others (Figure 6)."""
    by_name = {ABLATIONS[name].condition: name for name in STRATEGIES}
    held = {(one.original.name, by_name[one.what]): one for one in found if one.what in by_name}
    if not held:
        return
    cells = []
    for line in originals:
        mine = [held.get((line.name, name)) for name in STRATEGIES]
        if any(mine):
            cells.append([line.name, _average(line), *(_phi(one, ALL_SHOTS) for one in mine)])
    note = (
        "Average: mean percent right over 0 to 5 shots. Then what is left of it, as a change in percent of what was "
        "right unchanged (equation 4), with 95 % interval (whole concepts drawn again), on the items heard in both: "
        "names that mean nothing (what falls is knowledge of names), one picture for all demos of a class (what falls "
        "is likeness within a class), and noise for all demos but the true class's (what falls is comparison between "
        "classes; a subject may gain there, for only the true class has pictures then). Where shots are named, not all "
        "six were asked of both. At 0 shots there are no demos to change."
    )
    frame = pd.DataFrame(cells, columns=["subject", "average", *(COLUMNS[name] for name in STRATEGIES)])
    shown = examined([one.original for one in held.values()])
    drawn = [(COLUMNS[name], one) for (_, name), one in held.items() if one.original in shown]
    order = [COLUMNS[name] for name in STRATEGIES]
    figure = partial(figures.strategies, drawn, order)
    yield ReportSection("What demos are used for (Table 4, Figure 6)", note, frame, figure, "table-4-strategies")


def _average(line: Line) -> str:
    """Mean accuracy over its shots with interval, and the shots where some of the six are missing."""
    found = told_interval(average, [line.heard()], "average", line.name)
    told = derived(found, DASH)
    return told if line.shots == ALL_SHOTS else f"{told}, over {runs_of(line.shots)}"


# Every change


def every_change(found: Sequence[Change]) -> ReportSection:
    """Accuracy with and without each change that was run, over all shots that both have."""
    cells = []
    for one in found:
        n = one.gap.n
        means = [percent(sum(curve.values()) / len(curve), n) for curve in (one.before, one.after)]
        gap = _points(one.gap)
        cells.append(
            [one.original.name, one.what, runs_of(one.shots), n, *means, gap, derived(one.phi, NOTHING_RIGHT, "+")]
        )
    note = (
        "Mean percent right over these numbers of shots as they are and with the change, on the items heard in both, "
        "the difference in points and as a share of what was right unchanged (φ), with 95 % interval (paired by item, "
        "whole concepts drawn again). With many comparisons some are clear by chance alone. There is no interval "
        "where no draw differs, or where draws often have nothing right unchanged."
    )
    names = ["subject", "change", "shots", "items", "unchanged", "changed", "difference", "φ"]
    return ReportSection("Every change that was run", note, pd.DataFrame(cells, columns=names), None, "changes")


def _points(gap: Paired) -> str:
    """A difference in points with its interval where there is one."""
    return spanned(gap.difference, gap.low, gap.high, 200, "+") if not math.isnan(gap.difference) else DASH
