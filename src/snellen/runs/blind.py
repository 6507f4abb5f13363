"""Measuring and finding the blind baselines of an item set (the attacks are in `analysis.blind`).

For generated items they depend on the recipe, not on the seed. They are measured once per suite version, on 2,000
items per task with blank images, and stored in the suite's package. Other sets are measured individually.
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

ITEMS, ITEMS_A_SET = 2000, 200
"""Test items per task for blind scores of a generated recipe, and the number of them made from one seed."""
TEST_SEED, TRAIN_SEED, TRAIN_SETS = 100, 200, 3
"""First seeds of test sets and of training sets, and the number of training sets."""
FOLDS_METHOD = "nested folds over the clusters of this set, with its training items to learn from"


def blind_card(items: ItemSet, suite: Suite) -> BlindCard:
    """The blind scores of a set: those of its recipe in the suite's package, else measured on the set."""
    card = recipe_card(suite, items.card.recipe) if items.card.source == "generated" else None
    if card is not None:
        return card
    return BlindCard(method=FOLDS_METHOD, scores=tuple(measure_by_folds(items.items, suite)))


def recipe_card(suite: Suite, recipe: Mapping[str, Any]) -> BlindCard | None:
    """The packaged blind scores of the generated recipe; None for uniform answers and changed settings."""
    if "balance" in recipe or "settings" in recipe:
        return None
    return read_blind(Path(inspect.getfile(type(suite.recipes["generated"]))).parent)


def measure_recipe(suite: Suite, folder: Path, options: BuildOptions) -> BlindCard:
    """Generate at least `options.n` test items per task in `folder`, without rendering them, and attack them.

    Several sets are pooled, since one seed cannot give so many items. Attackers are fitted to the training items of
    these sets or, for tasks without any, to items of other seeds.
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
    """The items of several sets, one per seed; ids that each set uses differently get the seed as a prefix."""
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
