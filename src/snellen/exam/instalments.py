"""Sets in instalments: declared whole, and drawn one instalment after another while their items are asked.

A declaration holds the options of a recipe `generated` and the number of instalments. Each instalment is a set of its
own, from a seed that follows from the first one, so its answers are balanced as those of every set, and so are those of
the first instalments together. Later instalments have test items only: what a subject learns from does not change while
the set grows. The reasons are in design/grades.md.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from snellen.compute import Shard, cores, map_ahead, one_at_a_time
from snellen.compute.pool import sharing_processes
from snellen.core.build_options import MAX_SIDE_PX, MIN_SIDE_PX, BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.plain_text import short_reason
from snellen.core.storage import files
from snellen.core.storage.item_rows import read_image_recipes
from snellen.core.storage.itemset import INSTALMENT, ItemSet, add_instalment, declared, read_itemset
from snellen.core.storage.itemset_cards import SetDeclaration, is_itemset
from snellen.core.storage.seal import FixedOptions
from snellen.core.storage.trees import refuse_links
from snellen.runs.sets.gate import open_items
from snellen.suites import SUITES

NAMES = ("item_id", "group_id", "stimulus_id", "cluster_id")
"""Fields of an item that must differ between instalments."""
RECURRING = ("rule", "object")
"""Entries of an item's provenance that name what it is about: one that an earlier instalment asks about is left out."""
Side = Annotated[int, Field(ge=MIN_SIDE_PX, le=MAX_SIDE_PX)]
MAX_ITEMS = 100_000
"""Items of a task in an instalment at most."""
DRAWING = "drawing"
"""The folder of a set in which its next instalment is drawn."""


def declare(items: ItemSet, options: BuildOptions) -> ItemSet:
    """The new set of these options as the first instalment of `options.instalments`."""
    if options.full or options.inputs or options.sources:
        raise SnellenError(
            f"{options.out}: --instalments goes with generated sets without --full, --input and --source"
        )
    fields = {name: getattr(options, name) for name in InstalmentOptions.model_fields}
    fields |= {"tasks": tuple(options.instalment_tasks or options.tasks), "settings": dict(options.settings)}
    chosen = InstalmentOptions(**fields).model_dump(mode="json")
    return declared(
        items, SetDeclaration(instalments=options.instalments, options=chosen, planned_looks=options.planned_looks)
    )


class InstalmentOptions(FixedOptions):
    """The options that a declaration fixes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    seed: int
    quick: bool
    n: Annotated[int, Field(ge=1, le=MAX_ITEMS)] | None
    size: tuple[Side, Side] | None


def instalment_options(declaration: SetDeclaration, number: int, out: Path, workers: int = 1) -> BuildOptions:
    """The options of a later instalment, which has test items only."""
    chosen = dict(InstalmentOptions.model_validate_json(json.dumps(declaration.options)))
    chosen["seed"] = instalment_seed(chosen["seed"], number)
    return BuildOptions(out, workers=workers, test_only=True, allow_unmatched=True, show_progress=False, **chosen)


def instalment_seed(seed: int, number: int) -> int:
    """The seed of a later instalment of a set."""
    return int(digest([seed, "part", number], 8), 16)


def draw_instalment(root: Path, number: int, workers: int = 1) -> None:
    """Draw an instalment of the set in a folder, unless the set has it. One that a killed process began is continued.

    Waits for another process that draws there.
    """
    with files.kernel_lock(root / "lock", root, wait=True):
        items = read_itemset(root, verify=False)
        declaration = items.card.declaration
        if declaration is None or len(items.card.instalments) > number:
            return
        refuse_links(root)
        folder = root / DRAWING / f"{number:03d}"
        if not is_itemset(folder):
            try:
                recipe = SUITES.get(items.card.suite).recipes["generated"]
                options = instalment_options(declaration, number, folder, workers)
                options.refuse_other_settings(items.card.suite, getattr(recipe, "settings", {}))
            except (KeyError, TypeError, ValueError) as error:
                raise SnellenError(f"{root}: no set to be continued ({short_reason(str(error))})") from error
            with sharing_processes(workers):
                recipe.build(options)
        instalment = read_itemset(folder, verify=False)
        new = list(_new_items(instalment.items, number, items.items))
        for media in {media.sha256: media for item in new for media in item.media()}.values():
            target = root / "media" / media.path
            if not target.exists():  # moved before a kill
                target.parent.mkdir(parents=True, exist_ok=True)
                instalment.media.find(media).replace(target)
        add_instalment(items, new, {**read_image_recipes(root), **read_image_recipes(folder)})
        shutil.rmtree(root / DRAWING)


def _new_items(items: Iterable[Item], number: int, drawn_items: Iterable[Item]) -> Iterator[Item]:
    """The test items of an instalment, named apart from those of the others, about other things than earlier ones."""
    known = {subject for item in drawn_items for subject in _subjects(item)}
    for item in items:
        if item.split == "test" and known.isdisjoint(_subjects(item)):
            names: dict[str, Any] = {name: f"{getattr(item, name)}-part-{number}" for name in NAMES}
            yield replace(item, **names, provenance={**item.provenance, INSTALMENT: number})


def _subjects(item: Item) -> list[tuple[str, str, str]]:
    return [(item.task, name, str(item.provenance[name])) for name in RECURRING if name in item.provenance]


@contextmanager
def instalments_ahead(
    items: ItemSet, max_instalments: int | None = None, workers: int | None = None
) -> Iterator[Iterator[ItemSet]]:
    """Yield the set with one more instalment each time, up to `max_instalments` of them.

    An instalment is drawn in another process while earlier ones are asked, at most one ahead; leaving the block ends
    the process.
    """
    drawn, count = len(items.card.instalments), workers or cores()
    end = drawn + items.card.instalments_left
    shards = [_shard(items.root, number, count) for number in range(drawn, min(end, max_instalments or end))]
    with map_ahead(_draw, shards, ahead=1) as roots:
        yield map(open_items, roots)


@contextmanager
def instalments_in_background(workers: int) -> Iterator[Callable[[ItemSet], bool]]:
    """Yield a function that begins to draw the next instalment of a set in another process; it returns True if it did.

    It does not while another instalment is being drawn, or with one worker. Leaving the block ends the
    process, and the next one continues the instalment.
    """
    if workers < 2:
        yield lambda items: False
        return
    with one_at_a_time(_draw) as begin:
        yield lambda items: begin(_shard(items.root, len(items.card.instalments), workers))


def _shard(root: Path, number: int, workers: int) -> Shard[tuple[Path, int, int]]:
    return Shard(f"instalment {number}", (root, number, workers))


def _draw(numbered: tuple[Path, int, int]) -> Path:
    draw_instalment(*numbered)
    return numbered[0]
