"""Where item sets lie that are named by a folder or a suite; those of suites are called after their whole recipe."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.storage.home import home
from snellen.core.storage.itemset import ItemSet, is_itemset, read_blind, read_card, recipe_hash
from snellen.core.suite import BuildOptions, Recipe, Suite
from snellen.remote import fetched, is_url
from snellen.runs.gate import open_items
from snellen.suites import SUITES


def itemset_folder(itemset: str | Path, limit: int | None = None) -> Path:
    """The folder of an item set (of a URL the local copy), or where the generated one of a suite lies once it is built.

    The latter is called after its whole recipe, so that a small set never stands in for the full one.
    """
    if is_url(itemset) or is_itemset(Path(itemset)):
        return fetched(itemset)
    suite = suite_of_items(itemset)
    return generated_folder(suite, generated_options(suite, limit))


def generated_folder(suite: Suite, options: BuildOptions) -> Path:
    """Where in the home folder the generated set of these options lies once it is built, called after its recipe."""
    recipe = json.loads(json.dumps(suite.recipes["generated"].parameters(options)))
    name = recipe_hash(suite.name, suite.card.version, "generated", recipe)[:12]
    return home() / "itemsets" / f"{suite.name}-{suite.card.version}-{name}"


def cut_off_set(suite: Suite, recipe: Recipe, options: BuildOptions) -> ItemSet | None:
    """The set in `options.out` if it is what this recipe makes, but for blind scores: its build was killed just before.

    None where nothing lies there, a set of another recipe, or a whole one.
    """
    if not is_itemset(options.out) or read_blind(options.out) is not None:
        return None
    card, parameters = read_card(options.out), json.loads(json.dumps(recipe.parameters(options)))
    is_same = (card.suite, card.version, card.recipe) == (suite.name, suite.card.version, parameters)
    return open_items(options.out) if is_same else None


def suite_of_items(itemset: str | Path) -> Suite:
    """The suite of an item set, or of this name. Raises SnellenError where it is neither."""
    path = fetched(itemset)
    if is_itemset(path):
        return SUITES.get(read_card(path).suite)
    if str(itemset) not in set(SUITES):
        if path.exists():
            raise SnellenError(f"{path}: no item set (no itemset.json), and no suite; suites are: {', '.join(SUITES)}")
        raise SnellenError(f"{itemset!r} is neither a folder nor a suite; suites are: {', '.join(SUITES)}")
    return SUITES.get(str(itemset))


def generated_options(suite: Suite, limit: int | None) -> BuildOptions:
    """Seed 0 and the checkup size; with a limit below it that many test items (objects, pairs) a task."""
    options = BuildOptions(Path())
    counts = suite.recipes["generated"].parameters(options)["counts"]
    return options if limit is None or limit >= max(counts.values()) else replace(options, n=limit)
