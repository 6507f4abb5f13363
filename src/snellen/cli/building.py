"""`snellen build`: options of recipes, and the output for a plan or a new set."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from snellen.cli.blind_baseline import blind_notes
from snellen.cli.output import print_fields
from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.options import flags_of
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.seal import Seal, read_seal
from snellen.core.suite import Suite
from snellen.curation.steps import chain_lines
from snellen.exam.items import build as build_items
from snellen.exam.items import check_options, find_recipe
from snellen.exam.sealing import build_sealed, sealed_options
from snellen.suites import SUITES


def build(
    suite_and_task: str, out: str | None, options: BuildOptions, *, plan: bool, as_json: bool, verbose: bool,
    sealed: Path | None,
) -> None:  # fmt: skip
    """Build a set, or print the plan. `sealed` is the file of a seal, which determines most options."""
    name, _, task = suite_and_task.partition("/")
    suite = SUITES.get(name)
    seal = read_seal(sealed) if sealed is not None else None
    if seal is not None:
        _refuse_options(seal, suite_and_task, options)
    how = seal.recipe if seal is not None else options.recipe
    if not how and "generated" not in suite.recipes:
        raise SnellenError(f"--from is required: {', '.join(suite.recipes)}")
    how = how or "generated"
    recipe = find_recipe(suite, how)
    check_options(recipe, options, f"{name} --from {how}")
    if out is None and not plan:
        raise SnellenError("--out FOLDER is required, except with --plan")
    options = replace(options, tasks=(task,) if task else ())
    if plan:
        if seal is not None:
            options = sealed_options(seal, options)
        planned = dict(recipe.plan(options))
        steps = [] if as_json else planned.pop("steps", [])
        print_fields(planned, as_json)
        print("".join(f"{line}\n" for line in chain_lines(steps)), end="")
        return
    options = replace(options, out=Path(out or ""))
    items = build_items(suite, how, options) if seal is None else build_sealed(seal, options)
    summary = _summary(items, suite)
    if not (as_json or verbose):
        summary = {name: field for name, field in summary.items() if not name.endswith("_hash")}
    print_fields(summary, as_json)
    if not as_json:
        print(f"Next: snellen run {summary['itemset']} --subject NAME --out run (names: snellen list subjects)")


def _refuse_options(seal: Seal, suite: str, options: BuildOptions) -> None:
    """Raise SnellenError for an option that a seal determines, or a suite or recipe that it is not of."""
    if suite != seal.suite or options.recipe not in ("", seal.recipe):
        raise SnellenError(f"--sealed: the seal is of {seal.suite} --from {seal.recipe}")
    usual = BuildOptions(recipe=options.recipe)
    changed = [name for name in flags_of(BuildOptions) if getattr(options, name) != getattr(usual, name)]
    if changed:
        names = ", ".join(name.replace("_", "-") for name in changed)
        raise SnellenError(f"--sealed determines the items, so leave out {names}; make another seal with it instead")


def _summary(items: ItemSet, suite: Suite) -> dict[str, Any]:
    blind = blind_notes(items.blind, suite.of_items(items), items.card.counts) if items.blind else []
    return {
        "itemset": str(items.root),
        "items": items.card.items,
        "counts": items.card.counts,
        "recipe_hash": items.card.recipe_hash,
        "rows_hash": items.card.rows_hash,
        "content_hash": items.card.content_hash,
        "notes": [*items.card.notes, *blind],
    }
