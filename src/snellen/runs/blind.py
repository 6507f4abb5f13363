"""The blind baselines of an item set, and where that is kept (`analysis.blind` says how it is attacked).

Of generated items it depends on the recipe, not on the seed: it is measured once a suite version, on a thousand items a
task whose images are left blank, and kept in the suite's package. Other sets are measured by themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from snellen.analysis.blind import measure_blind, measure_by_folds
from snellen.core.item import Item
from snellen.core.storage.itemset import BlindCard, ItemSet, read_blind
from snellen.core.suite import BuildOptions, Recipe, Suite

ITEMS, ITEMS_A_SET = 1000, 200
"""Test items a task that blind scores of a generated recipe are measured on, and how many of them are of one seed."""
TEST_SEED, TRAIN_SEED, TRAIN_SETS = 100, 200, 3
"""First seeds of the sets that are answered and learnt from, and how many of the latter there are."""
FOLDS_METHOD = "nested folds over the clusters of this set, with its training items to learn from"


def blind_card(items: ItemSet, suite: Suite) -> BlindCard:
    """The blind scores of a set: of its recipe where they are in the suite's package, else measured on the set."""
    card = recipe_card(suite, items.card.recipe) if items.card.source == "generated" else None
    if card is not None:
        return card
    return BlindCard(method=FOLDS_METHOD, scores=tuple(measure_by_folds(items.items, suite)))


def recipe_card(suite: Suite, recipe: Mapping[str, Any]) -> BlindCard | None:
    """What was measured of the suite's generated recipe, in its folder; None for level answers and changed settings."""
    if "balance" in recipe or "settings" in recipe:
        return None
    return read_blind(Path(inspect.getfile(type(suite.recipes["generated"]))).parent)


def measure_recipe(suite: Suite, folder: Path, options: BuildOptions) -> BlindCard:
    """Generate at least `options.n` test items a task in `folder` without drawing them, and attack them.

    Several sets are pooled, since one seed has not room for so many items. Learnt from are the training items of these
    sets; for tasks that have none, the items of sets from other seeds.
    """
    tasks = tuple(task for task in suite.tasks if _can_be_measured(suite, task))
    count = options.n or ITEMS
    size = min(count, ITEMS_A_SET)
    test = _pooled(suite, folder, replace(options, n=size, tasks=tasks), TEST_SEED, -(-count // size))
    train = [item for item in test if item.split == "train"]
    if without := tuple(task for task in tasks if not any(item.task == task for item in train)):
        train += _pooled(suite, folder, replace(options, n=size, tasks=without), TRAIN_SEED, TRAIN_SETS)
    scores = measure_blind(train, [item for item in test if item.split == "test"], suite)
    method = (
        f"generated items of suite version {suite.card.version}, {count} a task, from seed {TEST_SEED} on; attackers "
        "were fitted and chosen on training items, or on items of other seeds"
    )
    return BlindCard(method=method, scores=tuple(scores))


def _can_be_measured(suite: Suite, task: str) -> bool:
    return task not in suite.card.needs_real and suite.tasks[task].protocols["strict"].judge is None


def _pooled(suite: Suite, folder: Path, options: BuildOptions, first_seed: int, sets: int) -> list[Item]:
    """The items of several sets, one a seed; names that mean another thing in each set are told apart by its seed."""
    recipe: Recipe = suite.recipes["generated"]
    pooled = []
    for seed in range(first_seed, first_seed + sets):
        out = folder / f"seed-{seed}"
        built = recipe.build(replace(options, out=out, seed=seed, quick=True, renderer=suite.blind_renderer))
        pooled += [
            replace(
                item,
                item_id=f"{seed}-{item.item_id}",
                group_id=f"{seed}-{item.group_id}",
                cluster_id=f"{seed}-{item.cluster_id}",
            )
            for item in built.items
        ]
    return pooled
