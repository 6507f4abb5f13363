"""Where item sets lie that are named by a folder or a suite; those of suites are called after their whole recipe."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.home import home
from snellen.core.itemset import is_itemset, read_card, recipe_hash
from snellen.core.suite import BuildOptions, Suite
from snellen.remote import fetched, is_url
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
