"""Sealed exams: sealing a recipe with a secret seed, building from a seal, revealing it, and making the rows again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from snellen.core.build_options import MAX_SIDE_PX, MIN_SIDE_PX, BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.itemset_cards import is_itemset, read_blind, read_card
from snellen.core.storage.runfolder import is_run, read_run_card
from snellen.core.storage.seal import SEALED, Seal, SealParameters, conceal, concealed_recipe, new_seal, write_revealed
from snellen.core.suite import Suite
from snellen.exam.items import find_recipe, with_blind
from snellen.runs.sets.gate import open_items
from snellen.stimuli.render.engine import drawn_by
from snellen.suites import SUITES

RECIPE = "generated"
"""The recipe that can be sealed: only its items exist nowhere before they are built."""


def make_seal(suite: Suite, options: BuildOptions) -> Seal:
    """A seal of the suite's generated items with these options and a new seed.

    Raises SnellenError for options that the recipe refuses, or if the suite generates no items.
    """
    parameters = {name: getattr(options, name) for name in SealParameters.model_fields}
    seal = new_seal(suite.name, suite.card.version, RECIPE, SealParameters(**parameters))
    find_recipe(suite, RECIPE).parameters(sealed_options(seal, options))
    return seal


def sealed_options(seal: Seal, options: BuildOptions) -> BuildOptions:
    """The options with the parameters and the seed of a seal. Raises SnellenError for impossible sizes of images."""
    if not all(MIN_SIDE_PX <= side <= MAX_SIDE_PX for side in seal.parameters.size or ()):
        raise SnellenError(f"seal {seal.commitment[:16]}…: images of {seal.parameters.size} pixels cannot be made")
    return replace(options, **dict(seal.parameters), seed=int(seal.seed))


def build_sealed(seal: Seal, options: BuildOptions) -> ItemSet:
    """Build the set of a seal in `options.out`. Nothing in its folder shows the seed.

    A killed build is continued. Raises SnellenError if this version of the suite is not the sealed one.
    """
    from snellen.runs.scores.blind import blind_card

    suite = _suite_of(seal)
    options = sealed_options(seal, options)
    card = read_card(options.out) if is_itemset(options.out) else None
    if card is not None and card.recipe.get(SEALED) == seal.commitment and read_blind(options.out) is None:
        items = open_items(options.out)
    else:
        items = conceal(lambda: find_recipe(suite, seal.recipe).build(options), seal)
    return with_blind(items, blind_card(items, suite.of_items(items)))


def reveal(seal: Seal, root: Path) -> Path:
    """Publish a seal beside an item set or a run, and return the file.

    Raises SnellenError if the folder holds neither, or was not made from this seal.
    """
    items_root = Path(read_run_card(root).itemset) if is_run(root) and not is_itemset(root) else root
    refuse_other_seal(seal, items_root)
    return write_revealed(root, seal)


def refuse_other_seal(seal: Seal, root: Path) -> None:
    """Raise SnellenError unless the item set was built from this seal, as its commitment tells."""
    commitment = read_card(root).recipe.get(SEALED)
    if commitment is None:
        raise SnellenError(f"{root}: not a sealed set; build one with `snellen build SUITE --sealed exam.seal`")
    if commitment != seal.commitment:
        raise SnellenError(
            f"{root}: built from the seal with commitment {str(commitment)[:16]}…, not {seal.commitment[:16]}…"
        )


def planned_items(seal: Seal) -> int:
    """The number of test items that a seal asks for, without making them."""
    suite = _suite_of(seal)
    options = sealed_options(seal, BuildOptions(Path("items"), show_progress=False))
    return sum(find_recipe(suite, seal.recipe).plan(options)["items"].values())


def planned_recipe(seal: Seal) -> dict[str, Any]:
    """The recipe on the card of the set of a seal, without making the set."""
    options = sealed_options(seal, BuildOptions(Path("items"), show_progress=False))
    return concealed_recipe(find_recipe(_suite_of(seal), seal.recipe).parameters(options), seal)


@contextmanager
def built_again(seal: Seal) -> Iterator[ItemSet]:
    """The set of a seal, made again in a temporary folder with undrawn images, which recipes name as if drawn."""
    suite = _suite_of(seal)
    with TemporaryDirectory() as folder, drawn_by(suite.blind_renderer):
        options = sealed_options(seal, BuildOptions(Path(folder) / "items", show_progress=False))
        yield conceal(lambda: find_recipe(suite, seal.recipe).build(options), seal)


def _suite_of(seal: Seal) -> Suite:
    suite = SUITES.get(seal.suite)
    if suite.card.version != seal.version:
        raise SnellenError(
            f"the seal is of {seal.suite} version {seal.version}, and this is version {suite.card.version}; install "
            f"the Snellen of that version"
        )
    return suite
