"""Effects of methods and visual prompts compared with plain questions (section 4, Figure 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import pandas as pd

from snellen.analysis.tables.cells import DASH, percent, points
from snellen.analysis.tables.pivot import arms_beside_plain, table_section
from snellen.analysis.tables.plots import (
    INK,
    MUTED,
    SERIES,
    level_axis,
    panel_figure,
    plain_axes,
    side_by_side,
    two_lines,
)
from snellen.analysis.tables.run_view import ReportArm, arm_name, examined, simulated_subjects
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import Paired, paired_difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PLAIN = {"method": "vanilla", "visual_prompt": "none"}
"""The axes varied in Figure 5, at their baseline values."""
FAMILIES = {"gc": "general cues", "oc": "objects", "pc": "people"}
Units: TypeAlias = Mapping[str, Mapping[ReportArm, pd.DataFrame]]
"""Task -> arm -> its scored units (`run_view.scored_units`)."""
MAX_SUBJECTS = 6
"""Subjects in the figure."""


@dataclass(frozen=True)
class MethodChange:
    """One task of one subject, plain and with a method, over the units that both arms have.

    `before` and `after` are means 0..1, `gap` is after minus before. `gained` and `lost` count the units that were
    entirely right only with the method, and only without it; `p` is the exact two-sided McNemar test of these two
    numbers (None if both are 0).
    """

    task: str
    method: str
    plain: ReportArm
    before: float
    after: float
    gap: Paired
    gained: int
    lost: int
    p: float | None


def methods(run: Run, units: Units) -> Iterator[ReportSection]:
    """The table and figure that correspond to Figure 5."""
    changes, lines = method_changes(run, units), []
    for change in changes:
        gap, key = change.gap, [arm_name(*change.plain), change.method, change.task]
        means = percent(change.before, gap.n), percent(change.after, gap.n)
        difference = points(gap.difference, gap.low, gap.high)
        lines.append([*key, gap.n, *means, difference, change.gained, change.lost, _p_cell(change.p)])
    note = (
        "Percent of the task's main metric with the plain question and with a method or visual prompt, on the units "
        "(pairs of statements, or questions) that both have, and the difference in points with its 95 % interval "
        "(paired by unit, clusters resampled; none if all units are in one cluster). Then the numbers of units that "
        "changed from wrong to right and from right to wrong (for cnt: the exact count), and the exact two-sided "
        "McNemar test of these two numbers, which treats units as independent. With many comparisons some differences "
        "are clear by chance alone. Simulated observers are left out if other subjects were examined."
    )
    compared = ["subject", "method", "task", "units", "plain", "with it", "difference"]
    names = [*compared, "wrong to right", "right to wrong", "McNemar p"]
    yield from table_section("Effects of methods (Figure 5)", note, names, lines, "methods", partial(gains, changes))


def _p_cell(p: float | None) -> str:
    if p is None:
        return DASH
    return "< 0.001" if p < 0.001 else f"{p:.{3 if p < 0.1 else 2}f}"


def method_changes(run: Run, units: Units) -> list[MethodChange]:
    """The comparison, by task, of every arm with a method or visual prompt with the plain arm.

    Simulated observers are left out if other subjects were examined, since methods do not affect them.
    """
    pairs = sorted(arms_beside_plain(run, PLAIN), key=lambda pair: pair[0].subject in simulated_subjects(run))
    subjects = examined(run, [plain for plain, _, _ in pairs])
    compared = [
        compare(task, method, plain, changed, arms[plain], arms[changed])
        for plain, changed, method in pairs
        for task, arms in units.items()
        if plain in subjects and plain in arms and changed in arms
    ]
    return [change for change in compared if change.gap.n]


def compare(
    task: str, method: str, plain: ReportArm, changed: ReportArm, before: pd.DataFrame, after: pd.DataFrame
) -> MethodChange:
    """The comparison of two arms on their common units. A unit is right if more than half of its repeats are."""
    from scipy.stats import binomtest

    both = before.join(after[["value", "right"]].add_suffix("_after"), how="inner")
    rng = stream("vlm2-bench", "method", task, *plain, *changed)
    gap = paired_difference(both["value_after"], both["value"], both["cluster"].to_numpy(str), rng)
    was, now = both["right"] > 0.5, both["right_after"] > 0.5
    gained, lost = int((~was & now).sum()), int((was & ~now).sum())
    p = float(binomtest(gained, gained + lost).pvalue) if gained or lost else None
    means = float(both["value"].mean()), float(both["value_after"].mean())
    return MethodChange(task, method, plain, *means, gap, gained, lost, p)


def gains(changes: Sequence[MethodChange]) -> Figure:
    """Effect of each method in points with 95 % interval: one row per subject, one column per family (Figure 5)."""
    from matplotlib.patches import Patch

    arms = list(dict.fromkeys(change.plain for change in changes))[:MAX_SUBJECTS]
    changes = [change for change in changes if change.plain in arms]
    names = list(dict.fromkeys(change.method for change in changes))
    every = list(dict.fromkeys(change.task for change in changes))
    tasks = {family: of_family for family in FAMILIES if (of_family := [t for t in every if t.startswith(family)])}
    size = 1.6 + 3.3 * len(tasks), 1.0 + 1.9 * len(arms)
    widths = {"width_ratios": [len(of_family) for of_family in tasks.values()]}
    figure, panels = panel_figure(len(tasks), size, len(arms), sharey=True, gridspec_kw=widths)
    for axes, (arm, family) in zip(panels, product(arms, tasks), strict=True):
        of_panel = [change for change in changes if change.plain == arm and change.task in tasks[family]]
        _draw_gains(axes, of_panel, tasks[family], names)
        axes.set_title(FAMILIES[family] if arm == arms[0] else "")
        axes.yaxis.set_major_formatter(lambda points, _: f"{100 * points:+.0f}" if points else "0")
        if family == next(iter(tasks)):
            axes.set_ylabel(two_lines(arm_name(*arm), 24))
    swatches = [Patch(color=SERIES[n % len(SERIES)], alpha=0.75, label=name) for n, name in enumerate(names)]
    title, columns = "points, with 95 % interval", min(5, len(swatches))
    figure.legend(handles=swatches, loc="outside lower left", ncols=columns, alignment="left", title=title)
    return figure


def _draw_gains(axes: Axes, changes: Sequence[MethodChange], tasks: Sequence[str], names: Sequence[str]) -> None:
    width = 0.8 / len(names)
    for change in changes:
        number, gap = names.index(change.method), change.gap
        position = tasks.index(change.task) + side_by_side(number, len(names), width)
        axes.bar([position], [gap.difference], 0.9 * width, color=SERIES[number % len(SERIES)], alpha=0.75)
        axes.vlines([position], [gap.low], [gap.high], colors=INK, linewidth=1.1)
    axes.axhline(0, color=MUTED, linewidth=1.1)
    level_axis(axes, tasks)
    plain_axes(axes)
