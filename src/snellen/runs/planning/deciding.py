"""Asks the items of a task until its score is decided, in batches of several clusters.

The rule is that of the report (`analysis.grading.grades`, on confidence sequences); the order is that of
`analysis.grading.deciding`.
A batch ends before a decision is made, and the decision depends on the answers of whole batches in their order, never
on which answer arrived first: a killed run that is replayed ends at the same item.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from snellen.analysis.grading.deciding import in_order, look_at, sampled, turns, units_to_decide
from snellen.analysis.grading.floors import Floors
from snellen.analysis.grading.grades import grade_of
from snellen.analysis.grading.results import ceiling_of_part, printed_ceilings, unit_interval
from snellen.analysis.grading.rows import ResultRow
from snellen.analysis.units import scored, summary
from snellen.core.score import Metric, Protocol
from snellen.core.storage.itemset import ItemSet, instalment_of
from snellen.core.suite import Suite, Task, Trial
from snellen.runs.planning.options import MAX_ITEMS

BatchSchedule: TypeAlias = Generator[tuple[Trial, ...], dict[str, float], None]
"""Yields trials that are asked together, and receives the scores of their items."""
BATCH = 16
"""The least number of items between two decisions, but for the last batch."""


@dataclass
class Decider:
    """The rule by which the tasks of an item set are asked until they are decided, with the most items of a task."""

    items: ItemSet
    suite: Suite
    max_items: int = MAX_ITEMS
    _floors: Floors = field(init=False, repr=False)
    _turns: dict[str, dict[str, int]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._floors = Floors(self.items, self.suite)

    def schedule(
        self,
        task: Task,
        trials: Sequence[Trial],
        axes: Mapping[str, Any],
        is_fitted: bool,
        watch: Callable[[ResultRow], None] = lambda row: None,
        at_looks: bool = False,
    ) -> BatchSchedule:
        """Batches of trials until the score is decided or `max_items` are asked; receives the scores of their items.

        `axes` are those of the settled condition; `is_fitted` tells whether the subject learnt from training examples.
        A task whose main score has no confidence sequence is asked up to `max_items`. `watch` receives the graded row
        after each batch. With `at_looks`, all drawn items are asked: the score is looked at in the end alone.
        """
        values = dict[str, float]()
        for batch in batches(self.items, task, trials, self.turns(task), self.max_items):
            new = yield batch
            values |= new
            if not new or (row := self.row(task, values, axes, is_fitted, at_looks)) is None:
                continue
            watch(row)
            if row.grade.is_decided and not at_looks:
                return

    def turns(self, task: Task) -> Mapping[str, int]:
        """The place of each cluster in the order of asking."""
        if task.id not in self._turns:
            self._turns[task.id] = turns(self.items, task, self.max_items)
        return self._turns[task.id]

    def growth_needed(
        self, task: Task, values: Mapping[str, float], axes: Mapping[str, Any], is_fitted: bool, at_looks: bool = False
    ) -> float:
        """About how many times as many items decide a score; 0 if it is decided.

        0 also if items do not decide it: `row` is None, or too many are left out.
        """
        row = self.row(task, values, axes, is_fitted, at_looks)
        if row is None or row.grade.is_decided or row.grade.is_of_part:
            return 0.0
        return max(1.0, float(units_to_decide(row, task.protocols["strict"].metrics[0]) / row.n))

    def row(
        self, task: Task, values: Mapping[str, float], axes: Mapping[str, Any], is_fitted: bool, at_looks: bool = False
    ) -> ResultRow | None:
        """The graded row of results by the first metric under `strict`, of the scores of these items by id.

        With `at_looks`, its interval is that of the planned look after these items, if there is one (`look_at`).
        None if the metric has no confidence sequence, or nothing a score.
        """
        protocol = task.protocols["strict"]
        metric = protocol.metrics[0]
        if metric.bounds is None or not metric.is_bounded_mean or protocol.judge is not None:
            return None
        units, names = scored_values(task, protocol, metric, self.items, values)
        if units.empty or "weight" in units:
            return None
        look = look_at(self.items, task, axes, values) if at_looks else None
        units = in_order(units, self.turns(task), look)
        low, high, _ = unit_interval(units, metric, (task.id,))
        key = task.id, protocol.name, metric.name, "", ""
        scores = self.items.blind.scores if self.items.blind else ()
        blind = next((score.value for score in scores if score.key == key), float("nan"))
        ceiling = ceiling_of_part(printed_ceilings(self.suite, self.items), task.id, metric.name)
        chances, left_out = units["chance"].to_numpy(float), float(np.isnan(list(values.values())).mean())
        row = ResultRow(
            task=task.id, n=len(units), value=summary(units["value"].to_numpy(float), metric), low=low, high=high,
            chance=float(np.nanmean(chances)) if not np.isnan(chances).all() else float("nan"),
            blind=blind, ceiling=ceiling, items=len(values), no_answer_rate=0.0, cut_off_rate=0.0,
            failure_rate=left_out, left_out=left_out, axes=axes,
        )  # fmt: skip
        floors = self._floors.greatest(row, protocol, metric, is_fitted, names)
        return replace(row, grade=grade_of(row, metric, units, floors))


def batches(
    items: ItemSet, task: Task, trials: Sequence[Trial], order: Mapping[str, int], max_items: int
) -> Iterator[tuple[Trial, ...]]:
    """Trials in the order of asking: whole rounds, at least `BATCH` items, but for the last batch of an instalment.

    A set that grows by an instalment begins with the same batches.
    """
    by_turn: dict[int, list[Trial]] = {}
    instalment_of_turn: dict[int, int] = {}
    chosen = sampled(items, task, max_items)
    for trial in trials:
        if chosen.isdisjoint(view.item_id for view in trial.views):
            continue
        asked_about = [items.by_id[view.item_id] for view in trial.views]
        # A sheet may also ask about objects beyond the limit, which come last in the order.
        turn = max(order[item.cluster_id] for item in asked_about if item.item_id in chosen)
        by_turn.setdefault(turn, []).append(trial)
        instalment_of_turn[turn] = max(map(instalment_of, asked_about))
    count, batch, size, instalment = 0, list[Trial](), 0, 0
    for turn in sorted(by_turn):
        views = sum(len(trial.views) for trial in by_turn[turn])
        if count and count + size + views > max_items:
            break
        if batch and instalment_of_turn[turn] != instalment:
            yield tuple(batch)
            count, batch, size = count + size, [], 0
        batch += by_turn[turn]
        size, instalment = size + views, instalment_of_turn[turn]
        if size >= BATCH:
            yield tuple(batch)
            count, batch, size = count + size, [], 0
    if batch:
        yield tuple(batch)


def scored_values(
    task: Task, protocol: Protocol, metric: Metric, items: ItemSet, values: Mapping[str, float]
) -> tuple[pd.DataFrame, list[str]]:
    """The scored units of items with these values, by item id, and the name of each (an item's or a group's)."""
    asked = [items.by_id[name] for name in values]
    columns = {
        "item_id": [item.item_id for item in asked],
        "group_id": [item.group_id for item in asked],
        "cluster_id": [item.cluster_id for item in asked],
        "stimulus_id": [item.stimulus_id for item in asked],
        "truth": [json.dumps(item.answer) for item in asked],
        "metric": metric.name,
        "value": list(values.values()),
        "chance": [metric.chance(item) for item in asked],
    }
    frame = pd.DataFrame(columns)
    units = scored(protocol.units(frame))
    names = units.index if units.index.name == "group_id" else frame.loc[units.index, "item_id"]
    return units, [str(name) for name in names]
