"""The sections of a report that only AVA-Bench has: the paper's tables and figures for our runs.

Printed numbers appear only in a report's comparison (`published.py`), never in these tables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from snellen.analysis.comparison.evaluators import EvaluatorPair, evaluator_pairs, evaluator_table
from snellen.analysis.tables.cells import DASH, column_head, decimal_interval, listing, number, with_interval
from snellen.analysis.tables.pivot import table_section
from snellen.analysis.tables.plots import FAINT, MAX_SERIES, MUTED, SERIES, draw_heat, panel_figure, two_lines
from snellen.analysis.tables.rankings import ScoreMatrix, ranked, spread
from snellen.analysis.tables.run_view import (
    arms_with_all,
    examined,
    lines_of,
    main_arms,
    main_metric,
    mean_chance,
    result_rows,
    row_of,
    score_matrix,
    scored,
    scored_tasks,
)
from snellen.analysis.tables.section import ReportSection, Run
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.core.storage.runfolder import ArmCard
from snellen.suites.ava_bench.abilities import composites
from snellen.suites.ava_bench.balance import FactorBalance, balances
from snellen.suites.ava_bench.published import COLUMNS, TRAINING_ITEMS
from snellen.suites.ava_bench.report import composite

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def sections(run: Run) -> Iterator[ReportSection]:
    """Sections for the run's numbers: ranks (Table 5, Figure 6), fingerprints, evaluators, composites, balance."""
    arms = main_arms(run)
    ranks_over = scored_tasks(run, examined(run, arms), COLUMNS)
    compared = arms_with_all(run, examined(run, arms), ranks_over) if ranks_over else []
    if len(compared) > 1:
        abilities = [score_matrix(run, task, compared) for task in ranks_over]
        yield from ranks(run, compared, abilities)
        yield from spreads(run, compared, abilities)
    yield from fingerprint(run, arms)
    yield from evaluators(run, examined(run, arms))
    yield from composite.sections(run, arms)
    if scored_tasks(run, arms, (*COLUMNS, *composites())):
        yield from balance_section(run)


# Ranks


def ranks(run: Run, arms: Sequence[ArmCard], abilities: Sequence[ScoreMatrix]) -> Iterator[ReportSection]:
    """Ranks and average rank with intervals, best first (Table 5); as a map (Figure 6)."""
    by_ability = ranked(abilities)
    average = by_ability[""]
    order = sorted(range(len(arms)), key=lambda n: average[n].value)
    names = [ability.name for ability in abilities]
    lines = [
        [arms[n].subject, decimal_interval(*average[n], 2), *(decimal_interval(*by_ability[name][n]) for name in names)]
        for n in order
    ]
    condition = set(main_arms(run)[0].condition.split(","))
    note = (
        f"Ranks among the {len(arms)} subjects that were asked about all of these abilities, 1 for the best and ties "
        "averaged, with 95 % intervals. Two subjects are compared on the items for which both have a score; an "
        "interval holds the ranks that remain possible given the subjects that are clearly better or worse. The "
        "average rank weights all abilities equally. Like any rank it depends on the other subjects."
    )
    if condition != {"vanilla"}:
        note += f" All under {listing(sorted(condition))}."
    numbers = [[by_ability[name][n].value for name in names] for n in order]
    figure = partial(rank_map, [arms[n].subject for n in order], names, numbers)
    heads = ["subject", "average rank", *names]
    yield from table_section("Ranks (Table 5, Figure 6)", note, heads, lines, "ranks", figure)


def rank_map(subjects: Sequence[str], tasks: Sequence[str], numbers: Sequence[Sequence[float]]) -> Figure:
    """Ranks as colours, subjects down and abilities across, dark for the first (Figure 6)."""
    figure, (axes,) = panel_figure(1, (2.6 + 0.55 * len(tasks), 1.6 + 0.34 * len(subjects)))
    shades = 1 - (np.array(numbers, float) - 1) / (1.15 * len(subjects))
    texts = [[f"{rank:g}" for rank in row] for row in numbers]
    draw_heat(axes, shades, texts, [two_lines(name) for name in subjects], tasks)
    return figure


def spreads(run: Run, arms: Sequence[ArmCard], abilities: Sequence[ScoreMatrix]) -> Iterator[ReportSection]:
    """The spread of subjects in every ability."""
    lines = []
    for ability in abilities:
        between = spread(ability, stream("ava-bench", "spread", ability.name, *(arm.subject for arm in arms)))
        if between is None:
            continue
        metric = main_metric(run, ability.name)
        values = (between.observed, between.span, between.beyond, between.low, between.high)
        observed, span, *beyond = (number(score, metric, between.n) for score in values)
        beyond_draw = DASH if math.isnan(between.beyond) else with_interval(*beyond)
        chance = mean_chance(scored(result_rows(run, ability.name)))
        share = abs(normalized_score(chance + between.observed, chance, metric))
        share_text = DASH if math.isnan(share) else f"{100 * share:.1f}"
        lines.append([column_head(ability.name, metric), observed, beyond_draw, span, share_text, str(between.n)])
    note = (
        "The standard deviation of the subjects' scores in every ability, on the items for which all of them have a "
        "score; the part of it beyond the sampling of items (95 % interval); and best minus worst. To compare "
        "abilities, the standard deviation is also given in percent of the way from chance to a perfect score."
    )
    names = ["ability", "spread", "beyond chance of the draw", "best minus worst", "% of the way", "items"]
    yield from table_section("How far subjects lie apart", note, names, lines, "spread")


# Fingerprints (Figure 5)

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
MIN_ABILITIES = 3
"""The minimum number of abilities for a ring."""


def tower_of(arm: ArmCard) -> str:
    """The tower of Table 5 that a subject uses, by its attribute `tower` or its name; empty for others."""
    name = arm.attributes.get("tower", arm.subject).casefold()
    return next((tower for tower, pattern in TOWERS if re.search(pattern, name)), "")


def normalized_score(score: float, chance: float, metric: Metric) -> float:
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
    shares = {
        arm.subject: [_normalized_score(run, rows[task], arm, task, chances[task]) for task in tasks] for arm in arms
    }
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
    figure = partial(draw_rings, _panels(examined(run, arms)), tasks, shares)
    yield from table_section("Fingerprints (Figure 5)", note, ["subject", *tasks], lines, "fingerprints", figure)


def _normalized_score(run: Run, rows: pd.DataFrame, arm: ArmCard, task: str, chance: float) -> float:
    row = row_of(rows, arm)
    return math.nan if row is None else normalized_score(float(row.value), chance, main_metric(run, task))


def _panels(arms: Sequence[ArmCard]) -> list[tuple[list[str], str]]:
    """(subjects, reference) per panel: the halves of Figure 5 for subjects with its towers, then all others."""
    towers = {arm.subject: tower_of(arm) for arm in arms}
    panels = []
    for is_left, reference_tower in ((True, "DINOv2"), (False, "SigLIP-2")):
        half = [name for name, tower in towers.items() if tower and (tower in LANGUAGE_SUPERVISED) is is_left]
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


# Figure 7


def evaluators(run: Run, arms: Sequence[ArmCard]) -> Iterator[ReportSection]:
    """The agreement of two evaluators on the ranks of common encoders (Figure 7), and the gaps of their scores.

    Subjects declare both by their attributes `evaluator` (such as the language model after the tower) and `tower`.
    """
    tasks = scored_tasks(run, arms, COLUMNS)
    tables = [(pair, evaluator_table(run, pair, tasks)) for pair in evaluator_pairs(arms)]
    orders = [line for pair, table in tables for line in _order_lines(pair, table)]
    gaps = [line for pair, table in tables for line in _gap_lines(run, pair, table)]
    note = (
        "Kendall's tau-b and Spearman's rho between the orders of the same encoders under two evaluators, 1 for "
        "the same order and -1 for the opposite one, with 95 % intervals: items are resampled, encoders are not. p "
        "is the probability that encoders in random order agree as well."
    )
    names = ["evaluator", "other evaluator", "ability", "encoders"]
    agreement = [*names, "tau-b", "p", "rho"]
    yield from table_section("Do evaluators agree? (Figure 7)", note, agreement, orders, "evaluators")
    note = (
        "Mean scores of all encoders that both evaluators read, and by how much the first is better (95 % "
        "interval, paired over items; negative: worse), in the unit of the metric. The last column is the number "
        f"of training items: the paper has at least {TRAINING_ITEMS:,} per ability; fewer make a weak comparison."
    )
    names += ["score", "other score", "gap", "training items"]
    yield from table_section("How far evaluators lie apart", note, names, gaps, "gaps")


def _order_lines(pair: EvaluatorPair, table: pd.DataFrame) -> Iterator[list[str]]:
    rhos = {row.task: decimal_interval(row.value, row.low, row.high, 2) for row in _rows(table, "rho")}
    for row in _rows(table, "tau"):
        tau, p = decimal_interval(row.value, row.low, row.high, 2), DASH if math.isnan(row.p) else f"{row.p:.2f}"
        yield [pair.first, pair.second, row.task, str(row.encoders), tau, p, rhos.get(row.task, DASH)]


def _rows(table: pd.DataFrame, measure: str) -> Iterator[Any]:
    return lines_of(table[table["measure"] == measure])


def _gap_lines(run: Run, pair: EvaluatorPair, table: pd.DataFrame) -> Iterator[list[str]]:
    for row in _rows(table[table["encoder"] == ""], "gap"):
        metric = main_metric(run, row.task)
        first, second, *gap = (
            number(score, metric, row.items) for score in (row.score, row.other_score, row.value, row.low, row.high)
        )
        text = gap[0] if math.isnan(row.low) else with_interval(*gap)
        learnt = str(sum(item.split == run.suite.tasks[row.task].train_split for item in run.items.task(row.task)))
        yield [pair.first, pair.second, column_head(row.task, metric), str(row.encoders), first, second, text, learnt]


# Balance


def balance_section(run: Run) -> Iterator[ReportSection]:
    """The balance between training and testing in the item set that was asked (section 3.3)."""
    lines = []
    for balance in balances(run.items.items):
        counts = (_count_range(counts, balance.levels) for counts in (balance.train, balance.test))
        apart = f"{100 * balance.apart():.1f}" if balance.both else DASH
        factor, levels = balance.factor.replace("_", " "), str(len(balance.levels))
        lines.append([balance.task, factor, levels, *counts, _same_levels(balance), apart])
    note = (
        "For each factor by which the items of an ability are balanced: the number of levels, the fewest and the most "
        "training and test items per level (0 if a split lacks one), whether both splits have the same levels, and the "
        "greatest difference, in points, between a level's shares of the two (section 3.3: testing mirrors training). "
        "Factors with one level are left out."
    )
    names = ["ability", "factor", "levels", "train items per level", "test items per level", "same levels", "apart"]
    yield from table_section("Balance of the items", note, names, lines, "balance", detail=True)


def _count_range(counts: Mapping[str, int], levels: Sequence[str]) -> str:
    by_level = [counts.get(level, 0) for level in levels]
    return f"{min(by_level)} to {max(by_level)}" if sum(by_level) else DASH


def _same_levels(balance: FactorBalance) -> str:
    if not balance.both:
        return DASH
    lone = [f"{len(levels)} only in {split}" for split in ("train", "test") if (levels := balance.only_in(split))]
    return ", ".join(lone) or "yes"
