"""Abilities by the factors that the paper splits them by (Figures 8b and 21 to 28)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pandas as pd

from snellen.analysis.cells import column_head, listing, metric_cell, number
from snellen.analysis.run_view import (
    examined,
    main_metric,
    mean_chance,
    ordered_levels,
    result_rows,
    row_of,
    scored,
)
from snellen.analysis.section import ReportSection, Run
from snellen.core.storage.runfolder import ArmCard
from snellen.suites.ava_bench.abilities import ability_named
from snellen.suites.ava_bench.report import figures


def subgroup(run: Run, task: str, arms: Sequence[ArmCard]) -> Iterator[ReportSection]:
    """One ability by the factors that the paper splits it by, each with more than one level."""
    ability = ability_named(task)
    every_panel = [_panel(run, task, factor, order, arms) for factor, order in ability.subgroups.items()]
    panels = [panel for panel in every_panel if len(panel.levels) > 1]
    if not panels:
        return
    metric, rows = main_metric(run, task), scored(result_rows(run, task))
    with_score = [arm for arm in arms if row_of(rows, arm) is not None]
    lines = [
        [arm.subject, metric_cell(row_of(rows, arm), metric)]
        + [metric_cell(row, metric) for panel in panels for row in panel.rows[arm.subject]]
        for arm in with_score
    ]
    chances = [mean_chance(rows), *(chance for panel in panels for chance in panel.chances)]
    lines.append(["(chance)", *(number(chance, metric, 200) for chance in chances)])
    heads = [f"{panel.factor.replace('_', ' ')} {level}" for panel in panels for level in panel.levels]
    factors = listing(panel.factor.replace("_", " ") for panel in panels)
    note = f"{column_head(task, metric)} with 95 % interval, in all and by {factors}."
    subjects = [arm.subject for arm in examined(with_score)]
    figure = partial(figures.subgroups, panels, subjects, metric)
    frame = pd.DataFrame(lines, columns=["subject", "all", *heads])
    title = f"{task} by subgroups" + (f" ({ability.figure})" if ability.figure else "")
    yield ReportSection(title, note, frame, figure, f"subgroups-{task}", detail=task != "localization")


def _panel(run: Run, task: str, factor: str, order: Sequence[str], arms: Sequence[ArmCard]) -> figures.FactorPanel:
    """The rows of all arms by the levels of a factor that have a score, known levels first in their order."""
    rows = scored(result_rows(run, task, factor))
    levels = ordered_levels(map(str, rows["level"]), order)
    parts = [rows[rows["level"] == level] for level in levels]
    by_subject = {arm.subject: [row_of(part, arm) for part in parts] for arm in arms}
    return figures.FactorPanel(factor, levels, by_subject, [mean_chance(part) for part in parts])
