"""The scored units of score rows, the parts of a task that have rows of results, and the summary of units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from snellen.core.item import Item
from snellen.core.score import Metric, Protocol
from snellen.core.suite import Task
from snellen.scoring.protocols import by_item

Places: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
"""Indices of rows in a table, or other integers."""


def metric_of(protocol: Protocol, name: str) -> Metric:
    """The metric of that name."""
    return next(metric for metric in protocol.metrics if metric.name == name)


def parts_of(
    arm_scores: pd.DataFrame, items: Mapping[str, Item], task: Task
) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(factor, level, scores) of every row of results; the whole task first, with empty names.

    `items` are by their id. The factor `requires` splits by what the items need.
    """
    for factor, level, members in part_places(arm_scores, items, task):
        yield factor, level, arm_scores if members is None else arm_scores.take(members)


def part_places(
    arm_scores: pd.DataFrame, items: Mapping[str, Item], task: Task
) -> Iterator[tuple[str, str, Places | None]]:
    """(factor, level, indices of its scores) as in `parts_of`; None for all scores."""
    yield "", "", None
    if (arm_scores["outcome"].to_numpy() == "not_applicable").all():
        return
    items_of_scores = [items[name] for name in arm_scores["item_id"].tolist()]
    for factor in task.split_by:
        levels = np.array([item.factors.get(factor, "") for item in items_of_scores], object)
        for level in sorted(set(levels.tolist()) - {""}):
            yield factor, level, np.flatnonzero(levels == level)
    for required in sorted({name for item in items_of_scores for name in item.requires}):
        needs = np.array([required in item.requires for item in items_of_scores])
        yield "requires", required, np.flatnonzero(needs)
        if not needs.all():
            yield "requires", f"not {required}", np.flatnonzero(~needs)


def groups_by_cluster(items: Iterable[Item]) -> dict[str, list[tuple[Item, ...]]]:
    """Items by cluster, in groups that are scored together, in the order of their first items."""
    clusters: dict[str, dict[str, list[Item]]] = {}
    for item in items:
        clusters.setdefault(item.cluster_id, {}).setdefault(item.group_id, []).append(item)
    return {name: list(map(tuple, groups.values())) for name, groups in clusters.items()}


def units_of(scores: pd.DataFrame, protocol: Protocol) -> pd.DataFrame:
    """The scored units (`Protocol.units`) of all repeats that have a value; with several repeats, a column `repeat`."""
    if _is_repeated(scores):
        units = pd.concat([protocol.units(once).assign(repeat=n) for n, once in scores.groupby("repeat")])
    else:
        units = protocol.units(scores)
    return scored(units)


def units_by_place(scores: pd.DataFrame, protocol: Protocol) -> pd.DataFrame | None:
    """One unit per score, in their order, including those without a value; None if units are not single items."""
    return None if _is_repeated(scores) or protocol.units is not by_item else by_item(scores)


def _is_repeated(scores: pd.DataFrame) -> bool:
    repeats = scores["repeat"].to_numpy()
    return bool((repeats != repeats[:1]).any())


def scored(units: pd.DataFrame) -> pd.DataFrame:
    """The units that have a value."""
    unscored = np.isnan(units["value"].to_numpy(float))
    return units[~unscored] if unscored.any() else units


def summary(values: np.ndarray[Any, np.dtype[np.float64]], metric: Metric) -> float:
    """The metric's summary of units; NaN for none."""
    if not len(values):
        return math.nan
    if metric.summary == "median":
        return float(np.median(values))
    if metric.summary == "root mean square":
        return float(np.sqrt(np.mean(values**2)))
    return float(np.mean(values))
