"""Tasks that are asked until decided (`Grade.is_decided`): the order of asking, and how many units decide a score.

The order depends on the item set alone, so two subjects that stop at different places share the items of the shorter
run. Intervals of such tasks are confidence sequences (`scoring.sequential`).

A set may plan after how many instalments its scores are looked at (`SetDeclaration.planned_looks`). Free subjects are
asked whole instalments; at a planned look, the interval is that of a fixed number of items, with the error divided
equally among the looks. At any other number of items it is the sequence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from snellen.analysis.grading.grades import BAND, QUARTER, baseline, ceiling_of
from snellen.analysis.grading.rows import ResultRow
from snellen.analysis.units import groups_by_cluster
from snellen.core.condition import Condition
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.score import Metric
from snellen.core.storage.itemset import ItemSet
from snellen.core.suite import Task
from snellen.scoring.sequential import asking_order

MAX_ITEMS = 240
"""The default of the greatest number of items asked of a task."""
BALANCED = 1000
"""Clusters whose order balances levels; those after them, which hardly anybody asks, are in random order."""


class PlannedLook(NamedTuple):
    """A planned look at a task's scores: its number, from 1, and the number of looks that are planned."""

    number: int
    planned: int


def look_at(items: ItemSet, task: Task, axes: Mapping[str, Any], asked_ids: Collection[str]) -> PlannedLook | None:
    """The first planned look at which exactly these test items of a task are asked; None if there is none.

    `axes` are those of the settled condition, which may leave items out. A task that further instalments lack is looked
    at once.
    """
    declaration, ids, condition = items.card.declaration, set(asked_ids), Condition((), tuple(axes.items()))
    if declaration is None:
        return None
    tasks, parts = declaration.options.get("tasks"), items.instalments
    grows = not tasks or task.id in tasks
    count = len(declaration.planned_looks) if grows else 1
    for number, instalments in enumerate(declaration.planned_looks[:count], 1):
        drawn = parts[:instalments]
        if grows and len(drawn) < instalments:
            return None
        tested = (item for part in drawn for item in part if (item.task, item.split) == (task.id, "test"))
        if ids == {item.item_id for item in tested if task.asks(item, condition)}:
            return PlannedLook(number, count)
    return None


def in_order(units: pd.DataFrame, order: Mapping[str, int], planned_look: PlannedLook | None) -> pd.DataFrame:
    """Scored units with the columns from which their interval follows: `look` and `looks`, or `turn` without a look.

    `turn` is the place of a unit's cluster in the order of asking.
    """
    if planned_look is not None:
        return units.assign(look=planned_look.number, looks=planned_look.planned)
    return units.assign(turn=units["cluster_id"].map(order))


def turns(items: ItemSet, task: Task, max_items: int) -> dict[str, int]:
    """The place of every cluster of a task's test items in the order of asking, if at most `max_items` are asked.

    Clusters beyond the limit, about which a sheet may ask as well, come last.

    Levels of the factors that have rows in the results, right options and right statements are spread evenly. The
    instalments of a set follow each other, so that the order stays when the set grows.
    """
    chosen, order = sampled(items, task, max_items), list[str]()
    for instalment in items.instalments:
        levels = dict[str, list[str]]()
        for item in instalment:
            if item.item_id in chosen:
                levels.setdefault(item.cluster_id, []).extend(_levels(item, task))
        names = sorted(levels, key=lambda name: digest([task.id, name]))
        order += asking_order([(name, levels[name]) for name in names[:BALANCED]]) + names[BALANCED:]
    others = {item.cluster_id for item in items.task(task.id) if item.split == "test"} - set(order)
    order += sorted(others, key=lambda name: digest([task.id, name]))
    return {name: place for place, name in enumerate(order)}


def sampled(items: ItemSet, task: Task, max_items: int) -> set[str]:
    """The ids of the test items of a task of which at most `max_items` are asked: as few as possible of each cluster.

    Items of one cluster tell less than as many of several. Those of a group stay together, and each cluster gives an
    equal number of groups, as far as it has them. Later instalments of a set add what earlier ones lack.
    """
    chosen: set[str] = set()
    for instalment in items.instalments:
        clusters = list(_groups(item for item in instalment if item.task == task.id).values())
        for number in range(max(map(len, clusters), default=0)):
            if len(chosen) >= max_items:
                return chosen
            chosen |= {item.item_id for groups in clusters for item in (groups[number] if number < len(groups) else ())}
    return chosen


def _groups(items: Iterable[Item]) -> dict[str, list[tuple[Item, ...]]]:
    """The test items by cluster and group. Clusters begin with different groups, so that questions are spread, too."""
    rotated = {}
    for name, groups in groups_by_cluster(item for item in items if item.split == "test").items():
        first = int(digest([name], 8), 16) % len(groups)
        rotated[name] = [*groups[first:], *groups[:first]]
    return rotated


def _levels(item: Item, task: Task) -> list[str]:
    factors = [f"{factor}={item.factors.get(factor, '')}" for factor in task.split_by]
    is_chosen = bool(item.options) or item.answer_kind == "true_false"
    return [*factors, f"answer={json.dumps(item.answer)}"] if is_chosen else factors


def units_to_decide(row: ResultRow, metric: Metric) -> float:
    """About the number of units after which a score is proven to be *none* or not (`grade_of`).

    Its interval is taken to narrow with the square root of their number, and its floor to be one number. Infinite for a
    score that is at the end of every claim.
    """
    ceiling, blind, score = ceiling_of(row, metric), baseline(row, metric), metric.sign * row.value
    low, high = sorted((metric.sign * row.low, metric.sign * row.high))

    def places(share: float) -> tuple[float, float]:
        """The scores at this share of the way from the blind baseline and from the floor, signs turned."""
        first, second = (metric.sign * (start + share * (ceiling - start)) for start in (blind, row.grade.floor))
        return first, max(first, second)

    def times(claim: float, is_above: bool) -> float:
        """How many times as many units prove that the score is above this one, or below it."""
        width, distance = (score - low, score - claim) if is_above else (high - score, claim - score)
        return (width / distance) ** 2 if distance > 0 and math.isfinite(width) else math.inf

    blind_quarter, floor_quarter = places(QUARTER)
    claims = [times(floor_quarter, True), times(blind_quarter, False)]
    if floor_quarter > blind_quarter:  # no more than the floor gives
        claims.append(max(times(floor_quarter, False), times(places(QUARTER - BAND)[0], True)))
    return float(row.n * min(claims))
