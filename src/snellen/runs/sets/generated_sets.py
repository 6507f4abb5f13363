"""Item sets named by a folder or a suite, and the folders of generated sets, named after their whole recipe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.home import home
from snellen.core.storage.itemset import ItemSet, recipe_hash
from snellen.core.storage.itemset_cards import is_itemset, read_blind, read_card
from snellen.core.suite import Recipe, Suite, recorded_parameters
from snellen.remote import fetched, is_url
from snellen.runs.sets.gate import open_items
from snellen.suites import SUITES


def itemset_folder(itemset: str | Path, limit: int | None = None) -> Path:
    """The folder of an item set (for a URL, its local copy), or of the generated set of a suite, built or not.

    The latter is named after its whole recipe, so that a small set is never used for the full one.
    """
    if is_url(itemset) or is_itemset(Path(itemset)):
        return fetched(itemset)
    suite = suite_of_items(itemset)
    return generated_folder(suite, generated_options(suite, limit))


def generated_folder(suite: Suite, options: BuildOptions) -> Path:
    """The folder in the home folder for the generated set of these options, named after its recipe."""
    recipe = recorded_parameters(suite.recipes["generated"], options)
    name = recipe_hash(suite.name, suite.card.version, "generated", recipe)[:12]
    return home() / "itemsets" / f"{suite.name}-{suite.card.version}-{name}"


def cut_off_set(suite: Suite, recipe: Recipe, options: BuildOptions) -> ItemSet | None:
    """The set in `options.out` if it is of this recipe and its build was killed before it had blind scores.

    None if there is no set, a set of another recipe, or a complete one.
    """
    if not is_itemset(options.out) or read_blind(options.out) is not None:
        return None
    card = read_card(options.out)
    wanted = replace(options, instalments=options.instalments if card.declaration else 1)
    is_same = (card.suite, card.version, card.recipe) == (
        suite.name, suite.card.version, recorded_parameters(recipe, wanted),
    )  # fmt: skip
    return open_items(options.out) if is_same else None


def suite_of_items(itemset: str | Path) -> Suite:
    """The suite of an item set, or of this name. Raises SnellenError if it is neither."""
    path = fetched(itemset)
    if is_itemset(path):
        return SUITES.get(read_card(path).suite)
    if str(itemset) not in set(SUITES):
        if path.exists():
            raise SnellenError(f"{path}: no item set (no itemset.json) and no suite; suites are: {', '.join(SUITES)}")
        raise SnellenError(f"{itemset!r} is neither a folder nor a suite; suites are: {', '.join(SUITES)}")
    suite = SUITES.get(str(itemset))
    if "generated" not in suite.recipes:
        raise SnellenError(f"{suite.name} generates no items; build a set (snellen build) and name its folder")
    return suite


def generated_options(suite: Suite, limit: int | None) -> BuildOptions:
    """Seed 0 and the checkup size, or with a lower limit that many test items (objects, pairs) per task.

    With any limit the training items may be unmatched.
    """
    options = BuildOptions(Path(), allow_unmatched=limit is not None)
    counts = suite.recipes["generated"].parameters(options)["counts"]
    return options if limit is None or limit >= max(counts.values()) else replace(options, n=limit)
