"""Accuracy by industry (Figure 7), concept level and number of classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from snellen.analysis.cells import DASH
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


def _at_max_shots(series: ShotSeries) -> tuple[str, pd.DataFrame, int] | None:
    """(condition, scores, shots) at the largest number of shots with a score."""
    if not series.shots:
        return None
    shots = series.shots[-1]
    return series.conditions[shots], series.scored((shots,)), shots


def _levels(run: Run, factor: str, order: Sequence[str]) -> list[str]:
    """The levels of a factor among the items, known ones first in their order."""
    return ordered_levels({item.factors.get(factor, "") for item in run.items.items} - {""}, order)


@dataclass(frozen=True)
class _Table:
    """Cells (subject, shots, one per level), rows of results for a figure, and scores by subject."""

    cells: list[list[str]]
    levels: list[figures.LevelRows]
    scores: list[pd.DataFrame]


def _table(run: Run, plain: Sequence[ShotSeries], factor: str, levels: Sequence[str]) -> _Table:
    rows, table = accuracy_rows(run, factor), _Table([], [], [])
    for series in plain:
        at_max = _at_max_shots(series)
        if at_max is None or ReportArm(series.subject, at_max[0]) not in rows:
            continue
        condition, scores, shots = at_max
        by_level = rows[ReportArm(series.subject, condition)]
        table.cells.append([series.subject, str(shots), *(accuracy_cell(by_level.get(level)) for level in levels)])
        table.levels.append(figures.LevelRows(series.name, [_if_scored(by_level.get(level)) for level in levels]))
        level_of = [run.items.by_id[name].factors.get(factor, "") for name in scores["item_id"]]
        table.scores.append(scores.assign(level=level_of))
    return table


def _if_scored(row: Any) -> Any:
    return row if row is not None and row.n > 0 else None


def _chances(scores: Sequence[pd.DataFrame], levels: Sequence[str]) -> dict[str, float]:
    rows = pd.concat(scores)
    return {level: guess_accuracy(rows[rows["level"] == level]) for level in levels}


def _random_policy(chances: Mapping[str, float]) -> list[str]:
    """The last row of a table."""
    return ["(random policy)", "", *(f"{100 * chance:.1f}" for chance in chances.values())]


def by_industry(run: Run, plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Accuracy by industry and its spread (Figure 7)."""
    levels = _levels(run, "industry", INDUSTRIES)
    table = _table(run, plain, "industry", levels)
    if len(levels) < 2 or not table.cells:
        return
    for cells, scores in zip(table.cells, table.scores, strict=True):
        parts = [part for _, part in scores.groupby("level", sort=False)]
        cells += _spread_cells(spread(parts, stream("vfm-bench", "spread", cells[0])))
    chances = _chances(table.scores, levels)
    random = float(np.std([chance for chance in chances.values() if not math.isnan(chance)], ddof=1))
    table.cells.append([*_random_policy(chances), f"{100 * random:.1f}", DASH])
    note = (
        "Percent right with 95 % interval at the largest number of shots of each subject, and the spread over "
        "industries: the standard deviation of their accuracies in points, and the same without the part that sampling "
        "so few items would show between equally hard industries (95 % interval, concepts resampled within each). "
        "Industries have different numbers of classes, so the random policy differs too."
    )
    frame = pd.DataFrame(table.cells, columns=["subject", "shots", *levels, "spread", "beyond chance of the draw"])
    figure = partial(figures.by_level, examined(table.levels), levels, chances)
    yield ReportSection("By industry (Figure 7)", note, frame, figure, "by-industry")


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
    if len(levels) < 2 or not table.cells:
        return
    chances = _chances(table.scores, levels)
    table.cells.append(_random_policy(chances))
    note = (
        "Percent right with 95 % interval at the largest number of shots of each subject, by what the names denote "
        "(Table 6): whole objects, parts of them, textures and arrangements, or the style of the image."
    )
    frame = pd.DataFrame(table.cells, columns=["subject", "shots", *levels])
    figure = partial(figures.by_level, examined(table.levels), levels, chances)
    yield ReportSection("By concept level", note, frame, figure, "by-level", detail=True)


def by_ways(run: Run, plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Accuracy by the number of classes, compared with chance."""
    levels = sorted(_levels(run, "ways", ()), key=int)
    table = _table(run, plain, "ways", levels)
    if len(levels) < 2 or not table.cells:
        return
    chances = _chances(table.scores, levels)
    table.cells.append(_random_policy(chances))
    note = (
        "Percent right with 95 % interval at the largest number of shots of each subject, by the number of classes. "
        "Chance is one over this number."
    )
    frame = pd.DataFrame(table.cells, columns=["subject", "shots", *(f"{level} classes" for level in levels)])
    figure = partial(figures.by_ways, examined(table.levels), [int(level) for level in levels])
    yield ReportSection("By number of classes", note, frame, figure, "by-ways", detail=True)
