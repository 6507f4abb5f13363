"""Effects of changed names, images or instructions on accuracy (sections 4.3 and 4.4: Tables 2 to 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from snellen.analysis.tables import plots
from snellen.analysis.tables.cells import DASH, percent
from snellen.analysis.tables.pivot import table_section
from snellen.analysis.tables.run_view import ReportArm, examined
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import Paired, paired_difference
from snellen.suites.vfm_bench.items import SHOTS
from snellen.suites.vfm_bench.published import ABLATIONS
from snellen.suites.vfm_bench.report.shot_series import (
    SeriesBySetting,
    ShotSeries,
    accuracy_cell,
    accuracy_rows,
    derived_cell,
    derived_interval,
    percent_interval,
    series_of,
    write_setting,
    write_shots,
)
from snellen.suites.vfm_bench.shot_curves import Curve, DerivedInterval, average, common, curve_of, gain_at, phi

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

ALL_SHOTS = tuple(range(SHOTS + 1))
MOVED = ("instruction", "query", "demos", "labels", "images")
"""The axes that count as changes; `sheet`, `order` and `prompt` only present the same content differently."""
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
class AblationChange:
    """One subject with and without a change, on the items scored in both at all of `shots`.

    `before` and `after` map shots to accuracy. `gap` is the difference of their means over shots, `phi` that
    difference as a share of the mean before (equation 4; NaN if that mean is 0).
    """

    original: ShotSeries
    condition: str
    shots: tuple[int, ...]
    before: Curve
    after: Curve
    gap: Paired
    phi: DerivedInterval


def split(series: ShotSeries) -> tuple[str, tuple[tuple[str, str], ...]]:
    """(the changes, as a condition; the rest of the setting)."""
    changed = tuple(term for term in series.setting if term[0] in MOVED)
    return write_setting(changed), tuple(term for term in series.setting if term[0] not in MOVED)


def change(original: ShotSeries, changed: ShotSeries, shot_counts: Sequence[int] = ALL_SHOTS) -> AblationChange | None:
    """The change over the numbers of shots that both series have; None without common shots or items."""
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
    """Mean over shots of each item, in the order of ids; repeats are averaged first."""
    each = arm_scores.groupby(["item_id", "shots"])["value"].mean().groupby(level="item_id").mean()
    return each.to_numpy(np.float64)


def unchanged(series: SeriesBySetting) -> list[ShotSeries]:
    """The series without a change, in all settings."""
    return [line for line in series.values() if not split(line)[0]]


def changes(run: Run, series: SeriesBySetting, shots: Sequence[int] = ALL_SHOTS) -> list[AblationChange]:
    """The comparison of every changed series with the unchanged one in the same setting otherwise.

    Generated sets have fabricated names by default, so there these are compared with the real names, if both were
    asked.
    """
    compared = []
    for (subject, _), changed in series.items():
        condition, rest = split(changed)
        base = original = series.get((subject, rest))
        if condition == ABLATIONS["fdli"].condition and run.items.card.source == "generated":
            base = series.get((subject, (("labels", "real"), *rest)))
        if condition and original is not None and base is not None and (result := change(base, changed, shots)):
            compared.append(replace(result, original=original))
    return compared


# Table 4, left half: causes, at 0 shots


def causes(run: Run, series: SeriesBySetting) -> Iterator[ReportSection]:
    """The effect of help at 0 shots: one shot, the region enhanced, a detailed instruction (Figure 8)."""
    at_zero = {(result.original.name, result.condition): result for result in changes(run, series, (0,))}
    rows, cells = accuracy_rows(run), []
    shares: dict[ShotSeries, dict[str, tuple[float, float]]] = {}
    for line in unchanged(series):
        helps = [at_zero.get((line.name, ABLATIONS[name].condition)) for name in CAUSES]
        one_shot = _one_shot(line)
        if 0 not in line.shots or (one_shot is None and not any(helps)):
            continue
        base = accuracy_cell(rows[ReportArm(line.subject, line.conditions[0])][""])
        gain = derived_cell(one_shot[2], NOTHING_RIGHT, "+") if one_shot else DASH
        cells.append([line.name, base, gain, *(_phi_cell(result, (0,)) for result in helps)])
        shares[line] = {"vdpi": one_shot[:2]} if one_shot else {}
        shares[line] |= {name: (x.before[0], x.after[0]) for name, x in zip(CAUSES, helps, strict=True) if x}
    note = (
        "Base: percent right at 0 shots. Then the gain in accuracy with one shot, with the deciding region of the "
        "query enlarged and framed, and with a description of every class, in percent of the base with 95 % interval "
        "(concepts resampled). Each gain is on the items scored in both and so has its own base (items without a known "
        "region cannot be enhanced). The first is the gain at one shot, which the paper prints; its Table 3 defines it "
        "differently. There is no interval if resamples often have a base of zero."
    )
    order = ("vdpi", *CAUSES)
    names = ["subject", "base (0 shots)", *(COLUMNS[name] for name in order)]
    panels = {
        COLUMNS[name]: {line.name: shares[line][name] for line in examined(run, list(shares)) if name in shares[line]}
        for name in order
    }
    panels = {title: pairs for title, pairs in panels.items() if pairs}
    figure = partial(plots.before_after, panels, ("without", "with the help"))
    title = "Causes of errors at 0 shots (Table 4, Figure 8)"
    yield from table_section(title, note, names, cells, "table-4-causes", figure)


def _one_shot(series: ShotSeries) -> tuple[float, float, DerivedInterval] | None:
    """(accuracy at 0 shots, at one shot, gain as a share of the former), on the items scored at both."""
    if not {0, 1} <= set(series.shots):
        return None
    (scores,) = common([series.scored((0, 1))])
    if scores.empty:
        return None
    curve = curve_of(scores)
    gain = derived_interval(lambda curve: gain_at(curve, 1), [scores], "gain at one shot", series.name)
    return curve[0], curve[1], gain


def _phi_cell(result: AblationChange | None, shots: Sequence[int]) -> str:
    """A change in percent, with its shots if some are missing."""
    if result is None:
        return DASH
    text = derived_cell(result.phi, NOTHING_RIGHT, "+")
    return text if result.shots == tuple(shots) else f"{text}, over {write_shots(result.shots)}"


# Table 4, right half: strategies, over all shots


def strategies(run: Run, series: SeriesBySetting, all_changes: Sequence[AblationChange]) -> Iterator[ReportSection]:
    """The use of demos: fabricated names, replicated demos, noise for the other classes (Figure 6)."""
    results = {(result.original.name, result.condition): result for result in all_changes}
    cells, curves = [], list[tuple[str, AblationChange]]()
    for line in unchanged(series):
        of_line = [results.get((line.name, ABLATIONS[name].condition)) for name in STRATEGIES]
        if any(of_line):
            cells.append([line.name, _average_cell(line), *(_phi_cell(result, ALL_SHOTS) for result in of_line)])
            curves += [(COLUMNS[name], result) for name, result in zip(STRATEGIES, of_line, strict=True) if result]
    note = (
        "Average: mean percent right over 0 to 5 shots. Then the change in percent of the unchanged accuracy (equation "
        "4), with 95 % interval (concepts resampled), on the items scored in both: with meaningless names (removes "
        "knowledge of names), one image for all demos of a class (removes variation within a class), and noise for all "
        "demos but the true class's (removes comparison between classes; a subject may gain there, since only the true "
        "class has images then). If shots are named, not all six were run for both. At 0 shots there are no demos to "
        "change."
    )
    order = [COLUMNS[name] for name in STRATEGIES]
    in_figure = examined(run, [result.original for _, result in curves])
    curves = [curve for curve in curves if curve[1].original in in_figure]
    names, figure = ["subject", "average", *order], partial(draw_strategies, curves, order)
    yield from table_section("Use of demos (Table 4, Figure 6)", note, names, cells, "table-4-strategies", figure)


def _average_cell(series: ShotSeries) -> str:
    """Mean accuracy over shots with interval, and its shots if some of the six are missing."""
    text = derived_cell(derived_interval(average, [series.scored()], "average", series.name), DASH)
    return text if series.shots == ALL_SHOTS else f"{text}, over {write_shots(series.shots)}"


def draw_strategies(curves: Sequence[tuple[str, AblationChange]], order: Sequence[str]) -> Figure:
    """Figure 6: accuracy over shots, unchanged (solid) and changed (dashed), by change (panel) and subject (colour)."""
    from matplotlib.lines import Line2D

    names = list(dict.fromkeys(change.original.name for _, change in curves))[: plots.MAX_SERIES]
    panels = [name for name in order if any(strategy == name for strategy, _ in curves)]
    figure, columns = plots.panel_figure(len(panels), (1.6 + 3.3 * len(panels), 3.6), sharey=True)
    for axes, panel in zip(columns, panels, strict=True):
        for strategy, change in curves:
            if strategy == panel and change.original.name in names:
                appearance = plots.series_appearance(names.index(change.original.name))
                shots, before, after = list(change.before), list(change.before.values()), list(change.after.values())
                axes.plot(shots, before, linewidth=1.5, **appearance)
                axes.plot(list(change.after), after, linewidth=1.5, linestyle=(0, (3, 2)), **appearance)
                axes.fill_between(shots, before, after, color=appearance["color"], alpha=0.1)
        shots = sorted({k for strategy, change in curves if strategy == panel for k in change.before})
        axes.set(title=panel, xticks=shots, xlabel="solved examples of every class")
        plots.percent_axis(axes)
    lines = {name: Line2D([], [], **plots.series_appearance(n)) for n, name in enumerate(names)}
    lines |= {"unchanged": Line2D([], [], color=plots.INK), "changed": Line2D([], [], color=plots.INK, linestyle="--")}
    labels = [plots.two_lines(name) for name in lines]
    figure.legend(list(lines.values()), labels, loc="outside lower left", ncols=4, fontsize=8.5)
    return figure


# Table 4 as one table


def own_changes(run: Run) -> dict[str, list[str]]:
    """The cells of Table 4 by subject, without intervals: a dash where the run lacks a condition."""
    series = series_of(run)
    at_zero, all_changes = (
        {(result.original.name, result.condition): result.phi.value for result in changes(run, series, shots)}
        for shots in ((0,), ALL_SHOTS)
    )

    def cell(share: float | None) -> str:
        return DASH if share is None or np.isnan(share) else f"{100 * share:+.0f} %"

    cells = {}
    for line in unchanged(series):
        curve, one_shot = line.curve(), _one_shot(line)
        helps = (at_zero.get((line.name, ABLATIONS[name].condition)) for name in CAUSES)
        uses = (all_changes.get((line.name, ABLATIONS[name].condition)) for name in STRATEGIES)
        base = f"{curve[0]:.2f}" if 0 in curve else DASH
        mean = f"{sum(curve.values()) / len(curve):.2f}" if line.shots == ALL_SHOTS else DASH
        gain = None if one_shot is None else one_shot[2].value
        row = [base, cell(gain), *map(cell, helps), mean, *map(cell, uses)]
        if set(row) - {DASH, base}:
            cells[line.name] = row
    return cells


# Every change


def every_change(all_changes: Sequence[AblationChange]) -> Iterator[ReportSection]:
    """Accuracy with and without each change in the run, over all shots that both have."""
    cells = []
    for result in all_changes:
        n = result.gap.n
        means = [percent(sum(curve.values()) / len(curve), n) for curve in (result.before, result.after)]
        share = derived_cell(result.phi, NOTHING_RIGHT, "+")
        key = [result.original.name, result.condition, write_shots(result.shots)]
        gap = percent_interval(result.gap.difference, result.gap.low, result.gap.high, 200, "+")
        cells.append([*key, n, *means, gap, share])
    note = (
        "Mean percent right over these numbers of shots, unchanged and with the change, on the items scored in both; "
        "the difference in points, and as a share of the unchanged accuracy (φ), with 95 % interval (paired by item, "
        "concepts resampled). With many comparisons some differences are clear by chance alone. There is no interval "
        "if resamples do not vary, or if they often have an unchanged accuracy of zero."
    )
    names = ["subject", "change", "shots", "items", "unchanged", "changed", "difference", "φ"]
    yield from table_section("All changes in the run", note, names, cells, "changes")
