"""Composite tasks against every ability (Figure 8a): scores, and agreement with each ability's order of subjects.

They are spatial without boxes, which also needs localization, and our own two (`abilities.composites`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import NamedTuple

import numpy as np

from snellen.analysis.tables.cells import DASH, column_head, decimal_interval, listing, metric_cell, number, points
from snellen.analysis.tables.pivot import table_section
from snellen.analysis.tables.plots import before_after
from snellen.analysis.tables.rankings import agreement
from snellen.analysis.tables.run_view import (
    arms_with_all,
    examined,
    main_metric,
    mean_chance,
    result_rows,
    row_of,
    score_matrix,
    scored,
    scored_tasks,
)
from snellen.analysis.tables.section import ReportSection, Run, protocol_of
from snellen.core.seeds import stream
from snellen.core.storage.runfolder import ArmCard
from snellen.scoring.uncertainty import paired_difference
from snellen.suites.ava_bench.abilities import ability_named, composites, names
from snellen.suites.ava_bench.abilities.ability import FirstPartAlone
from snellen.suites.ava_bench.published import COLUMNS

MIN_SUBJECTS = 3


class SubjectArms(NamedTuple):
    """One subject's arms for the atomic abilities, for spatial with boxes, and for the composite task."""

    atomic: ArmCard
    boxed: ArmCard
    composite: ArmCard

    def arm(self, ability: str) -> ArmCard:
        """The arm for an atomic ability; spatial has boxes there."""
        return self.boxed if ability == "spatial" else self.atomic


def sections(run: Run, arms: Sequence[ArmCard]) -> Iterator[ReportSection]:
    """Scores in the composite tasks, spatial without boxes against spatial, and agreement with each ability's order."""
    tasks = scored_tasks(run, arms, composites())
    yield from scores(run, arms, tasks)
    subjects = examined(run, arms)
    for task in tasks:
        both = [SubjectArms(arm, arm, arm) for arm in arms_with_all(run, subjects, [task])]
        yield from order_followed(run, both, task, task, names(ability_named(task).parts))
    asked_twice = list(filter(None, (_with_and_without_boxes(run, arm) for arm in subjects)))
    if asked_twice:
        yield from without_boxes(run, asked_twice)
        yield from order_followed(run, asked_twice, "spatial", "spatial without boxes", ("localization", "spatial"))


def scores(run: Run, arms: Sequence[ArmCard], tasks: Sequence[str]) -> Iterator[ReportSection]:
    """Our own composite tasks with interval and chance, and the score of mastering only the first part."""
    with_score = [arm for arm in arms if any(arms_with_all(run, [arm], [task]) for task in tasks)]
    rows = {task: scored(result_rows(run, task)) for task in tasks}
    metrics = {task: main_metric(run, task) for task in tasks}
    lines = [[arm.subject, *(metric_cell(row_of(rows[t], arm), metrics[t]) for t in tasks)] for arm in with_score]
    chances = {task: mean_chance(rows[task]) for task in tasks}
    if not np.isnan(list(chances.values())).all():
        lines.append(["(chance)", *(number(chance, metrics[task], 200) for task, chance in chances.items())])
    for task in tasks:
        if alone := ability_named(task).first_part_alone:
            reference = number(with_one_part(run, task, alone), metrics[task], 200)
            lines.append([f"({alone.description})", *(reference if column == task else DASH for column in tasks)])
    heads = ["subject", *(column_head(task, metrics[task]) for task in tasks)]
    parts = "; ".join(f"{task} depends on {listing(names(ability_named(task).parts))}" for task in tasks)
    note = (
        f"Scores with 95 % interval in tasks that need two abilities at once: {parts}. Below are chance, and the score "
        "of mastering only the first of the two: a subject that is no better may lack the second. These tasks "
        f"are ours, and are part of no rank. Scored {protocol_of(run)}."
    )
    yield from table_section("Composite tasks", note, heads, lines, "composites")


def with_one_part(run: Run, task: str, first_part: FirstPartAlone) -> float:
    """The mean score over the items asked of mastering only the first part."""
    scores = run.scores[protocol_of(run)]
    scored_items = set(scores.loc[scores["task"] == task, "item_id"])
    asked = [item for item in run.items.items if item.item_id in scored_items]
    return fmean(first_part.score(item, main_metric(run, task)) for item in asked)


def _with_and_without_boxes(run: Run, arm: ArmCard) -> SubjectArms | None:
    """The arms of a subject, if it was asked spatial with boxes and without them; `arm` is that of the abilities."""
    by_boxes = {
        card.columns.get("boxes"): card
        for card in run.card.arms
        if card.subject == arm.subject and {**card.columns, "boxes": ""} == {**arm.columns, "boxes": ""}
    }
    boxed, bare = by_boxes.get("drawn"), by_boxes.get("none", by_boxes.get("depths"))
    if boxed is None or bare is None or len(arms_with_all(run, [boxed, bare], ["spatial"])) < 2:
        return None
    return SubjectArms(arm, boxed, bare)


def without_boxes(run: Run, subject_arms: Sequence[SubjectArms]) -> Iterator[ReportSection]:
    """Spatial with and without boxes next to localization, best in localization first."""
    metric, rows = main_metric(run, "spatial"), scored(result_rows(run, "spatial"))
    localization, localized = main_metric(run, "localization"), scored(result_rows(run, "localization"))

    def minus_localization(pair: SubjectArms) -> float:
        row = row_of(localized, pair.atomic)
        return np.inf if row is None else -float(row.value)

    lines, shares = [], dict[str, tuple[float, float]]()
    for pair in sorted(subject_arms, key=minus_localization):
        subject, both = pair.atomic.subject, [row_of(rows, arm) for arm in (pair.boxed, pair.composite)]
        matrix, rng = score_matrix(run, "spatial", pair[1:]), stream("ava-bench", "boxes", subject)
        gap = paired_difference(matrix.values[1], matrix.values[0], matrix.clusters, rng, bounds=metric.bounds)
        cells = [*(metric_cell(row, metric) for row in both), points(gap.difference, gap.low, gap.high)]
        lines.append([subject, *cells, metric_cell(row_of(localized, pair.atomic), localization)])
        with_boxes, without = (np.nan if row is None else row.value for row in both)
        shares[subject] = with_boxes, without
    note = (
        "Percent right in spatial with the red and the blue box and without them, the change in points on the items "
        "that have both, and GIoU in localization, each with 95 % interval. Without boxes the two things must be found "
        "first; the paper states that the order then follows localization."
    )
    names = ["subject", "boxes drawn", "without boxes", "change", "localization giou"]
    words = "boxes drawn", "without boxes"
    figure = partial(before_after, {"spatial, percent right": shares}, words, mean_chance(rows))
    yield from table_section("Spatial without boxes (Figure 8a)", note, names, lines, "without-boxes", figure)


def order_followed(
    run: Run, subject_arms: Sequence[SubjectArms], task: str, composite: str, parts: Sequence[str]
) -> Iterator[ReportSection]:
    """Agreement of a composite task, named `composite`, and each ability in the order of enough subjects."""
    lines = []
    for ability in scored_tasks(run, [arms.atomic for arms in subject_arms], COLUMNS):
        compared = [arms for arms in subject_arms if arms_with_all(run, [arms.arm(ability)], [ability])]
        if len(compared) < MIN_SUBJECTS:
            continue
        composed = score_matrix(run, task, [arms.composite for arms in compared], composite)
        atomic = score_matrix(run, ability, [arms.arm(ability) for arms in compared])
        order = agreement(composed, atomic, stream("ava-bench", "composite", composite, ability))
        cells = decimal_interval(*order.tau, 2), decimal_interval(*order.rho, 2)
        lines.append([ability, "yes" if ability in parts else "", str(len(compared)), *cells])
    note = (
        f"Kendall's tau-b and Spearman's rho between the order of the subjects in {composite} and that in each "
        "ability, 1 for the same order and -1 for the opposite one, with 95 % intervals: items are resampled, "
        "subjects are not. Good subjects are good at most things, so a high number alone proves no cause: check "
        f"whether {listing(parts)}, of which the task consists, stand out."
    )
    names = ["ability", "part of it", "subjects", "tau-b", "rho"]
    name = "without-boxes-order" if task == "spatial" else f"{composite}-order"
    yield from table_section(f"Whose order {composite} follows", note, names, lines, name, detail=True)
