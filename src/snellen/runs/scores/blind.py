"""Measuring and finding the blind baselines of an item set (the attacks are in `analysis.blind`).

For generated items they depend on the recipe, not on the seed. They are measured once per suite version, on 2,000
items per task with blank images, and stored in the suite's package, with the scores of other floors
(`analysis.grading.floors`). Other sets are measured individually.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from snellen.analysis.blind import measure_blind, measure_by_folds
from snellen.analysis.blind.measure import ATTACKS, across_questions
from snellen.analysis.grading.floors import Floors
from snellen.core.build_options import BALANCE, CHECKUP_SIZE_PX, BuildOptions
from snellen.core.grouping import lists_by_key
from snellen.core.item import Item
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import BlindCard, FloorScore, read_blind
from snellen.core.suite import Recipe, Suite

ITEMS, ITEMS_A_SET = 2000, 200
"""Test items per task for blind scores of a generated recipe, and the number of them made from one seed."""
RENDERED_SETS, RENDERED_ITEMS = 4, 36
"""Rendered sets for floors that read images, and their test items per task: as many as in a checkup of AVA-Bench."""
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
    """The packaged blind scores of the generated recipe; None for the paper's answers, changed settings, no recipe."""
    if recipe.get("balance", BALANCE) != BALANCE or "settings" in recipe or "generated" not in suite.recipes:
        return None
    return read_blind(Path(inspect.getfile(type(suite.recipes["generated"]))).parent)


def measure_recipe(suite: Suite, folder: Path, options: BuildOptions) -> BlindCard:
    """Generate at least `options.n` test items per task in `folder`, without rendering them, and attack them.

    Several sets are pooled, since one seed cannot give so many items. Attackers are fitted to the training items of
    these sets or, for tasks without any, to items of other seeds.
    """
    without_judge = [name for name, task in suite.tasks.items() if task.protocols["strict"].judge is None]
    tasks = tuple(name for name in without_judge if name not in suite.card.needs_real)
    count = options.n or ITEMS
    size = min(count, ITEMS_A_SET)
    sets = list(_sets(suite, folder, replace(options, n=size, tasks=tasks), TEST_SEED, -(-count // size)))
    test = _pooled(sets)
    train = [item for item in test if item.split == "train"]
    if without := tuple(task for task in tasks if not any(item.task == task for item in train)):
        train += _pooled(_sets(suite, folder, replace(options, n=size, tasks=without), TRAIN_SEED, TRAIN_SETS))
    tested = [item for item in test if item.split == "test"]
    scores = measure_blind(train, tested, suite, (*ATTACKS, across_questions([*train, *tested])))
    floors = list(_floors(suite, sets))
    method = (
        f"generated items of suite version {suite.card.version}, {count} per task, from seed {TEST_SEED} on; attackers "
        "were fitted and chosen on training items, or on items of other seeds"
    )
    if rendered := tuple(task for task in tasks if suite.tasks[task].cheap_sight or suite.tasks[task].colour_only):
        small = replace(options, n=min(count, RENDERED_ITEMS), tasks=rendered, size=CHECKUP_SIZE_PX, quality="fast")
        floors += _floors(suite, _sets(suite, folder / "rendered", small, TEST_SEED, RENDERED_SETS, True), True)
        method += f"; floors that read images on {RENDERED_SETS * (small.n or 0)} rendered items per task"
    return BlindCard(method=method, scores=tuple(scores), floors=tuple(floors))


def _sets(
    suite: Suite, folder: Path, options: BuildOptions, first_seed: int, count: int, is_rendered: bool = False
) -> Iterator[ItemSet]:
    """Sets of successive seeds; not rendered, their images are blank, unless the suite reads truths from them."""
    recipe: Recipe = suite.recipes["generated"]
    options = replace(options, allow_unmatched=True)  # several sets are pooled
    options = options if is_rendered else replace(options, quick=True, renderer=suite.blind_renderer)
    for seed in range(first_seed, first_seed + count):
        yield recipe.build(replace(options, out=folder / f"seed-{seed}", seed=seed))


def _pooled(sets: Iterable[ItemSet]) -> list[Item]:
    """The items of several sets; ids that each set uses differently get the seed as a prefix."""
    pooled = []
    for items in sets:
        seed = items.card.recipe["seed"]
        pooled += [
            replace(
                item,
                item_id=f"{seed}-{item.item_id}",
                group_id=f"{seed}-{item.group_id}",
                cluster_id=f"{seed}-{item.cluster_id}",
            )
            for item in items.items
        ]
    return pooled


def _floors(suite: Suite, sets: Iterable[ItemSet], with_images: bool = False) -> Iterator[FloorScore]:
    """The mean scores of floors over sets, in each of which rules learn from its training items."""
    scores = lists_by_key((score.key, score) for items in sets for score in Floors(items, suite).scores(with_images))
    for of_floor in scores.values():
        n = sum(score.n for score in of_floor)
        mean = sum(score.value * score.n for score in of_floor) / n
        yield of_floor[0].model_copy(update={"value": round(mean, 4), "n": n})
