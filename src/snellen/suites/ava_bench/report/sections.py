"""What a report shows of AVA-Bench beyond what every suite gets: the paper's tables and figures, made of our runs.

Printed numbers stand beside ours where a report is asked to compare (`published.py`), never in these tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations

import pandas as pd

from snellen.analysis.cells import DASH, listed
from snellen.analysis.rankings import Ability, agreement, average_agreement, ranked, spread
from snellen.analysis.section import ReportSection, Run, protocol_of
from snellen.core.runfolder import ArmCard
from snellen.core.seeds import stream
from snellen.suites.ava_bench import balance
from snellen.suites.ava_bench.abilities import ability_named, composites
from snellen.suites.ava_bench.no_image_baselines import blind
from snellen.suites.ava_bench.report import composite, figures
from snellen.suites.ava_bench.report.run_view import (
    ability_of,
    cell,
    chance_of,
    complete,
    examined,
    headed,
    levels_of,
    main_arms,
    metric_of,
    number,
    of_the_way,
    result_rows,
    row_of,
    span,
    tasks_of,
    tower_of,
)

LANGUAGE_SUPERVISED = ("SigLIP-2", "AIMv2", "SigLIP-1", "CLIP", "InternVL-2.5")
"""Towers left in Figure 5, with DINOv2 as reference; the others stand right, with SigLIP-2 as theirs."""
REFERENCES = ("DINOv2", "SigLIP-2")
MIN_ENCODERS = 3
"""Of fewer encoders an order says next to nothing: two agree or disagree by a coin's toss."""


def sections(run: Run) -> Iterator[ReportSection]:
    """Whatever the run has numbers for: scores, ranks (Table 5), Figures 5 to 8, subgroups (Figures 21 to 28)."""
    arms = main_arms(run)
    tasks, composed = tasks_of(run, arms), tasks_of(run, arms, composites())
    if tasks:
        yield scores(run, arms, tasks)
    ranks_over = tasks_of(run, examined(arms))
    compared = complete(run, examined(arms), ranks_over) if ranks_over else []
    if len(compared) > 1:
        abilities = [ability_of(run, task, compared) for task in ranks_over]
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
    """Every ability with interval and chance, and what is had without any picture where the run's items tell it."""
    rows = {task: result_rows(run, task) for task in tasks}
    lines = [[arm.subject, *(cell(row_of(rows[task], arm), metric_of(run, task)) for task in tasks)] for arm in arms]
    chances = [number(chance_of(rows[task]), metric_of(run, task), 200) for task in tasks]
    lines += [["(chance)", *chances], *(sightless := _without_pictures(run, tasks))]
    note = (
        "Scores with 95 % interval: percent right, or what the head of the column names (giou from -1 to 1; "
        "mae_over_gt, the error as a share of the truth; ciede2000, a difference of colours; anls, the likeness of "
        f"texts in percent). Scored {protocol_of(run)}. Chance of a choice comes from its options, that of any "
        "other answer is what the best single answer gets. Arrows show where better is."
    )
    if sightless:
        note += (
            " Two lines tell what is had without any picture, learnt on the training items: by one and the same answer "
            "to every test item, and by who goes by the words of each question alone. A subject that is better than "
            "chance and no better than these need not have seen anything."
        )
    frame = pd.DataFrame(lines, columns=["subject", *(headed(run, task) for task in tasks)])
    return ReportSection("The abilities one by one", note, frame, None, "abilities")


def _without_pictures(run: Run, tasks: Sequence[str]) -> list[list[str]]:
    """A line each for the best single answer and for words alone; none without training items, or under `published`."""
    if protocol_of(run) != "strict":
        return []
    asked = set(run.scores["strict"]["item_id"])
    known = blind(item for item in run.items.items if item.split == "train" or item.item_id in asked)
    names = {"best_single": "(best single answer)", "words_alone": "(words alone)"}
    return [
        [told, *(number(known[task][name], metric_of(run, task), 200) if task in known else DASH for task in tasks)]
        for name, told in names.items()
        if any(task in known for task in tasks)
    ]


def ranks(run: Run, arms: Sequence[ArmCard], abilities: Sequence[Ability]) -> ReportSection:
    """Ranks and average rank with intervals, best first (Table 5); as a map (Figure 6)."""
    told = ranked(abilities, stream("ava-bench", "ranks", *(arm.subject for arm in arms)))
    order = sorted(range(len(arms)), key=lambda n: told[""][n].value)
    names = [ability.name for ability in abilities]
    lines = [[arms[n].subject, span(told[""][n], 2), *(span(told[name][n]) for name in names)] for n in order]
    asked = set(main_arms(run)[0].condition.split(","))
    note = (
        f"Ranks among the {len(arms)} subjects that were asked about all of these abilities, 1 for the best and ties "
        "averaged, with 95 % intervals. Two subjects are compared on the items that both have a score for, and "
        "clusters of items are drawn again for all subjects at once. The average rank counts all abilities alike. Like "
        "any rank it changes with who else is ranked."
    )
    if asked != {"vanilla"}:
        note += f" All under {listed(sorted(asked))}."
    frame = pd.DataFrame(lines, columns=["subject", "average rank", *names])
    values = [[told[name][n].value for name in names] for n in order]
    figure = partial(figures.rank_map, [arms[n].subject for n in order], names, values)
    return ReportSection("Ranks (Table 5, Figure 6)", note, frame, figure, "ranks")


def spreads(run: Run, arms: Sequence[ArmCard], abilities: Sequence[Ability]) -> ReportSection:
    """How far subjects lie apart in every ability."""
    lines = []
    for ability in abilities:
        found = spread(ability, stream("ava-bench", "spread", ability.name, *(arm.subject for arm in arms)))
        if found is None:
            continue
        metric = metric_of(run, ability.name)
        seen, reach = (number(value, metric, found.n) for value in (found.observed, found.span))
        beyond = [number(value, metric, found.n) for value in (found.beyond, found.low, found.high)]
        told = DASH if math.isnan(found.beyond) else f"{beyond[0]} [{beyond[1]}, {beyond[2]}]"
        chance = chance_of(result_rows(run, ability.name))
        share = abs(of_the_way(chance + found.observed, chance, metric))
        way = DASH if math.isnan(share) else f"{100 * share:.1f}"
        lines.append([headed(run, ability.name), seen, told, reach, way, str(found.n)])
    note = (
        "The standard deviation of the subjects' scores in every ability, on the items that all of them have a score "
        "for; what is left of it without what the draw of the items adds (95 % interval); and best minus worst. To "
        "compare abilities, the standard deviation also in percent of the way from chance to a perfect score."
    )
    names = ["ability", "spread", "beyond chance of the draw", "best minus worst", "% of the way", "items"]
    frame = pd.DataFrame(lines, columns=names)
    return ReportSection("How far subjects lie apart", note, frame, None, "spread")


# Figure 5


def fingerprint(run: Run, arms: Sequence[ArmCard]) -> Iterator[ReportSection]:
    """How much of the way from chance to perfect each subject goes in every ability, as an outline (Figure 5)."""
    rows = {task: result_rows(run, task) for task in tasks_of(run, arms)}
    chances = {task: chance_of(held) for task, held in rows.items()}
    tasks = [task for task, chance in chances.items() if not math.isnan(chance)]
    if len(tasks) < MIN_ENCODERS:
        return
    shares = {arm.subject: [_way(run, rows[task], arm, task, chances[task]) for task in tasks] for arm in arms}
    lines = [[name, *(DASH if math.isnan(x) else f"{100 * x:.0f}" for x in values)] for name, values in shares.items()]
    note = (
        "Percent of the way from chance (0, in the middle) to a perfect score (100, at the rim), so that abilities "
        "with other measures stand in one ring; drawn at 0 where worse than chance. The paper does not say how its "
        "rings are scaled. As there, towers supervised by language stand beside DINOv2, the others beside SigLIP-2, "
        "where the run has them."
    )
    figure = partial(figures.fingerprints, _panels(examined(arms)), tasks, shares)
    frame = pd.DataFrame(lines, columns=["subject", *tasks])
    yield ReportSection("Fingerprints (Figure 5)", note, frame, figure, "fingerprints")


def _way(run: Run, rows: pd.DataFrame, arm: ArmCard, task: str, chance: float) -> float:
    row = row_of(rows, arm)
    return math.nan if row is None else of_the_way(float(row.value), chance, metric_of(run, task))


def _panels(arms: Sequence[ArmCard]) -> list[tuple[list[str], str]]:
    """(subjects, reference) a panel: the halves of Figure 5 where subjects have its towers, then everybody else."""
    towers = {arm.subject: tower_of(arm) for arm in arms}
    halves: list[list[str]] = [
        [name for name, tower in towers.items() if tower in LANGUAGE_SUPERVISED],
        [name for name, tower in towers.items() if tower and tower not in LANGUAGE_SUPERVISED],
    ]
    panels = []
    for mine, wanted in zip(halves, REFERENCES, strict=True):
        reference = next((name for name, tower in towers.items() if tower == wanted), "")
        panels += [(part, reference) for part in _parts(mine)]
    return panels + [(part, "") for part in _parts([name for name, tower in towers.items() if not tower])]


def _parts(names: list[str]) -> list[list[str]]:
    return [names[start : start + figures.MOST] for start in range(0, len(names), figures.MOST)]


# Figure 7


def evaluators(run: Run, arms: Sequence[ArmCard]) -> Iterator[ReportSection]:
    """How alike two evaluators rank the encoders that both have (Figure 7).

    Subjects tell by their attributes `evaluator` (the language model behind the tower, say) and `tower`.
    """
    held: dict[str, dict[str, ArmCard]] = {}
    for arm in arms:
        if arm.attributes.get("evaluator") and arm.attributes.get("tower"):
            held.setdefault(arm.attributes["evaluator"], {}).setdefault(arm.attributes["tower"], arm)
    lines = []
    for first, second in combinations(held, 2):
        both = [tower for tower in held[first] if tower in held[second]]
        pair = [[held[name][tower] for tower in both] for name in (first, second)]
        for task in tasks_of(run, arms):
            towers = [n for n, duo in enumerate(zip(*pair, strict=True)) if len(complete(run, duo, [task])) == 2]
            if len(towers) < MIN_ENCODERS:
                continue
            mine = [ability_of(run, task, [one[n] for n in towers]) for one in pair]
            told = agreement(mine[0], mine[1], stream("ava-bench", "evaluators", first, second, task))
            lines.append([first, second, task, str(len(towers)), span(told.tau, 2), span(told.rho, 2)])
        lines += _on_average(run, (first, second), pair, tasks_of(run, arms))
    if not lines:
        return
    note = (
        "Kendall's tau-b and Spearman's rho between the orders in which two evaluators put the same encoders, 1 for "
        "the same order and -1 for the opposite one, with 95 % intervals: items are drawn again, encoders are not."
    )
    names = ["evaluator", "other evaluator", "ability", "encoders", "tau-b", "rho"]
    yield ReportSection("Do evaluators agree? (Figure 7)", note, pd.DataFrame(lines, columns=names), None, "evaluators")


def _on_average(
    run: Run, names: tuple[str, str], pair: Sequence[Sequence[ArmCard]], tasks: Sequence[str]
) -> list[list[str]]:
    """The line of the average rank, over the encoders that were asked everything twice; nothing for too few."""
    duos = [duo for duo in zip(*pair, strict=True) if len(complete(run, duo, tasks)) == 2]
    if len(duos) < MIN_ENCODERS:
        return []
    mine = [[ability_of(run, task, [duo[n] for duo in duos]) for task in tasks] for n in (0, 1)]
    told = average_agreement(mine[0], mine[1], stream("ava-bench", "evaluators", *names))
    return [[*names, "(average rank)", str(len(duos)), span(told.tau, 2), span(told.rho, 2)]]


# Figures 8b and 21 to 28


def subgroup(run: Run, task: str, arms: Sequence[ArmCard]) -> Iterator[ReportSection]:
    """One ability by the factors that the paper splits it by, each with more than one level."""
    levels = {factor: held for factor in ability_named(task).subgroups if len(held := levels_of(run, task, factor)) > 1}
    if not levels:
        return
    metric, whole = metric_of(run, task), result_rows(run, task)
    found = [_levels(run, task, factor, held, arms) for factor, held in levels.items()]
    heard = [arm for arm in arms if row_of(whole, arm) is not None]
    lines = [
        [arm.subject, cell(row_of(whole, arm), metric)]
        + [cell(row, metric) for one in found for row in one.rows[arm.subject]]
        for arm in heard
    ]
    chances = [chance_of(whole), *(chance for one in found for chance in one.chances)]
    lines.append(["(chance)", *(number(chance, metric, 200) for chance in chances)])
    heads = [f"{one.factor.replace('_', ' ')} {level}" for one in found for level in one.levels]
    where = ability_named(task).figure
    factors = listed(one.factor.replace("_", " ") for one in found)
    note = f"{headed(run, task)} with 95 % interval, in all and by {factors}."
    shown = {arm.subject for arm in examined(heard)}
    drawn = [
        figures.Levels(one.factor, one.levels, {k: v for k, v in one.rows.items() if k in shown}, one.chances)
        for one in found
    ]
    scale, unit = (100.0, "percent") if metric.share else (1.0, metric.name)
    figure = partial(figures.subgroups, drawn, scale, unit)
    frame = pd.DataFrame(lines, columns=["subject", "all", *heads])
    title = f"{task} by subgroups ({where})" if where else f"{task} by subgroups"
    yield ReportSection(title, note, frame, figure, f"subgroups-{task}", detail=task != "localization")


def _levels(run: Run, task: str, factor: str, levels: Sequence[str], arms: Sequence[ArmCard]) -> figures.Levels:
    rows = result_rows(run, task, factor)
    parts = [rows[rows["level"] == level] for level in levels]
    held = {arm.subject: [row_of(part, arm) for part in parts] for arm in arms}
    return figures.Levels(factor, levels, held, [chance_of(part) for part in parts])
