"""What a report shows of AVA-Bench beyond what every suite gets: the paper's tables and figures, made of our runs.

Printed numbers stand beside ours where a report is asked to compare (`published.py`), never in these tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd

from snellen.analysis.cells import DASH, column_head, decimal_interval, listing, metric_cell, number, with_interval
from snellen.analysis.evaluators import EvaluatorPair, evaluator_pairs, evaluator_table
from snellen.analysis.rankings import ScoreMatrix, ranked, spread
from snellen.analysis.run_view import (
    arms_with_all,
    blind_score,
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
from snellen.analysis.section import ReportSection, Run, protocol_of
from snellen.core.seeds import stream
from snellen.core.storage.runfolder import ArmCard
from snellen.suites.ava_bench.abilities import composites
from snellen.suites.ava_bench.published import COLUMNS, TRAINING_ITEMS
from snellen.suites.ava_bench.report import balance, composite, figures
from snellen.suites.ava_bench.report.fingerprints import fingerprint, share_of_way
from snellen.suites.ava_bench.report.subgroups import subgroup


def sections(run: Run) -> Iterator[ReportSection]:
    """Whatever the run has numbers for: scores, ranks (Table 5), Figures 5 to 8, subgroups (Figures 21 to 28)."""
    arms = main_arms(run)
    tasks, composed = scored_tasks(run, arms, COLUMNS), scored_tasks(run, arms, composites())
    if tasks:
        yield scores(run, arms, tasks)
    ranks_over = scored_tasks(run, examined(arms), COLUMNS)
    compared = arms_with_all(run, examined(arms), ranks_over) if ranks_over else []
    if len(compared) > 1:
        abilities = [score_matrix(run, task, compared) for task in ranks_over]
        yield ranks(run, compared, abilities)
        yield spreads(run, compared, abilities)
    yield from fingerprint(run, arms)
    yield from evaluators(run, examined(arms))
    yield from composite.sections(run, arms)
    for task in (*tasks, *composed):
        yield from subgroup(run, task, arms)
    if tasks or composed:
        yield from balance.sections(run)


# Scores and ranks


def scores(run: Run, arms: Sequence[ArmCard], tasks: Sequence[str]) -> ReportSection:
    """Every ability with interval, chance and the blind baseline."""
    rows = {task: scored(result_rows(run, task)) for task in tasks}
    metrics = {task: main_metric(run, task) for task in tasks}
    lines = [[arm.subject, *(metric_cell(row_of(rows[task], arm), metrics[task]) for task in tasks)] for arm in arms]
    chances = [number(mean_chance(rows[task]), metrics[task], 200) for task in tasks]
    lines.append(["(chance)", *chances])
    blind = {task: blind_score(rows[task]) for task in tasks}
    if not all(map(math.isnan, blind.values())):
        lines.append(["(blind)", *(number(blind[task], metrics[task], 200) for task in tasks)])
    note = (
        "Scores with 95 % interval: percent right, or what the head of the column names (giou from -1 to 1; "
        "mae_over_gt, the error as a share of the truth; ciede2000, a difference of colours; anls, the likeness of "
        f"texts in percent). Scored {protocol_of(run)}. Chance of a choice comes from its options, that of any "
        "other answer is what the truth of another item is worth. Blind is what the best attacker gets that does not "
        "look: a subject that is no better need not have seen anything. Arrows show where better is."
    )
    frame = pd.DataFrame(lines, columns=["subject", *(column_head(task, metrics[task]) for task in tasks)])
    return ReportSection("The abilities one by one", note, frame, None, "abilities")


def ranks(run: Run, arms: Sequence[ArmCard], abilities: Sequence[ScoreMatrix]) -> ReportSection:
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
        "averaged, with 95 % intervals. Two subjects are compared on the items that both have a score for; an interval "
        "holds the ranks that are left by whom a subject is clearly better or worse than. The average rank counts all "
        "abilities alike. Like any rank it changes with who else is ranked."
    )
    if condition != {"vanilla"}:
        note += f" All under {listing(sorted(condition))}."
    frame = pd.DataFrame(lines, columns=["subject", "average rank", *names])
    numbers = [[by_ability[name][n].value for name in names] for n in order]
    figure = partial(figures.rank_map, [arms[n].subject for n in order], names, numbers)
    return ReportSection("Ranks (Table 5, Figure 6)", note, frame, figure, "ranks")


def spreads(run: Run, arms: Sequence[ArmCard], abilities: Sequence[ScoreMatrix]) -> ReportSection:
    """How far subjects lie apart in every ability."""
    lines = []
    for ability in abilities:
        between = spread(ability, stream("ava-bench", "spread", ability.name, *(arm.subject for arm in arms)))
        if between is None:
            continue
        metric = main_metric(run, ability.name)
        observed, span = (number(score, metric, between.n) for score in (between.observed, between.span))
        beyond = (number(score, metric, between.n) for score in (between.beyond, between.low, between.high))
        beyond_draw = DASH if math.isnan(between.beyond) else with_interval(*beyond)
        chance = mean_chance(scored(result_rows(run, ability.name)))
        share = abs(share_of_way(chance + between.observed, chance, metric))
        share_text = DASH if math.isnan(share) else f"{100 * share:.1f}"
        lines.append([column_head(ability.name, metric), observed, beyond_draw, span, share_text, str(between.n)])
    note = (
        "The standard deviation of the subjects' scores in every ability, on the items that all of them have a score "
        "for; what is left of it without what the draw of the items adds (95 % interval); and best minus worst. To "
        "compare abilities, the standard deviation also in percent of the way from chance to a perfect score."
    )
    names = ["ability", "spread", "beyond chance of the draw", "best minus worst", "% of the way", "items"]
    frame = pd.DataFrame(lines, columns=names)
    return ReportSection("How far subjects lie apart", note, frame, None, "spread")


# Figure 7


def evaluators(run: Run, arms: Sequence[ArmCard]) -> Iterator[ReportSection]:
    """How alike two evaluators rank the encoders that both have (Figure 7), and how far their scores lie apart.

    Subjects tell by their attributes `evaluator` (the language model behind the tower, say) and `tower`.
    """
    tasks = scored_tasks(run, arms, COLUMNS)
    tables = [(pair, evaluator_table(run, pair, tasks)) for pair in evaluator_pairs(arms)]
    orders = [line for pair, table in tables for line in _order_lines(pair, table)]
    gaps = [line for pair, table in tables for line in _gap_lines(run, pair, table)]
    note = (
        "Kendall's tau-b and Spearman's rho between the orders in which two evaluators put the same encoders, 1 for "
        "the same order and -1 for the opposite one, with 95 % intervals: items are drawn again, encoders are not. p "
        "is how often encoders in an order by chance would agree as well."
    )
    if orders:
        frame = pd.DataFrame(
            orders, columns=["evaluator", "other evaluator", "ability", "encoders", "tau-b", "p", "rho"]
        )
        yield ReportSection("Do evaluators agree? (Figure 7)", note, frame, None, "evaluators")
    if gaps:
        names = ["evaluator", "other evaluator", "ability", "encoders", "score", "other score", "gap", "training items"]
        note = (
            "Mean scores of all encoders that both evaluators read, and by how much the first is better (95 % "
            "interval, paired over items; negative: worse), in the unit of the metric. Of how many training items they "
            f"could learn: with fewer than {TRAINING_ITEMS:,} an ability, as the paper has, the comparison is small."
        )
        yield ReportSection("How far evaluators lie apart", note, pd.DataFrame(gaps, columns=names), None, "gaps")


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
