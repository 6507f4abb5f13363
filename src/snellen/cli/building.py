"""`snellen build`: options of recipes, and the output for a plan or a new set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from snellen.cli.blind_baseline import blind_notes
from snellen.cli.options import read_settings
from snellen.cli.output import print_fields
from snellen.core.errors import SnellenError
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.seal import Seal, read_seal
from snellen.core.suite import MAX_SIDE_PX, MIN_SIDE_PX, BuildOptions, Suite
from snellen.curation.steps import chain_lines
from snellen.exam.items import build as build_items
from snellen.exam.items import find_recipe
from snellen.exam.sealing import build_sealed, sealed_options
from snellen.remote import ITEMSET, address_of, published
from snellen.suites import SUITES

SHAPES = (1.0, 1.8)
"""Least and greatest ratio of width to height of generated images, so that tables of solids have room."""


def build(
    suite_and_task: str,
    how: str,
    out: str | None,
    *,
    plan: bool,
    as_json: bool,
    verbose: bool,
    sealed: Path | None,
    settings: list[str],
    columns: list[str],
    **given: Any,
) -> None:
    """Build a set, or print the plan.

    `settings` are NAME=VALUE, `columns` FIELD=COLUMN,..; `given` are fields of `BuildOptions`. `sealed` is the file of
    a seal, which determines most of them.
    """
    name, _, task = suite_and_task.partition("/")
    suite = SUITES.get(name)
    seal = read_seal(sealed) if sealed is not None else None
    if seal is not None:
        _refuse_options(seal, suite_and_task, how, [*settings, *columns], given)
        how = seal.recipe
    if not how and "generated" not in suite.recipes:
        raise SnellenError(f"--from is required: {', '.join(suite.recipes)}")
    how = how or "generated"
    recipe = find_recipe(suite, how)
    if given.get("rules") and not hasattr(recipe, "rules"):
        raise SnellenError(f"--rules: {name} --from {how} has no thresholds to change")
    if given.get("encoder") and not hasattr(getattr(recipe, "rules", None), "encoder"):
        raise SnellenError(f"--encoder: {name} --from {how} does not use encoder features to select images")
    if (columns or given.get("skip_bad")) and not hasattr(recipe, "columns"):
        raise SnellenError(f"--map and --skip-bad: {name} --from {how} reads no table of questions")
    if out is None and not plan:
        raise SnellenError("--out FOLDER is required, except with --plan")
    known = getattr(recipe, "settings", {})
    given["settings"] = read_settings(settings, known, f"{name} --from {how}")
    given["columns"] = _read_columns(columns)
    options = BuildOptions(Path(), tasks=(task,) if task else (), show_progress=not as_json, **given)
    if plan:
        if seal is not None:
            options = sealed_options(seal, options)
        planned = dict(recipe.plan(options))
        steps = [] if as_json else planned.pop("steps", [])
        print_fields(planned, as_json)
        print("".join(f"{line}\n" for line in chain_lines(steps)), end="")
        return
    with published(out or "", card=ITEMSET) as root:
        options = replace(options, out=root)
        items = build_items(suite, how, options) if seal is None else build_sealed(seal, options)
    summary = _summary(items, suite)
    if not (as_json or verbose):
        summary = {name: field for name, field in summary.items() if not name.endswith("_hash")}
    print_fields(summary, as_json)
    if not as_json:
        print(f"Next: snellen run {summary['itemset']} --subject NAME --out run (names: snellen list subjects)")


def _refuse_options(seal: Seal, suite: str, how: str, written: list[str], given: Mapping[str, Any]) -> None:
    """Raise SnellenError for an option that a seal determines, or a suite or recipe that it is not of."""
    if suite != seal.suite or how not in ("", seal.recipe):
        raise SnellenError(f"--sealed: the seal is of {seal.suite} --from {seal.recipe}")
    free = {"workers", "settings", "columns", "show_progress"}
    usual = {field.name: field.default for field in fields(BuildOptions)} | {"sources": {}, "inputs": {}}
    changed = [name for name, value in given.items() if name not in free and value != usual[name]]
    if changed or written:
        names = ", ".join([*(name.replace("_", "-") for name in changed), *written])
        raise SnellenError(f"--sealed determines the items, so leave out {names}; make another seal with it instead")


def _read_columns(written: list[str]) -> dict[str, str]:
    """Columns by field, from texts of FIELD=COLUMN joined by commas. Raises SnellenError for other forms."""
    columns: dict[str, str] = {}
    for pair in ",".join(written).split(",") if written else ():
        field, equals, column = (part.strip() for part in pair.partition("="))
        if not equals or not field or field in columns:
            raise SnellenError(f"--map {pair!r}: write FIELD=COLUMN, each field once: question=prompt,answer=key")
        columns[field] = column
    return columns


def _summary(items: ItemSet, suite: Suite) -> dict[str, Any]:
    blind = blind_notes(items.blind, suite.of_items(items), items.card.counts) if items.blind else []
    return {
        "itemset": address_of(items.root),
        "items": items.card.items,
        "counts": items.card.counts,
        "recipe_hash": items.card.recipe_hash,
        "rows_hash": items.card.rows_hash,
        "content_hash": items.card.content_hash,
        "notes": [*items.card.notes, *blind],
    }


def size_of(text: str, how: str) -> tuple[int, int]:
    """Width and height of `640x480`. Raises SnellenError for an invalid size, or a recipe that renders no images."""
    if how not in ("", "generated"):  # the default
        raise SnellenError(f"--size {text!r} is only for --from generated: images of other recipes keep their size")
    sides = text.split("x")
    if len(sides) != 2 or not all(side.isascii() and side.isdigit() and len(side) < 6 for side in sides):
        raise SnellenError(f"--size {text!r}: write WIDTHxHEIGHT in pixels, e.g. 640x480")
    width, height = map(int, sides)
    if not all(MIN_SIDE_PX <= side <= MAX_SIDE_PX for side in (width, height)):
        raise SnellenError(f"--size {text!r}: each side must have {MIN_SIDE_PX} to {MAX_SIDE_PX} pixels")
    if not SHAPES[0] <= width / height <= SHAPES[1]:
        raise SnellenError(f"--size {text!r}: the width must be 1 to 1.8 times the height, since scenes need room")
    return width, height
