"""What a composite task hangs on: spatial without boxes, which needs localization too, against every ability (8a)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd

from snellen.core.piece import Piece, Run
from snellen.core.runfolder import ArmCard
from snellen.core.seeds import stream
from snellen.scoring.uncertainty import Paired, paired_difference
from snellen.suites.ava_bench import figures
from snellen.suites.ava_bench.heard import (
    ability_of,
    cell,
    chance_of,
    complete,
    metric_of,
    result_rows,
    row_of,
    span,
    tasks_of,
)
from snellen.suites.ava_bench.rankings import agreement

FEWEST_SUBJECTS = 3
Pair = tuple[ArmCard, ArmCard]
"""One subject with boxes drawn, and without, all else alike."""


def pieces(run: Run, arms: Sequence[ArmCard]) -> Iterator[Piece]:
    """Where some of the arms were also asked without boxes: what is lost, and whose order the rest follows."""
    pairs = [
        (arm, bare)
        for arm in complete(run, arms, ["spatial"])
        if (bare := _without(run, arm)) and complete(run, [bare], ["spatial"])
    ]
    if pairs:
        yield without_boxes(run, pairs)
    if len(pairs) >= FEWEST_SUBJECTS:
        yield order_followed(run, pairs)


def _without(run: Run, arm: ArmCard) -> ArmCard | None:
    wanted = {**arm.columns, "boxes": "none"}
    return next(
        (one for one in run.card.arms if one.subject == arm.subject and one.columns == wanted and one != arm), None
    )


def _change(run: Run, pair: Pair) -> Paired:
    held = ability_of(run, "spatial", pair)
    drawn, bare = held.values
    return paired_difference(bare, drawn, held.clusters, stream("ava-bench", "boxes", pair[0].subject))


def without_boxes(run: Run, pairs: Sequence[Pair]) -> Piece:
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
    return Piece("Spatial without boxes (Figure 8a)", note, pd.DataFrame(lines, columns=names), figure, "without-boxes")


def order_followed(run: Run, pairs: Sequence[Pair]) -> Piece:
    """How alike spatial without boxes and each ability order the subjects."""
    lines = []
    for task in tasks_of(run, [drawn for drawn, _ in pairs]):
        held = [pair for pair in pairs if complete(run, pair[:1], [task])]
        if len(held) < FEWEST_SUBJECTS:
            continue
        bare = ability_of(run, "spatial", [one for _, one in held], "spatial without boxes")
        atomic = ability_of(run, task, [drawn for drawn, _ in held])
        told = agreement(bare, atomic, stream("ava-bench", "composite", task))
        lines.append([task, str(len(held)), span(told.tau, 2), span(told.rho, 2)])
    note = (
        "Kendall's tau-b and Spearman's rho between the order of the subjects in spatial without boxes and that in "
        "each ability, 1 for the same order and -1 for the opposite one, with 95 % intervals: items are drawn again, "
        "subjects are not. Good subjects are good at most things, so that a high number alone proves no cause."
    )
    frame = pd.DataFrame(lines, columns=["ability", "subjects", "tau-b", "rho"])
    return Piece("Whose order spatial without boxes follows", note, frame, None, "without-boxes-order", detail=True)
