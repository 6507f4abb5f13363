"""Item sets named by a folder or a suite, and the folders of generated sets, named after their whole recipe."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from snellen.core.build_options import BuildOptions
from snellen.core.condition import refuse_unknown
from snellen.core.errors import SnellenError
from snellen.core.storage.home import home
from snellen.core.storage.itemset import ItemSet, recipe_hash
from snellen.core.storage.itemset_cards import is_itemset, read_blind, read_card
from snellen.core.suite import Recipe, Suite, recorded_parameters
from snellen.runs.sets.gate import open_items
from snellen.suites import SUITES


def itemset_folder(itemset: str | Path, limit: int | None = None, *, test_only: bool = False) -> Path:
    """The folder of an item set, or of the generated set of a suite or task, built or not.

    The latter is named after its whole recipe, so that a small set is never used for the full one. With `test_only`,
    the set without training items is enough.
    """
    if is_itemset(Path(itemset)):
        return Path(itemset)
    return generated_folder(suite_of_items(itemset), generated_options(itemset, limit, test_only=test_only))


def generated_folder(suite: Suite, options: BuildOptions) -> Path:
    """The folder in the home folder for the generated set of these options, named after its recipe.

    A set without training items has one of its own, unless the whole set exists.
    """
    recipe = recorded_parameters(suite.recipes["generated"], options)
    name = recipe_hash(suite.name, suite.card.version, "generated", recipe)[:12]
    folder = home() / "itemsets" / f"{suite.name}-{suite.card.version}-{name}"
    return folder.with_name(f"{folder.name}-test") if options.test_only and not is_itemset(folder) else folder


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
    path = Path(itemset)
    if is_itemset(path):
        return SUITES.get(read_card(path).suite)
    name, _, task = str(itemset).partition("/")
    known = f"suites are: {', '.join(SUITES)}"
    if path.exists() and str(itemset) not in set(SUITES):
        raise SnellenError(f"{path}: no item set (no itemset.json) and no suite; {known}")
    if name not in set(SUITES):
        raise SnellenError(f"{str(itemset)!r} is neither a folder nor a suite; {known}")
    suite = SUITES.get(name)
    if "generated" not in suite.recipes:
        raise SnellenError(f"{suite.name} generates no items; build a set (snellen build) and name its folder")
    refuse_unknown([task] if task else [], suite.tasks, f"{name}: no task")
    return suite


def generated_options(itemset: str | Path, limit: int | None, *, test_only: bool = False) -> BuildOptions:
    """Options of the generated set of a suite or of one task (SUITE/TASK): seed 0, checkup size.

    With a lower limit that many test items (objects, pairs) per task. With any limit the training items may be
    unmatched. `test_only` leaves out training items if the recipe can.
    """
    name, _, task = str(itemset).partition("/")
    recipe = SUITES.get(name).recipes["generated"]
    options = BuildOptions(
        Path(), tasks=(task,) if task else (), allow_unmatched=limit is not None,
        test_only=test_only and getattr(recipe, "leaves_out_training", False),
    )  # fmt: skip
    counts = recipe.parameters(options)["counts"]
    return options if limit is None or limit >= max(counts.values()) else replace(options, n=limit)
