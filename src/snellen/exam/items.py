"""Item sets of an exam: built by a recipe, found in a folder, or generated on first use."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from snellen.compute import cores
from snellen.compute.pool import sharing_processes
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import BlindCard, is_itemset, write_blind
from snellen.core.suite import Recipe, Suite
from snellen.exam.instalments import declare
from snellen.runs.sets.gate import open_items
from snellen.runs.sets.generated_sets import cut_off_set, generated_folder, generated_options, suite_of_items


def find_recipe(suite: Suite, how: str) -> Recipe:
    """A recipe of the suite by name. Raises SnellenError for an unknown one."""
    recipe: Recipe | None = suite.recipes.get(how)
    if recipe is None:
        recipe_names = ", ".join(suite.recipes) or "none, since its item sets are made by other suites"
        raise SnellenError(f"{suite.name} has no recipe {how!r}; available: {recipe_names}")
    return recipe


def check_options(recipe: Recipe, options: BuildOptions, name: str) -> None:
    """Raise SnellenError for options that the recipe of this name does not have."""
    if options.size is not None and not name.endswith("generated"):
        raise SnellenError(f"{name}: --size is only for --from generated: images of other recipes keep their size")
    if options.rules and not hasattr(recipe, "rules"):
        raise SnellenError(f"--rules: {name} has no thresholds to change")
    if options.encoder and not hasattr(getattr(recipe, "rules", None), "encoder"):
        raise SnellenError(f"--encoder: {name} does not use encoder features to select images")
    if (options.columns or options.skip_bad) and not hasattr(recipe, "columns"):
        raise SnellenError(f"--map and --skip-bad: {name} reads no table of questions")
    options.refuse_other_settings(name, getattr(recipe, "settings", {}))


def build(suite: Suite, how: str, options: BuildOptions) -> ItemSet:
    """Build an item set by a recipe of the suite, with its blind baseline."""
    from snellen.runs.scores.blind import blind_card

    recipe = find_recipe(suite, how)
    with sharing_processes(options.workers):
        items = cut_off_set(suite, recipe, options) or recipe.build(options)
    if options.instalments > 1 and items.card.declaration is None:
        items = declare(items, options)
    return with_blind(items, blind_card(items, suite.of_items(items)))


def with_blind(items: ItemSet, card: BlindCard) -> ItemSet:
    """The set with these blind scores, which are written into its folder."""
    write_blind(items.root, card)
    return replace(items, blind=card)


def find_items(
    itemset: str | Path,
    *,
    limit: int | None = None,
    test_only: bool = False,
    workers: int | None = None,
    show_progress: bool = True,
) -> ItemSet:
    """The item set in a folder, or the generated one of a suite: seed 0, checkup size, built on first use.

    Args:
        itemset: Folder of an item set, name of a suite, or SUITE/TASK.
        limit: Greatest number of test items per task that are built for a suite.
        test_only: Whether a set without training items is enough.
        workers: Number of rendering processes. Default: one per core.
        show_progress: Whether to show progress on standard error.

    """
    if is_itemset(path := Path(itemset)):
        return open_items(path)
    suite = suite_of_items(itemset)
    options = generated_options(itemset, limit, test_only=test_only)
    options = replace(options, workers=workers or cores(), show_progress=show_progress)
    return find_generated(suite, options)


def find_generated(suite: Suite, options: BuildOptions) -> ItemSet:
    """The generated set of a suite with these options (but `out`) in the home folder, built on first use.

    A damaged set is built again.
    """
    root = generated_folder(suite, options)
    if is_itemset(root):
        try:
            items = open_items(root)
        except SnellenError:
            shutil.rmtree(root)
        else:
            if items.blind is not None:  # which is written last
                return items
    build(suite, "generated", replace(options, out=root))
    return open_items(root)
