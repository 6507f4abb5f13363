"""The report's sections for VFM Bench: the paper's tables and figures, made from our runs.

Printed numbers (`published.py`) are shown only by `--compare published`, never in these tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from snellen.analysis.comparison.groups import counterparts
from snellen.analysis.studies.people import studies_of
from snellen.analysis.tables import plots
from snellen.analysis.tables.cells import DASH, percent, value_range
from snellen.analysis.tables.pivot import table_section
from snellen.analysis.tables.plots import LevelPanel, level_figure
from snellen.analysis.tables.run_view import ReportArm, examined, ordered_levels
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.seeds import stream
from snellen.suites.vfm_bench.items import INDUSTRIES
from snellen.suites.vfm_bench.published import DELTA_GAIN, ETA_GAIN
from snellen.suites.vfm_bench.report.ablations import causes, changes, every_change, strategies
from snellen.suites.vfm_bench.report.confusions import confused_classes
from snellen.suites.vfm_bench.report.shot_series import (
    ShotSeries,
    accuracy_cell,
    accuracy_rows,
    derived_cell,
    derived_interval,
    guess_accuracy,
    percent_interval,
    series_of,
)
from snellen.suites.vfm_bench.shot_curves import (
    Curve,
    DerivedInterval,
    common,
    curve_of,
    delta,
    delta_above_chance,
    eta,
    eta_above_chance,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MEANING = (
    "Efficiency (eta) is the mean gain over 0 shots, across all numbers of shots, as a share of the largest gain; "
    "effectiveness (delta) is the mean gain as a share of the largest possible one"
)
Statistic: TypeAlias = Callable[[Curve], float | None]
UNDEFINED = "undefined"


def sections(run: Run) -> Iterator[ReportSection]:
    """The sections for which the run has numbers: Table 1, findings, Table 4, Figure 7, then our own."""
    series = series_of(run)
    plain = [line for (_, setting), line in series.items() if not setting]
    if gains := shot_gains(run, plain):
        yield from table_1(run, gains)
        yield from above_chance(plain)
    yield from reasoning(run, plain)
    yield from causes(run, series)
    all_changes = changes(run, series)
    yield from strategies(run, series, all_changes)
    yield from every_change(all_changes)
    yield from by_industry(run, plain)
    yield from confused_classes(run, plain)


# Accuracy by number of shots, with efficiency and effectiveness (Table 1, Figure 3, equations 2 and 3)


@dataclass(frozen=True)
class ShotGains:
    """The gains of one subject from shots: a row of results by shots, eta and delta (fractions, NaN if undefined)."""

    series: ShotSeries
    rows: Mapping[int, Any]
    eta: DerivedInterval
    delta: DerivedInterval


def shot_gains(run: Run, plain: Sequence[ShotSeries]) -> list[ShotGains]:
    """The series with their derived numbers, each over the items scored at all its numbers of shots."""
    rows, gains = accuracy_rows(run), []
    for series in plain:
        arms = {shots: ReportArm(series.subject, condition) for shots, condition in series.conditions.items()}
        if any(arm in rows for arm in arms.values()):
            numbers = (derived_interval(f, [series.scored()], f.__name__, series.name) for f in (eta, delta))
            gains.append(ShotGains(series, {shots: rows[arm][""] for shots, arm in arms.items()}, *numbers))
    return gains


def table_1(run: Run, gains: Sequence[ShotGains]) -> Iterator[ReportSection]:
    """Subjects by shots, percent with interval, and the random policy."""
    shots = sorted({count for gain in gains for count in gain.rows})
    cells = []
    for gain in gains:
        curve, sizes = gain.series.curve(), value_range(int(row.n) for row in gain.rows.values() if row.n)
        efficiency = derived_cell(gain.eta, undefined_reason(curve, "undefined: no gain"))
        effectiveness = derived_cell(gain.delta, undefined_reason(curve, "undefined: perfect at 0 shots"))
        accuracies = (accuracy_cell(gain.rows.get(count)) for count in shots)
        cells.append([gain.series.subject, sizes, *accuracies, efficiency, effectiveness])
    scores = pd.concat([gain.series.scored() for gain in gains])
    chances = {count: guess_accuracy(scores[scores["shots"] == count]) for count in shots}
    guesses = [f"{100 * chances[count]:.1f}" if not math.isnan(chances[count]) else DASH for count in shots]
    cells.append(["(random policy)", value_range([scores["item_id"].nunique()]), *guesses, DASH, DASH])
    note = (
        "Percent right with 95 % interval, by the number of solved examples per class (shots). The random policy is "
        "exact: the mean of one over the number of classes. "
        f"{MEANING}. Both are in percent, over the items scored at all of a "
        "subject's numbers of shots, with intervals from resampled concepts. Their means depend on the numbers of "
        "shots run. Neither is defined without 0 shots; efficiency is undefined without any gain, effectiveness if 0 "
        "shots are perfect."
    )
    if not studies_of(run.card.arms).isdisjoint(gain.series.subject for gain in gains):
        note += (
            " People answered at some numbers of shots only. Their accuracies have intervals over people and items, "
            "efficiency and effectiveness over items alone."
        )
    heads = ("1 shot" if count == 1 else f"{count} shots" for count in shots)
    names = ["subject", "items", *heads, "efficiency", "effectiveness"]
    in_figure = examined(run, [gain.series for gain in gains])[: plots.MAX_SERIES]
    figure = partial(by_shots, [gain for gain in gains if gain.series in in_figure], chances)
    yield from table_section("Accuracy by shots (Table 1, Figure 3)", note, names, cells, "table-1", figure)


def undefined_reason(curve: Curve, otherwise: str) -> str:
    """The reason, in words, that a curve has no efficiency or effectiveness."""
    if 0 not in curve:
        return "undefined: no 0 shots"
    return otherwise if len(curve) > 1 else "undefined: no demos"


def by_shots(gains: Sequence[ShotGains], chances: Mapping[int, float]) -> Figure:
    """Accuracy against shots with interval bands and chance, next to efficiency and effectiveness (Figure 3).

    Efficiency or effectiveness is left out if it is undefined for all subjects.
    """
    derived = {"efficiency η": [gain.eta for gain in gains], "effectiveness δ": [gain.delta for gain in gains]}
    derived = {name: numbers for name, numbers in derived.items() if not all(math.isnan(n.value) for n in numbers)}
    size = 7 + 2.2 * len(derived), 3.5 + 0.16 * len(gains)
    figure, (curves, *beside) = plots.panel_figure(1 + len(derived), size, width_ratios=[2.2] + [1] * len(derived))
    for index, gain in enumerate(gains):
        rows = {shots: row for shots, row in gain.rows.items() if row.n}
        accuracy, low, high = ([getattr(row, end) for row in rows.values()] for end in ("value", "low", "high"))
        appearance, label = plots.series_appearance(index), plots.two_lines(gain.series.name)
        curves.plot(list(rows), accuracy, linewidth=1.6, label=label, **appearance)
        curves.fill_between(list(rows), low, high, color=appearance["color"], alpha=0.13, linewidth=0)
    known_chances = {shots: chance for shots, chance in chances.items() if not math.isnan(chance)}
    curves.plot(
        list(known_chances), list(known_chances.values()), color=plots.MUTED, linestyle="--", label="random policy"
    )
    curves.set(xticks=sorted(chances), xlabel="solved examples of every class", title="accuracy")
    plots.percent_axis(curves)
    for axes, (name, numbers) in zip(beside, derived.items(), strict=True):
        _draw_derived(axes, name, numbers)
    plots.legend_below(figure, curves)
    return figure


def _draw_derived(axes: Axes, title: str, numbers: Sequence[DerivedInterval]) -> None:
    """One dot with interval per subject, in the colour of its line; undefined numbers are marked as such."""
    place: Any = ("axes fraction", "data")
    for index, derived in enumerate(numbers):
        if math.isnan(derived.value):
            axes.annotate("undefined", (0.02, index), xycoords=place, va="center", color=plots.MUTED)
            continue
        plots.draw_levels(axes, [derived], [index], horizontal=True, elinewidth=1.3, **plots.series_appearance(index))
    axes.set_ylim(len(numbers) - 0.4, -0.6)
    axes.set_yticks([])
    defined = [derived for derived in numbers if not math.isnan(derived.value)]
    lowest = min([0.0, *(np.nanmin([derived.value, derived.low]) for derived in defined)])
    axes.set_xlim(max(-1.0, lowest) - 0.04, 1.04)
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}")
    axes.set_title(f"{title}, %")
    plots.plain_axes(axes, "x")


def above_chance(plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Efficiency and effectiveness with exact chance instead of 0 shots, for all subjects, if one lacks 0 shots."""
    with_demos = [series for series in plain if max(series.shots, default=0) > 0]
    if all(0 in series.shots for series in with_demos):
        return
    cells = []
    for series in with_demos:
        scores = series.scored(k for k in series.shots if k > 0)
        arms = [scores, scores.drop_duplicates("item_id").assign(shots=0, value=lambda rows: rows["chance"])]
        numbers = [
            derived_interval(lambda curve, base, f=f: f(curve, base[0]), arms, f"{name} above chance", series.name)
            for name, f in (("eta", eta_above_chance), ("delta", delta_above_chance))
        ]
        derived = derived_cell(numbers[0], "undefined: no gain"), derived_cell(numbers[1], "undefined")
        cells.append([series.subject, percent(guess_accuracy(scores), 200), *derived])
    note = (
        "Encoders know no names and cannot answer without demos. Here exact chance on the scored items replaces the "
        "accuracy at 0 shots for all subjects, so these numbers can be compared with each other but not with those of "
        f"Table 1. {MEANING}. Percent with 95 % interval."
    )
    names = ["subject", "chance", "efficiency above chance", "effectiveness above chance"]
    yield from table_section("The same with chance instead of 0 shots", note, names, cells, "table-1-above-chance")


# Industries (Figure 7)

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
    in_figure = {series.name: of_series[series] for series in examined(run, list(of_series))}
    figure = partial(level_figure, [LevelPanel("", levels, in_figure, chances)], "random policy")
    yield from table_section("By industry (Figure 7)", note, names, lines, "by-industry", figure)


def _spread_cells(between: LevelSpread | None) -> list[str]:
    if between is None:
        return [DASH, DASH]
    is_known = not math.isnan(between.beyond)
    beyond = percent_interval(between.beyond, between.low, between.high, 200) if is_known else DASH
    return [f"{100 * between.observed:.1f}", beyond]


# Reasoning models and their counterparts (finding 3 of section 4.2)


def mean_gap(statistic: Statistic, curves: Sequence[Curve]) -> float | None:
    """The mean of a statistic over reasoning models minus that over their counterparts; None if any is undefined.

    `curves` alternate between a reasoning model and its counterpart.
    """
    numbers = [statistic(curve) for curve in curves]
    defined = [number for number in numbers if number is not None]
    if not defined or len(defined) < len(numbers):
        return None
    return float(np.mean(defined[::2]) - np.mean(defined[1::2]))


def reasoning(run: Run, plain: Sequence[ShotSeries]) -> Iterator[ReportSection]:
    """Eta and delta of every pair with their differences in points, and the means over the pairs."""
    by_name = {series.subject: series for series in plain if len(series.shots) > 1}
    compared = [(by_name[a], by_name[b]) for a, b in counterparts(run.card.arms) if a in by_name and b in by_name]
    cells = [[first.subject, second.subject, *_compare(first, second)] for first, second in compared]
    if len(compared) > 1:
        arms = [arm for first, second in compared for arm in _at_common_shots(first, second)]
        gaps = [_gap_cell(statistic, arms, "all") for statistic in (eta, delta)]
        cells.append([f"(mean of {len(compared)} pairs)", "", DASH, DASH, gaps[0], DASH, DASH, gaps[1]])
    note = (
        "Efficiency (eta) and effectiveness (delta) in percent, and the first subject's minus the second's in "
        "percentage points with 95 % interval (concepts resampled jointly), on the items scored in both at all numbers "
        "of shots that both have. Pairs are those named by subjects (attributes reasoning and counterpart), and one "
        "model with and without reasoning effort. The paper prints means over three pairs: "
        f"{ETA_GAIN:+.1f} in efficiency and {DELTA_GAIN:+.1f} in effectiveness, written as percent; they are points."
    )
    names = ["reasons", "counterpart", "efficiency", "its", "difference", "effectiveness", "its ", "difference "]
    yield from table_section("Reasoning models and their counterparts (Finding 3)", note, names, cells, "reasoning")


def _at_common_shots(first: ShotSeries, second: ShotSeries) -> list[pd.DataFrame]:
    shots = set(first.shots) & set(second.shots)
    return [first.scored(shots), second.scored(shots)]


def _compare(first: ShotSeries, second: ShotSeries) -> Iterator[str]:
    """Eta of both and the difference, then delta of both and the difference."""
    arms = _at_common_shots(first, second)
    if any(arm.empty for arm in arms) or (on_common_items := common(arms))[0].empty:
        yield from [DASH] * 6
        return
    curves = [curve_of(arm) for arm in on_common_items]
    for statistic in (eta, delta):
        for curve in curves:
            number = statistic(curve)
            yield UNDEFINED if number is None else f"{100 * number:.1f}"
        yield _gap_cell(statistic, arms, first.subject, second.subject)


def _gap_cell(statistic: Statistic, arms: Sequence[pd.DataFrame], *key: str) -> str:
    gap = derived_interval(lambda *curves: mean_gap(statistic, curves), arms, "reasoning", statistic.__name__, *key)
    # Written with one decimal, since differences of ratios are small.
    return derived_cell(gap._replace(items=max(gap.items, 200)) if gap.items else gap, UNDEFINED, "+")
