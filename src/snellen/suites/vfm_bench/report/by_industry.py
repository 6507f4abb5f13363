"""Accuracy by industry (Figure 7), concept level and number of classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from snellen.analysis.cells import DASH
from snellen.analysis.pivot import table_section
from snellen.analysis.run_view import ReportArm, examined, ordered_levels
from snellen.analysis.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.suites.vfm_bench.items import INDUSTRIES, LEVELS
from snellen.suites.vfm_bench.report import figures
from snellen.suites.vfm_bench.report.derived_cells import accuracy_cell, guess_accuracy, percent_interval
from snellen.suites.vfm_bench.report.shot_series import ShotSeries, accuracy_rows

Floats = npt.NDArray[np.float64]
DRAWS = 2000


@dataclass(frozen=True)
class LevelSpread:
    """The spread of accuracy over the levels of a factor, as fractions.

    `observed` is the standard deviation of their accuracies (divisor n - 1). `beyond` is the same without the part that
    equally hard levels would show by sampling alone, with its interval.
    """

    observed: float
    beyond: float
    low: float
    high: float


def spread(tables: Sequence[pd.DataFrame], rng: np.random.Generator) -> LevelSpread | None:
    """The spread of several sets of scores (columns `value` and `cluster_id`), one per level; None with fewer than two.

    Clusters are resampled within each level. A resampled spread contains the noise twice (data and resampling), so two
    such variances are subtracted from its square, and one from the observed square; negative results become 0. There is
    no estimate if a level has one cluster, and no interval if no level varies.
    """
    if len(tables) < 2:
        return None
    means = np.array([part["value"].mean() for part in tables])
    observed = float(means.std(ddof=1))
    sizes = [part["cluster_id"].nunique() for part in tables]
    if min(sizes) < 2:
        return LevelSpread(observed, math.nan, math.nan, math.nan)
    redrawn = np.stack([_redrawn(part, rng) for part in tables], axis=1)
    noise = float(redrawn.var(axis=0, ddof=1).mean())
    if noise < 1e-12:
        return LevelSpread(observed, observed, math.nan, math.nan)
    low, high = np.quantile(redrawn.var(axis=1, ddof=1) - 2 * noise, (0.025, 0.975))
    beyond, low, high = (math.sqrt(max(0.0, square)) for square in (observed**2 - noise, float(low), float(high)))
    return LevelSpread(observed, beyond, low, high)


def _redrawn(part: pd.DataFrame, rng: np.random.Generator) -> Floats:
    """Resampled accuracies of one level, with deviations scaled by sqrt(k / (k - 1)) for k clusters."""
    clusters = part.groupby("cluster_id")["value"].agg(["sum", "count"])
    draws = rng.integers(len(clusters), size=(DRAWS, len(clusters)))
    sums, sizes = (clusters[name].to_numpy(np.float64)[draws].sum(axis=1) for name in ("sum", "count"))
    mean, wider = float(part["value"].mean()), math.sqrt(len(clusters) / (len(clusters) - 1))
    return np.asarray(mean + wider * (sums / sizes - mean), np.float64)


def sections(run: Run, plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Sections by industry with its spread, by concept level, by number of classes; each if there is more than one."""
    yield from by_industry(run, plain)
    yield from by_level(run, plain)
    yield from by_ways(run, plain)


def _levels(run: Run, factor: str, order: Sequence[str]) -> list[str]:
    """The levels of a factor among the items, known ones first in their order."""
    return ordered_levels({item.factors.get(factor, "") for item in run.items.items} - {""}, order)


@dataclass(frozen=True)
class _Table:
    """Cells (subject, shots, one per level), rows of results for a figure, scores by subject, and chance by level."""

    cells: list[list[str]]
    levels: list[figures.LevelRows]
    scores: list[pd.DataFrame]
    chances: dict[str, float]


def _table(run: Run, plain: Sequence[ShotSeries], factor: str, levels: Sequence[str]) -> _Table:
    """The numbers at the largest number of shots of each subject; without cells for fewer than two levels."""
    rows, table = accuracy_rows(run, factor), _Table([], [], [], {})
    for series in plain if len(levels) > 1 else ():
        shots = max(series.shots, default=-1)
        by_level = rows.get(ReportArm(series.subject, series.conditions.get(shots, "")))
        if by_level is None:
            continue
        of_levels = [by_level.get(level) for level in levels]
        table.cells.append([series.subject, str(shots), *map(accuracy_cell, of_levels)])
        table.levels.append(figures.LevelRows(series.name, [row if row and row.n > 0 else None for row in of_levels]))
        scores = series.scored((shots,))
        level_of = [run.items.by_id[name].factors.get(factor, "") for name in scores["item_id"]]
        table.scores.append(scores.assign(level=level_of))
    if table.cells:
        every = pd.concat(table.scores)
        table.chances.update({level: guess_accuracy(every[every["level"] == level]) for level in levels})
        table.cells.append(["(random policy)", "", *(f"{100 * chance:.1f}" for chance in table.chances.values())])
    return table


def by_industry(run: Run, plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Accuracy by industry and its spread (Figure 7)."""
    levels = _levels(run, "industry", INDUSTRIES)
    table = _table(run, plain, "industry", levels)
    if not table.cells:
        return
    *of_subjects, of_random_policy = table.cells
    for cells, scores in zip(of_subjects, table.scores, strict=True):
        parts = [part for _, part in scores.groupby("level", sort=False)]
        cells += _spread_cells(spread(parts, stream("vfm-bench", "spread", cells[0])))
    random = float(np.std([chance for chance in table.chances.values() if not math.isnan(chance)], ddof=1))
    of_random_policy += [f"{100 * random:.1f}", DASH]
    note = (
        "Percent right with 95 % interval at the largest number of shots of each subject, and the spread over "
        "industries: the standard deviation of their accuracies in points, and the same without the part that sampling "
        "so few items would show between equally hard industries (95 % interval, concepts resampled within each). "
        "Industries have different numbers of classes, so the random policy differs too."
    )
    names = ["subject", "shots", *levels, "spread", "beyond chance of the draw"]
    figure = partial(figures.by_level, examined(table.levels), levels, table.chances)
    yield from table_section("By industry (Figure 7)", note, names, table.cells, "by-industry", figure)


def _spread_cells(between: LevelSpread | None) -> list[str]:
    if between is None:
        return [DASH, DASH]
    observed = f"{100 * between.observed:.1f}"
    if math.isnan(between.beyond):
        return [observed, DASH]
    return [observed, percent_interval(between.beyond, between.low, between.high, 200)]


def by_level(run: Run, plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Accuracy by concept level: objects, details, patterns, styles (Table 6)."""
    levels = _levels(run, "concept_level", LEVELS)
    table = _table(run, plain, "concept_level", levels)
    note = (
        "Percent right with 95 % interval at the largest number of shots of each subject, by what the names denote "
        "(Table 6): whole objects, parts of them, textures and arrangements, or the style of the image."
    )
    names = ["subject", "shots", *levels]
    figure = partial(figures.by_level, examined(table.levels), levels, table.chances)
    yield from table_section("By concept level", note, names, table.cells, "by-level", figure, detail=True)


def by_ways(run: Run, plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Accuracy by the number of classes, compared with chance."""
    levels = sorted(_levels(run, "ways", ()), key=int)
    table = _table(run, plain, "ways", levels)
    note = (
        "Percent right with 95 % interval at the largest number of shots of each subject, by the number of classes. "
        "Chance is one over this number."
    )
    names = ["subject", "shots", *(f"{level} classes" for level in levels)]
    figure = partial(figures.by_ways, examined(table.levels), [int(level) for level in levels])
    yield from table_section("By number of classes", note, names, table.cells, "by-ways", figure, detail=True)
