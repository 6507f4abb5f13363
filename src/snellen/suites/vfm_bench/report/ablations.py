"""What a change of names, images or instruction does to accuracy (section 4.3 and 4.4: Tables 2 to 4)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, percent
from snellen.analysis.run_view import ReportArm, examined
from snellen.analysis.section import ReportSection, Run
from snellen.analysis.shot_curves import DerivedInterval, average, common, curve_of, gain_at, phi
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import Paired, paired_difference
from snellen.suites.vfm_bench.items import SHOTS
from snellen.suites.vfm_bench.published import ABLATIONS
from snellen.suites.vfm_bench.report import figures
from snellen.suites.vfm_bench.report.derived_cells import (
    accuracy_cell,
    derived_cell,
    derived_interval,
    percent_interval,
    write_shots,
)
from snellen.suites.vfm_bench.report.shot_series import (
    AblationChange,
    SeriesBySetting,
    ShotSeries,
    accuracy_rows,
    write_setting,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALL_SHOTS = tuple(range(SHOTS + 1))
MOVED = ("instruction", "query", "demos", "labels", "images")
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


def split(series: ShotSeries) -> tuple[str, tuple[tuple[str, str], ...]]:
    """(what is changed, as a condition; the rest of the setting)."""
    changed = tuple(term for term in series.setting if term[0] in MOVED)
    return write_setting(changed), tuple(term for term in series.setting if term[0] not in MOVED)


def change(original: ShotSeries, changed: ShotSeries, shot_counts: Sequence[int] = ALL_SHOTS) -> AblationChange | None:
    """The change over those numbers of shots that both series have; None without any, or without a common item."""
    shots = tuple(k for k in shot_counts if k in original.shots and k in changed.shots)
    if not shots:
        return None
    after, before = common([changed.scored(shots), original.scored(shots)])
    if before.empty:
        return None
    new, old = _item_means(after), _item_means(before)
    clusters = before.groupby("item_id")["cluster_id"].first()
    condition = split(changed)[0]
    key = (original.name, condition, *map(str, shots))
    gap = paired_difference(new, old, clusters.to_numpy(str), stream("vfm-bench", "change", *key))
    share = derived_interval(lambda curve, base: phi(curve, base, shots), [after, before], "phi", *key)
    return AblationChange(original, condition, shots, curve_of(before), curve_of(after), gap, share)


def _item_means(arm_scores: pd.DataFrame) -> NDArray[np.float64]:
    """Mean over shots of each item, repeats averaged first, in the order of ids."""
    each = arm_scores.groupby(["item_id", "shots"])["value"].mean().groupby(level="item_id").mean()
    return each.to_numpy(np.float64)


def changes(series: SeriesBySetting, shots: Sequence[int] = ALL_SHOTS) -> list[AblationChange]:
    """Every series that changes something against the one that changes nothing and is shown alike otherwise."""
    compared = []
    for (subject, _), changed in series.items():
        condition, rest = split(changed)
        original = series.get((subject, rest))
        if condition and original is not None:
            compared.append(change(original, changed, shots))
    return [result for result in compared if result is not None]


def sections(run: Run, series: SeriesBySetting) -> Iterator[ReportSection]:
    """Table 4 in its two halves with Figures 8 and 6, then every change that was run."""
    all_changes = changes(series)
    originals = [line for line in series.values() if not split(line)[0]]
    yield from causes(run, originals, series)
    yield from strategies(originals, all_changes)
    if all_changes:
        yield every_change(all_changes)


# Table 4, left half: causes, at 0 shots


def causes(run: Run, originals: Sequence[ShotSeries], series: SeriesBySetting) -> Iterator[ReportSection]:
    """What helps where names alone do not: one shot, the region enhanced, a detailed instruction (Figure 8)."""
    at_zero = {(result.original.name, result.condition): result for result in changes(series, (0,))}
    rows, cells, bars = accuracy_rows(run), [], list[figures.Bar]()
    for line in originals:
        helps = [at_zero.get((line.name, ABLATIONS[name].condition)) for name in CAUSES]
        one_shot = _one_shot(line)
        if 0 not in line.shots or (one_shot is None and not any(helps)):
            continue
        base = accuracy_cell(rows[ReportArm(line.subject, line.conditions[0])][""])
        gain = derived_cell(one_shot[2], NOTHING_RIGHT, "+") if one_shot else DASH
        cells.append([line.name, base, gain, *(_phi_cell(result, (0,)) for result in helps)])
        if one_shot is not None:
            bars.append((line.name, COLUMNS["vdpi"], *one_shot))
        for name, result in zip(CAUSES, helps, strict=True):
            if result is not None:
                bars.append((line.name, COLUMNS[name], result.before[0], result.after[0], result.phi))
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
    in_table = {line[0] for line in cells}
    order = [line.name for line in examined([line for line in originals if line.name in in_table])]
    figure = partial(figures.causes, bars, order)
    title = "What is missing at 0 shots (Table 4, Figure 8)"
    yield ReportSection(title, note, pd.DataFrame(cells, columns=names), figure, "table-4-causes")


def _one_shot(series: ShotSeries) -> tuple[float, float, DerivedInterval] | None:
    """(accuracy at none, at one shot, gain as a share of the former), on the items scored at both."""
    if not {0, 1} <= set(series.shots):
        return None
    (scores,) = common([series.scored((0, 1))])
    if scores.empty:
        return None
    curve = curve_of(scores)
    gain = derived_interval(lambda curve: gain_at(curve, 1), [scores], "gain at one shot", series.name)
    return curve[0], curve[1], gain


def _phi_cell(result: AblationChange | None, shots: Sequence[int]) -> str:
    """A change in percent, with the shots it is over where some are missing."""
    if result is None:
        return DASH
    text = derived_cell(result.phi, NOTHING_RIGHT, "+")
    return text if result.shots == tuple(shots) else f"{text}, over {write_shots(result.shots)}"


# Table 4, right half: strategies, over all shots


def strategies(originals: Sequence[ShotSeries], all_changes: Sequence[AblationChange]) -> Iterator[ReportSection]:
    """What demos are used for: fabricated names, replicated demos, noise for the others (Figure 6)."""
    by_condition = {ABLATIONS[name].condition: name for name in STRATEGIES}
    results = {
        (result.original.name, by_condition[result.condition]): result
        for result in all_changes
        if result.condition in by_condition
    }
    if not results:
        return
    cells = []
    for line in originals:
        of_line = [results.get((line.name, name)) for name in STRATEGIES]
        if any(of_line):
            cells.append([line.name, _average_cell(line), *(_phi_cell(result, ALL_SHOTS) for result in of_line)])
    note = (
        "Average: mean percent right over 0 to 5 shots. Then what is left of it, as a change in percent of what was "
        "right unchanged (equation 4), with 95 % interval (whole concepts drawn again), on the items heard in both: "
        "names that mean nothing (what falls is knowledge of names), one image for all demos of a class (what falls "
        "is likeness within a class), and noise for all demos but the true class's (what falls is comparison between "
        "classes; a subject may gain there, for only the true class has images then). Where shots are named, not all "
        "six were asked of both. At 0 shots there are no demos to change."
    )
    frame = pd.DataFrame(cells, columns=["subject", "average", *(COLUMNS[name] for name in STRATEGIES)])
    in_figure = examined([result.original for result in results.values()])
    curves = [(COLUMNS[name], result) for (_, name), result in results.items() if result.original in in_figure]
    order = [COLUMNS[name] for name in STRATEGIES]
    figure = partial(figures.strategies, curves, order)
    yield ReportSection("What demos are used for (Table 4, Figure 6)", note, frame, figure, "table-4-strategies")


def _average_cell(series: ShotSeries) -> str:
    """Mean accuracy over its shots with interval, and the shots where some of the six are missing."""
    text = derived_cell(derived_interval(average, [series.scored()], "average", series.name), DASH)
    return text if series.shots == ALL_SHOTS else f"{text}, over {write_shots(series.shots)}"


# Every change


def every_change(all_changes: Sequence[AblationChange]) -> ReportSection:
    """Accuracy with and without each change that was run, over all shots that both have."""
    cells = []
    for result in all_changes:
        n = result.gap.n
        means = [percent(sum(curve.values()) / len(curve), n) for curve in (result.before, result.after)]
        share = derived_cell(result.phi, NOTHING_RIGHT, "+")
        who = [result.original.name, result.condition, write_shots(result.shots)]
        cells.append([*who, n, *means, _points_cell(result.gap), share])
    note = (
        "Mean percent right over these numbers of shots as they are and with the change, on the items heard in both, "
        "the difference in points and as a share of what was right unchanged (φ), with 95 % interval (paired by item, "
        "whole concepts drawn again). With many comparisons some are clear by chance alone. There is no interval "
        "where no draw differs, or where draws often have nothing right unchanged."
    )
    names = ["subject", "change", "shots", "items", "unchanged", "changed", "difference", "φ"]
    return ReportSection("Every change that was run", note, pd.DataFrame(cells, columns=names), None, "changes")


def _points_cell(gap: Paired) -> str:
    """A difference in points with its interval where there is one."""
    return percent_interval(gap.difference, gap.low, gap.high, 200, "+") if not math.isnan(gap.difference) else DASH
