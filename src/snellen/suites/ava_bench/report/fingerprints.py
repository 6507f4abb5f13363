"""Fingerprints: the share of the way from chance to a perfect score per subject and ability (Figure 5)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH
from snellen.analysis.pivot import table_section
from snellen.analysis.plots import FAINT, MAX_SERIES, MUTED, SERIES, panel_figure, two_lines
from snellen.analysis.run_view import examined, main_metric, mean_chance, result_rows, row_of, scored, scored_tasks
from snellen.analysis.section import ReportSection, Run
from snellen.core.score import Metric
from snellen.core.storage.runfolder import ArmCard
from snellen.suites.ava_bench.published import COLUMNS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOWERS: tuple[tuple[str, str], ...] = (
    ("SigLIP-2", r"siglip[-_ ]?(?:v)?2"),
    ("SigLIP-1", r"siglip"),
    ("AIMv2", r"aim-?v2"),
    ("InternVL-2.5", r"intern-?v"),
    ("CLIP", r"\bclip"),
    ("RADIOv2.1", r"(?<!c-)radio"),
    ("DINOv2", r"dino-?v2"),
    ("SAM", r"\bsam\b"),
    ("MiDaS-3.0", r"midas"),
)
"""Towers of Table 5 and patterns of subject names; the first match counts."""
LANGUAGE_SUPERVISED = ("SigLIP-2", "AIMv2", "SigLIP-1", "CLIP", "InternVL-2.5")
"""Towers left in Figure 5, with DINOv2 as reference; the others are right, with SigLIP-2 as reference."""
REFERENCES = ("DINOv2", "SigLIP-2")
MIN_ABILITIES = 3
"""The minimum number of abilities for a ring."""


def tower_of(arm: ArmCard) -> str:
    """The tower of Table 5 that a subject uses, by its attribute `tower` or its name; empty for others."""
    name = arm.attributes.get("tower", arm.subject).casefold()
    return next((tower for tower, pattern in TOWERS if re.search(pattern, name)), "")


def share_of_way(score: float, chance: float, metric: Metric) -> float:
    """The position of a score between chance (0) and a perfect score (1), below 0 if worse than chance."""
    room = metric.best - chance
    return math.nan if math.isnan(chance) or room == 0 else (score - chance) / room


def fingerprint(run: Run, arms: Sequence[ArmCard]) -> Iterator[ReportSection]:
    """The share of the way from chance to perfect per subject and ability, as outlines (Figure 5)."""
    rows = {task: scored(result_rows(run, task)) for task in scored_tasks(run, arms, COLUMNS)}
    chances = {task: mean_chance(part) for task, part in rows.items()}
    tasks = [task for task, chance in chances.items() if not math.isnan(chance)]
    if len(tasks) < MIN_ABILITIES:
        return
    shares = {arm.subject: [_share_of_way(run, rows[task], arm, task, chances[task]) for task in tasks] for arm in arms}
    lines = [
        [name, *(DASH if math.isnan(x) else f"{100 * x:.0f}" for x in shares_of_way)]
        for name, shares_of_way in shares.items()
    ]
    note = (
        "Percent of the way from chance (0, in the middle) to a perfect score (100, at the rim), so that abilities "
        "with different metrics fit in one ring; drawn at 0 if worse than chance. The paper does not state how its "
        "rings are scaled. As there, towers supervised by language are shown with DINOv2, the others with SigLIP-2, "
        "if the run has them."
    )
    figure = partial(draw_rings, _panels(examined(arms)), tasks, shares)
    yield from table_section("Fingerprints (Figure 5)", note, ["subject", *tasks], lines, "fingerprints", figure)


def _share_of_way(run: Run, rows: pd.DataFrame, arm: ArmCard, task: str, chance: float) -> float:
    row = row_of(rows, arm)
    return math.nan if row is None else share_of_way(float(row.value), chance, main_metric(run, task))


def _panels(arms: Sequence[ArmCard]) -> list[tuple[list[str], str]]:
    """(subjects, reference) per panel: the halves of Figure 5 for subjects with its towers, then all others."""
    towers = {arm.subject: tower_of(arm) for arm in arms}
    halves: list[list[str]] = [
        [name for name, tower in towers.items() if tower in LANGUAGE_SUPERVISED],
        [name for name, tower in towers.items() if tower and tower not in LANGUAGE_SUPERVISED],
    ]
    panels = []
    for half, reference_tower in zip(halves, REFERENCES, strict=True):
        reference = next((name for name, tower in towers.items() if tower == reference_tower), "")
        panels += [(part, reference) for part in _parts(half)]
    return panels + [(part, "") for part in _parts([name for name, tower in towers.items() if not tower])]


def _parts(names: list[str]) -> list[list[str]]:
    return [names[start : start + MAX_SERIES] for start in range(0, len(names), MAX_SERIES)]


def draw_rings(
    panels: Sequence[tuple[Sequence[str], str]], tasks: Sequence[str], shares: Mapping[str, Sequence[float]]
) -> Figure:
    """A ring of abilities with one outline per subject (Figure 5): chance in the middle (0), perfect at the rim (1).

    A panel has subjects and a reference (or an empty name), which is dashed and grey; `shares` are numbers by subject,
    one per task. Values below chance are drawn at 0, and unknown values leave a gap.
    """
    turns = np.linspace(0, 2 * np.pi, len(tasks), endpoint=False)
    size, polar = (5.2 * len(panels), 5.6), {"projection": "polar"}
    figure, rings = panel_figure(len(panels), size, subplot_kw=polar)
    for axes, (subjects, reference) in zip(rings, panels, strict=True):
        lines: list[tuple[str, dict[str, Any]]]
        lines = [(name, {"color": SERIES[n], "linewidth": 1.6}) for n, name in enumerate(subjects[:MAX_SERIES])]
        if reference:
            lines.append((reference, {"color": MUTED, "linewidth": 1.4, "linestyle": "--"}))
        for name, appearance in lines:
            outline = np.clip(np.array([*shares[name], shares[name][0]], float), 0, 1)
            label = f"{name} (reference)" if name == reference else name
            axes.plot([*turns, 0], outline, label=two_lines(label), **appearance)
        axes.set_xticks(turns, tasks, fontsize=8)
        axes.tick_params(axis="x", pad=10)  # otherwise names left and right overlap the rim
        axes.set_ylim(0, 1)
        axes.set_yticks((0.25, 0.5, 0.75, 1), ("", "50 %", "", "100 %"), fontsize=7, color=MUTED)
        axes.grid(color=FAINT)
        axes.spines["polar"].set_color(FAINT)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, fontsize=8, frameon=False)
    return figure
