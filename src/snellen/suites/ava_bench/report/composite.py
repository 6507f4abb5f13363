"""Composite tasks against every ability (Figure 8a): what is lost in them, and whose order of subjects they follow.

Spatial without boxes, which needs localization too, and the two of our own (`abilities.composites`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from statistics import fmean

import numpy as np
import pandas as pd

from snellen.analysis.cells import DASH, listed
from snellen.analysis.rankings import agreement
from snellen.analysis.section import ReportSection, Run, protocol_of
from snellen.core.errors import SnellenError
from snellen.core.runfolder import ArmCard
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import Paired, paired_difference
from snellen.suites.ava_bench.abilities import ability_named, composites, names
from snellen.suites.ava_bench.abilities.ability import FirstPartAlone
from snellen.suites.ava_bench.report import figures
from snellen.suites.ava_bench.report.run_view import (
    ability_of,
    cell,
    chance_of,
    complete,
    examined,
    headed,
    metric_of,
    number,
    result_rows,
    row_of,
    span,
    tasks_of,
)

MIN_SUBJECTS = 3
Pair = tuple[ArmCard, ArmCard]
"""One subject as it was asked about the atomic abilities, and about the composite task."""


def parts_of(task: str) -> tuple[str, ...]:
    """The abilities that a composite task hangs on."""
    return names(ability_named(task).parts)


def first_part_alone(task: str) -> FirstPartAlone:
    """What is known of who masters the first part alone. Raises SnellenError for tasks that are not composite."""
    alone = ability_named(task).first_part_alone
    if alone is None:
        raise SnellenError(f"ava-bench/{task}: is no composite task")
    return alone


def sections(run: Run, arms: Sequence[ArmCard]) -> Iterator[ReportSection]:
    """Scores in the composite tasks, spatial without boxes beside spatial, and whose order of subjects each follows."""
    asked = tasks_of(run, arms, composites())
    if asked:
        yield scores(run, arms, asked)
    people = examined(arms)
    for task in asked:
        both = [(arm, arm) for arm in complete(run, people, [task])]
        yield from order_followed(run, both, task, task, parts_of(task))
    pairs = [
        (arm, bare)
        for arm in complete(run, people, ["spatial"])
        if (bare := _without(run, arm)) and complete(run, [bare], ["spatial"])
    ]
    if pairs:
        yield without_boxes(run, pairs)
        yield from order_followed(run, pairs, "spatial", "spatial without boxes", ("localization", "spatial"))


def scores(run: Run, arms: Sequence[ArmCard], tasks: Sequence[str]) -> ReportSection:
    """Every composite task of our own with interval and chance, and what one of its parts alone is worth there."""
    rows = {task: result_rows(run, task) for task in tasks}
    heard = [arm for arm in arms if any(row_of(one, arm) is not None for one in rows.values())]
    lines = [[arm.subject, *(cell(row_of(rows[task], arm), metric_of(run, task)) for task in tasks)] for arm in heard]
    chances = [number(chance_of(rows[task]), metric_of(run, task), 200) for task in tasks]
    lines.append(["(chance)", *chances])
    for task in tasks:
        told, worth = f"({first_part_alone(task).description})", with_one_part(run, task)
        lines.append([told, *(number(worth, metric_of(run, one), 200) if one == task else DASH for one in tasks)])
    parts = "; ".join(f"{task} hangs on {listed(parts_of(task))}" for task in tasks)
    note = (
        f"Scores with 95 % interval in tasks that need two abilities at once: {parts}. Below are chance, and what is "
        "had by somebody who masters the first of the two alone: who does no better may lack the second. These tasks "
        f"are ours, and count in no rank. Scored {protocol_of(run)}."
    )
    frame = pd.DataFrame(lines, columns=["subject", *(headed(run, task) for task in tasks)])
    return ReportSection("Composite tasks", note, frame, None, "composites")


def with_one_part(run: Run, task: str) -> float:
    """The mean over the items asked of what somebody gets who masters the first part alone."""
    told = run.scores[protocol_of(run)]
    asked = set(told.loc[told["task"] == task, "item_id"])
    alone = first_part_alone(task)
    return fmean(alone.score(item, metric_of(run, task)) for item in run.items.items if item.item_id in asked)


def _without(run: Run, arm: ArmCard) -> ArmCard | None:
    wanted = {**arm.columns, "boxes": "none"}
    return next(
        (one for one in run.card.arms if one.subject == arm.subject and one.columns == wanted and one != arm), None
    )


def _change(run: Run, pair: Pair) -> Paired:
    held = ability_of(run, "spatial", pair)
    drawn, bare = held.values
    return paired_difference(bare, drawn, held.clusters, stream("ava-bench", "boxes", pair[0].subject))


def without_boxes(run: Run, pairs: Sequence[Pair]) -> ReportSection:
    """Spatial with boxes and without, beside localization, best in localization first."""
    metric, rows = metric_of(run, "spatial"), result_rows(run, "spatial")
    where, located = metric_of(run, "localization"), result_rows(run, "localization")

    def place(pair: Pair) -> float:
        row = row_of(located, pair[0])
        return np.inf if row is None else -float(row.value)

    lines, drawn = [], []
    for pair in sorted(pairs, key=place):
        both, gap = [row_of(rows, arm) for arm in pair], _change(run, pair)
        change = f"{100 * gap.difference:+.1f}"
        change += "" if np.isnan(gap.low) else f" [{100 * gap.low:+.1f}, {100 * gap.high:+.1f}]"
        told = [cell(row, metric) for row in both]
        lines.append([pair[0].subject, *told, change, cell(row_of(located, pair[0]), where)])
        drawn.append((pair[0].subject, float(both[0].value), float(both[1].value)))
    note = (
        "Percent right in spatial with the red and the blue box and without them, the change in points on the items "
        "that have both, and GIoU in localization, each with 95 % interval. Without boxes the two things must be found "
        "first; the paper says that the order then follows localization."
    )
    names = ["subject", "boxes drawn", "without boxes", "change", "localization giou"]
    figure = partial(figures.with_and_without, drawn[: 2 * figures.MOST], chance_of(rows))
    return ReportSection(
        "Spatial without boxes (Figure 8a)", note, pd.DataFrame(lines, columns=names), figure, "without-boxes"
    )


def order_followed(
    run: Run, pairs: Sequence[Pair], task: str, composite: str, parts: Sequence[str]
) -> Iterator[ReportSection]:
    """How alike a composite task, called so, and each ability order the subjects; nothing for too few of them."""
    lines = []
    for ability in tasks_of(run, [atomic for atomic, _ in pairs]):
        held = [pair for pair in pairs if complete(run, pair[:1], [ability])]
        if len(held) < MIN_SUBJECTS:
            continue
        composed = ability_of(run, task, [one for _, one in held], composite)
        atomic = ability_of(run, ability, [one for one, _ in held])
        told = agreement(composed, atomic, stream("ava-bench", "composite", composite, ability))
        part = "yes" if ability in parts else ""
        lines.append([ability, part, str(len(held)), span(told.tau, 2), span(told.rho, 2)])
    if not lines:
        return
    note = (
        f"Kendall's tau-b and Spearman's rho between the order of the subjects in {composite} and that in each "
        "ability, 1 for the same order and -1 for the opposite one, with 95 % intervals: items are drawn again, "
        "subjects are not. Good subjects are good at most things, so that a high number alone proves no cause: look "
        f"whether {listed(parts)}, of which the task consists, stand out."
    )
    frame = pd.DataFrame(lines, columns=["ability", "part of it", "subjects", "tau-b", "rho"])
    name = "without-boxes-order" if task == "spatial" else f"{composite}-order"
    yield ReportSection(f"Whose order {composite} follows", note, frame, None, name, detail=True)
