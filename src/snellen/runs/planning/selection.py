"""Selection of some items of a set, spread over clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

from snellen.analysis.units import groups_by_cluster
from snellen.core.grouping import lists_by_key
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet


def select_items(items: ItemSet, count: int) -> ItemSet:
    """The set with about `count` test items per task, in whole groups and spread over clusters; always the same ones.

    Items of other splits stay.
    """
    chosen: set[str] = set()
    by_task = lists_by_key((item.task, item) for item in items.items if item.split == "test")
    for tested in by_task.values():
        size = 0
        for group in _groups_in_turn(tested):
            if size >= count:
                break
            size += len(group)
            chosen |= {item.item_id for item in group}
    kept = tuple(item for item in items.items if item.split != "test" or item.item_id in chosen)
    return replace(items, items=kept)


def _groups_in_turn(items: Sequence[Item]) -> list[tuple[Item, ...]]:
    """Groups of items scored together: one of each cluster, then a second of each, and so on.

    Clusters start with different groups, so that questions about one stimulus are spread too.
    """
    rows = []
    for number, groups in enumerate(groups_by_cluster(items).values()):
        shift = number % len(groups)
        rows.append([*groups[shift:], *groups[:shift]])
    return [group for turn in zip_longest(*rows) for group in turn if group is not None]
