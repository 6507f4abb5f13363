"""How much of an item set is had without looking, and where that is kept (`analysis.blind` says how it is attacked).

Of generated items it hangs on the recipe, not on the seed: it is measured once a suite version, on a thousand items a
task whose pictures are left blank, and kept in the suite's package. Other sets are measured by themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from snellen.analysis.blind import measure_blind, measure_by_folds
from snellen.core.itemset import BlindCard, ItemSet, is_itemset, read_itemset
from snellen.core.suite import BuildOptions, Recipe, Suite

FILE = "blind.json"
ITEMS = 1000
"""Test items a task that blind scores of a generated recipe are measured on."""
FOLDS_METHOD = "nested folds over the clusters of this set, with its training items to learn from"
SEEDS = {"test": 102, "train": 101}


def blind_card(items: ItemSet, suite: Suite) -> BlindCard:
    """The blind scores of a set: of its recipe where they are in the suite's package, else measured on the set."""
    card = recipe_card(suite, items.card.recipe) if items.card.source == "generated" else None
    if card is not None:
        return card
    return BlindCard(method=FOLDS_METHOD, scores=tuple(measure_by_folds(items.items, suite)))


def recipe_card(suite: Suite, recipe: Mapping[str, Any]) -> BlindCard | None:
    """What was measured of the suite's generated recipe at this version; None where nobody did."""
    package = files(f"snellen.suites.{suite.name.replace('-', '_')}")
    path = package / _file_name(str(recipe.get("balance", "")))
    return BlindCard.model_validate_json(path.read_text("utf-8")) if path.is_file() else None


def _file_name(balance: str) -> str:
    return f"blind_{balance}.json" if balance else FILE


def measure_recipe(suite: Suite, folder: Path, options: BuildOptions) -> BlindCard:
    """Generate `options.n` test items a task in `folder` without drawing them, and attack them.

    Learnt from are the set's training items; for tasks that have none, the items of a set from another seed.
    """
    tasks = tuple(task for task in suite.tasks if _can_be_measured(suite, task))
    test = _generated(suite, folder, options, "test", tasks)
    train = [item for item in test.items if item.split == "train"]
    if without := tuple(task for task in tasks if not any(item.task == task for item in train)):
        train += _generated(suite, folder, options, "train", without).items
    scores = measure_blind(train, [item for item in test.items if item.split == "test"], suite)
    counts = f"{options.n} items a task of seed {SEEDS['test']}"
    method = (
        f"suite version {suite.card.version}: {counts}, attackers fitted and chosen on items of other seeds or splits"
    )
    return BlindCard(method=method, scores=tuple(scores))


def _can_be_measured(suite: Suite, task: str) -> bool:
    return task not in suite.card.needs_real and suite.tasks[task].protocols["strict"].judge is None


def _generated(suite: Suite, folder: Path, options: BuildOptions, split: str, tasks: Sequence[str]) -> ItemSet:
    out = folder / f"{suite.name}-{split}"
    if not is_itemset(out):
        recipe: Recipe = suite.recipes["generated"]
        recipe.build(
            replace(options, out=out, seed=SEEDS[split], tasks=tuple(tasks), quick=True, renderer=suite.blind_renderer)
        )
    return read_itemset(out, verify=False)
