"""The chance of free answers: the mean score of other items' truths.

It is computed when items are made and stored with them as measures, since a guesser draws from truths that a reader of
one item does not know. Better blind attacks are in `analysis.blind`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from snellen.core.item import Affine, Item
from snellen.scoring.metrics import peers
from snellen.suites.ava_bench.abilities import ability_named
from snellen.suites.ava_bench.scoring import measured
from snellen.suites.ava_bench.transforms import padding


def with_chance(items: Sequence[Item]) -> list[Item]:
    """The items, with chance as a measure of test items of tasks without options. Recipes call it once.

    It is the mean score of the truths of other test items of the task (`scoring.metrics.peers`), in the given order,
    boxes as shares of the padded square; the only test item of a task has no chance. Answers are read under each
    protocol (`scoring.measured`).
    """
    items_by_task: dict[str, list[Item]] = {}
    for item in items:
        if item.split == "test" and not ability_named(item.task).has_options:
            items_by_task.setdefault(item.task, []).append(item)
    items_with_chance: dict[str, Item] = {}
    for task_items in items_by_task.values():
        truths = [_as_answered(item).answer for item in task_items]
        for index, item in enumerate(task_items):
            if answers := [truths[n] for n in peers(index, len(task_items))]:
                items_with_chance[item.item_id] = replace(item, measures={**item.measures, **_chances(item, answers)})
    return [items_with_chance.get(item.item_id, item) for item in items]


def _as_answered(item: Item) -> Item:
    """The item with its answer as a subject gives it: boxes in shares of the padded square."""
    if item.answer_kind != "box":
        return item
    return replace(item, answer=_to_shares(item).box(item.answer))


def _to_shares(item: Item) -> Affine:
    """The map from pixels of the stored image to shares of the padded square."""
    width, height = item.query[0].width, item.query[0].height
    share = 1 / max(width, height)
    return padding(width, height).then(Affine(share, 0, 0, 0, share, 0))


def _chances(item: Item, answers: Sequence[Any]) -> dict[str, float]:
    """The mean score of some answers, boxes in shares of the padded square, under both protocols and every metric."""
    spec = item.view().reply
    if item.answer_kind == "box":
        back = _to_shares(item).inverse()
        answers = [back.box(answer) for answer in answers]
    chances: dict[str, float] = {}
    for name in ("strict", "published"):  # `as-replied` has the chance of `strict`
        protocol = ability_named(item.task).protocols[name]
        predictions = [protocol.read(spec.write(answer), spec) for answer in answers]
        for metric in protocol.metrics:
            each = [
                metric.worst if prediction is None else metric.score(item, prediction) for prediction in predictions
            ]
            chances[measured(metric.name, name)] = round(sum(each) / len(each), 9)  # as every processor rounds it
    return chances
