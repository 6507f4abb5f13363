"""Accuracy by industry and its spread (Figure 7)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from snellen.analysis.cells import DASH
from snellen.analysis.pivot import table_section
from snellen.analysis.plots import LevelPanel, level_figure
from snellen.analysis.run_view import ReportArm, examined, ordered_levels
from snellen.analysis.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.suites.vfm_bench.items import INDUSTRIES
from snellen.suites.vfm_bench.report.shot_series import (
    ShotSeries,
    accuracy_cell,
    accuracy_rows,
    guess_accuracy,
    percent_interval,
)

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


def by_industry(run: Run, plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Accuracy by industry at the largest number of shots of each subject, if there is more than one industry."""
    levels = ordered_levels({item.factors.get("industry", "") for item in run.items.items} - {""}, INDUSTRIES)
    rows, lines, scores = accuracy_rows(run, "industry"), [], []
    of_series: dict[ShotSeries, list[Any]] = {}
    for series in plain if len(levels) > 1 else ():
        shots = max(series.shots, default=-1)
        by_level = rows.get(ReportArm(series.subject, series.conditions.get(shots, "")))
        if by_level is None:
            continue
        of_levels = [by_level.get(level) for level in levels]
        of_series[series] = [row if row and row.n > 0 else None for row in of_levels]
        part = series.scored((shots,))
        part = part.assign(level=[run.items.by_id[name].factors.get("industry", "") for name in part["item_id"]])
        parts = [of_level for _, of_level in part.groupby("level", sort=False)]
        between = spread(parts, stream("vfm-bench", "spread", series.subject))
        lines.append([series.subject, str(shots), *map(accuracy_cell, of_levels), *_spread_cells(between)])
        scores.append(part)
    if not lines:
        return
    every = pd.concat(scores)
    chances = [guess_accuracy(every[every["level"] == level]) for level in levels]
    random = float(np.std([chance for chance in chances if not math.isnan(chance)], ddof=1))
    lines.append(["(random policy)", "", *(f"{100 * share:.1f}" for share in (*chances, random)), DASH])
    note = (
        "Percent right with 95 % interval at the largest number of shots of each subject, and the spread over "
        "industries: the standard deviation of their accuracies in points, and the same without the part that sampling "
        "so few items would show between equally hard industries (95 % interval, concepts resampled within each). "
        "Industries have different numbers of classes, so the random policy differs too."
    )
    names = ["subject", "shots", *levels, "spread", "beyond chance of the draw"]
    in_figure = {series.name: of_series[series] for series in examined(list(of_series))}
    figure = partial(level_figure, [LevelPanel("", levels, in_figure, chances)], "random policy")
    yield from table_section("By industry (Figure 7)", note, names, lines, "by-industry", figure)


def _spread_cells(between: LevelSpread | None) -> list[str]:
    if between is None:
        return [DASH, DASH]
    observed = f"{100 * between.observed:.1f}"
    if math.isnan(between.beyond):
        return [observed, DASH]
    return [observed, percent_interval(between.beyond, between.low, between.high, 200)]
