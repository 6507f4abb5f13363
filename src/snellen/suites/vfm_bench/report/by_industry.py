"""Where subjects are good and where not: by industry (Figure 7), concept level, and number of classes."""

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
from snellen.analysis.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.suites.vfm_bench.items import INDUSTRIES, LEVELS
from snellen.suites.vfm_bench.report import figures
from snellen.suites.vfm_bench.report.run_view import Line, cell, chance_of, examined, result_rows, spanned

Floats = npt.NDArray[np.float64]
DRAWS = 2000


@dataclass(frozen=True)
class Spread:
    """How far levels of a factor lie apart, as fractions.

    `observed` is the standard deviation of their accuracies (divisor n - 1). `beyond` is what is left of it when the
    part that equally hard levels would show by chance of the draw is taken off, with its interval.
    """

    observed: float
    beyond: float
    low: float
    high: float


def spread(parts: Sequence[pd.DataFrame], rng: np.random.Generator) -> Spread | None:
    """The spread of several sets of scores (columns `value` and `cluster_id`), one a level; None with fewer than two.

    Whole clusters are drawn again within each level. A redrawn spread holds the noise twice, once of the data and once
    of the drawing, so that two such variances come off its square, and one comes off the observed square. What is
    negative then is 0. Nothing can be told where a level has one cluster, and no interval where no level varies.
    """
    if len(parts) < 2:
        return None
    means = np.array([part["value"].mean() for part in parts])
    observed = float(means.std(ddof=1))
    sizes = [part["cluster_id"].nunique() for part in parts]
    if min(sizes) < 2:
        return Spread(observed, math.nan, math.nan, math.nan)
    drawn = np.stack([_redrawn(part, rng) for part in parts], axis=1)
    noise = float(drawn.var(axis=0, ddof=1).mean())
    if noise < 1e-12:
        return Spread(observed, observed, math.nan, math.nan)
    low, high = np.quantile(drawn.var(axis=1, ddof=1) - 2 * noise, (0.025, 0.975))
    beyond, low, high = (math.sqrt(max(0.0, square)) for square in (observed**2 - noise, float(low), float(high)))
    return Spread(observed, beyond, low, high)


def _redrawn(part: pd.DataFrame, rng: np.random.Generator) -> Floats:
    """Accuracies of one level when its clusters are drawn again, as far apart as few clusters make the truth lie."""
    clusters = part.groupby("cluster_id")["value"].agg(["sum", "count"])
    drawn = rng.integers(len(clusters), size=(DRAWS, len(clusters)))
    sums, sizes = (clusters[name].to_numpy(np.float64)[drawn].sum(axis=1) for name in ("sum", "count"))
    mean, wider = float(part["value"].mean()), math.sqrt(len(clusters) / (len(clusters) - 1))
    return np.asarray(mean + wider * (sums / sizes - mean), np.float64)


def sections(run: Run, lines: Sequence[Line]) -> Iterator[ReportSection]:
    """By industry with its spread, by concept level, by number of classes; each where there is more than one."""
    yield from by_industry(run, lines)
    yield from by_level(run, lines)
    yield from by_ways(run, lines)


def _at_most_shots(line: Line) -> tuple[str, pd.DataFrame, int] | None:
    """(condition, scores, shots) at the largest number of shots that a line was heard at."""
    if not line.shots:
        return None
    most = line.shots[-1]
    return line.conditions[most], line.heard((most,)), most


def _levels(run: Run, factor: str, order: Sequence[str]) -> list[str]:
    """The levels of a factor among the items, known ones first in their order."""
    found = {item.factors.get(factor, "") for item in run.items.items} - {""}
    return [*(level for level in order if level in found), *sorted(found - set(order))]


def _table(
    run: Run, lines: Sequence[Line], factor: str, levels: Sequence[str]
) -> tuple[list[list[str]], list[figures.Group], list[pd.DataFrame]]:
    """(cells: subject, shots, a level each; rows of results for a figure; scores by subject)."""
    rows, cells, groups, scores = result_rows(run, factor), list[list[str]](), list[figures.Group](), []
    for line in lines:
        held = _at_most_shots(line)
        if held is None or (line.subject, held[0]) not in rows:
            continue
        condition, heard, most = held
        mine = rows[line.subject, condition]
        cells.append([line.subject, str(most), *(cell(mine.get(level)) for level in levels)])
        groups.append((line.name, [_if_heard(mine.get(level)) for level in levels]))
        scores.append(heard.assign(level=[run.items.by_id[name].factors.get(factor, "") for name in heard["item_id"]]))
    return cells, groups, scores


def _if_heard(row: Any) -> Any:
    return row if row is not None and row.n > 0 else None


def _chances(scores: Sequence[pd.DataFrame], levels: Sequence[str]) -> dict[str, float]:
    heard = pd.concat(scores)
    return {level: chance_of(heard[heard["level"] == level]) for level in levels}


def _at_random(chances: Mapping[str, float]) -> list[str]:
    """The last row of a table."""
    return ["(random policy)", "", *(f"{100 * chance:.1f}" for chance in chances.values())]


def _shown(lines: Sequence[Line], groups: Sequence[figures.Group]) -> list[figures.Group]:
    names = {line.name for line in examined(lines)}
    return [group for group in groups if group[0] in names]


def by_industry(run: Run, lines: Sequence[Line]) -> Iterator[ReportSection]:
    """Accuracy in every industry and how far these lie apart (Figure 7)."""
    levels = _levels(run, "industry", INDUSTRIES)
    cells, groups, scores = _table(run, lines, "industry", levels)
    if len(levels) < 2 or not cells:
        return
    for line, heard in zip(cells, scores, strict=True):
        parts = [part for _, part in heard.groupby("level", sort=False)]
        line += _apart(spread(parts, stream("vfm-bench", "spread", line[0])))
    chances = _chances(scores, levels)
    random = float(np.std([value for value in chances.values() if not math.isnan(value)], ddof=1))
    cells.append([*_at_random(chances), f"{100 * random:.1f}", DASH])
    note = (
        "Percent right with 95 % interval at the largest number of shots a subject was asked at, and how far the "
        "industries lie apart: the standard deviation of their accuracies in points, and what is left of it without "
        "the part that draws of so few items would show between industries equally hard (95 % interval, concepts drawn "
        "again within each). Industries have other numbers of classes: the random policy is not equal in all either."
    )
    frame = pd.DataFrame(cells, columns=["subject", "shots", *levels, "spread", "beyond chance of the draw"])
    figure = partial(figures.by_level, _shown(lines, groups), levels, chances)
    yield ReportSection("By industry (Figure 7)", note, frame, figure, "by-industry")


def _apart(found: Spread | None) -> list[str]:
    if found is None:
        return [DASH, DASH]
    if math.isnan(found.beyond):
        return [f"{100 * found.observed:.1f}", DASH]
    return [f"{100 * found.observed:.1f}", spanned(found.beyond, found.low, found.high, 200)]


def by_level(run: Run, lines: Sequence[Line]) -> Iterator[ReportSection]:
    """Accuracy by what names stand for: objects, details, patterns, styles (Table 6)."""
    levels = _levels(run, "concept_level", LEVELS)
    cells, groups, scores = _table(run, lines, "concept_level", levels)
    if len(levels) < 2 or not cells:
        return
    chances = _chances(scores, levels)
    cells.append(_at_random(chances))
    note = (
        "Percent right with 95 % interval at the largest number of shots a subject was asked at, by what the names "
        "stand for (Table 6): whole objects, parts of them, textures and arrangements, or the look of the picture."
    )
    frame = pd.DataFrame(cells, columns=["subject", "shots", *levels])
    figure = partial(figures.by_level, _shown(lines, groups), levels, chances)
    yield ReportSection("By concept level", note, frame, figure, "by-level", detail=True)


def by_ways(run: Run, lines: Sequence[Line]) -> Iterator[ReportSection]:
    """Accuracy by the number of classes, against one over it."""
    found = _levels(run, "ways", ())
    levels = sorted(found, key=int)
    cells, groups, scores = _table(run, lines, "ways", levels)
    if len(levels) < 2 or not cells:
        return
    chances = _chances(scores, levels)
    cells.append(_at_random(chances))
    note = (
        "Percent right with 95 % interval at the largest number of shots a subject was asked at, by the number of "
        "classes to choose from. Chance is one over it."
    )
    frame = pd.DataFrame(cells, columns=["subject", "shots", *(f"{level} classes" for level in levels)])
    figure = partial(figures.by_ways, _shown(lines, groups), [int(level) for level in levels])
    yield ReportSection("By number of classes", note, frame, figure, "by-ways", detail=True)
