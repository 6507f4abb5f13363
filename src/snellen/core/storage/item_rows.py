"""The machine-independent content of an item set's rows: rounded numbers, and a hash that names images by recipe.

The last digits of a float, and the pixels of a ray-traced image, depend on the processor and its libraries. Rows keep
twelve significant digits. `rows_hash` replaces each rendered image by the recipe that it was rendered from, and leaves
out fields that were measured in pixels (`FROM_PIXELS`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import TypeAdapter

from snellen.core.errors import SnellenError
from snellen.core.hashing import ListDigest, digest
from snellen.core.item import Item
from snellen.core.storage import files
from snellen.core.storage.user_files import MAX_CARD_VALUES, bounded_json

JSON_FIELDS = ("answer", "factors", "measures", "regions", "latent", "provenance")
"""Fields stored as JSON text, since their structure differs between suites."""
FROM_PIXELS = "from_pixels"
"""Key of an item's provenance: the fields measured in the pixels of a rendered image."""
_MEASURED = {"answer", "measures", "regions", "latent"}
DIGITS, DECIMALS = 12, 9
"""Significant digits of a float in a row; decimals of a length, an angle or a colour in the recipe of an image."""
_FILE, _NAMES = "image_recipes.parquet", "image_names.parquet"
_OBJECT = TypeAdapter(dict[str, Any])
_SCHEMA = pa.schema({"sha256": pa.string(), "recipe": pa.string()})
_NAME_SCHEMA = pa.schema({"sha256": pa.string(), "names": pa.list_(pa.string())})


def rounded(item: Item) -> Item:
    """The item as stored: floats of answer, measures, regions and latent rounded to twelve significant digits."""
    names = ("answer", "measures", "regions", "latent")
    return replace(item, **{name: changed(getattr(item, name), _significant) for name in names})


def decided_hashes(rows: Iterable[Mapping[str, Any]], image_recipes: Mapping[str, str]) -> tuple[str, str]:
    """`rows_hash` of stored rows and `test_hash` of those for testing, with the recipes of images by SHA-256."""
    whole, of_test = ListDigest(), ListDigest()
    for row in decided_rows(rows, image_recipes):
        whole.add(row)
        if row["split"] == "test":
            of_test.add(row)
    return whole.digest(), of_test.digest()


def digest_of_rows(rows: Iterable[Mapping[str, Any]]) -> str:
    """The digest of a list of rows, 64 hexadecimal digits, without all of them in memory."""
    rows_digest = ListDigest()
    for row in rows:
        rows_digest.add(row)
    return rows_digest.digest()


def decided_rows(rows: Iterable[Mapping[str, Any]], image_recipes: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """What was decided about each stored row: its fields but those measured in pixels, with images by recipe.

    Raises SnellenError where two names of an object are those of one recipe: one of them would be hidden.
    """
    names = {sha256: recipe_name(recipe) for sha256, recipe in image_recipes.items()}
    for row in rows:
        cells = {name: json.loads(cell) if name in JSON_FIELDS else cell for name, cell in row.items()}
        measured = cells["provenance"].get(FROM_PIXELS, ())
        if not isinstance(measured, list | tuple) or not {*map(str, measured)} <= _MEASURED:
            raise SnellenError(f"item {row['item_id']!r:.100}: {FROM_PIXELS} names other fields; build the set again")
        decided = {name: cell for name, cell in cells.items() if name not in measured}
        yield changed(decided, lambda text: names.get(text, text) if isinstance(text, str) else text)


def recipe_name(recipe: str) -> str:
    """The digest of a recipe (JSON text), 64 hexadecimal digits, with floats rounded to nine decimals."""
    return digest(changed(json.loads(recipe), _decimal))


def _significant(value: Any) -> Any:
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def _decimal(value: Any) -> Any:
    return round(value, DECIMALS) + 0.0 if isinstance(value, float) else value  # no -0.0


def changed(value: Any, change: Callable[[Any], Any]) -> Any:
    """Plain data with `change` applied to every key and every leaf."""
    if isinstance(value, Mapping):
        parts = {change(key): changed(part, change) for key, part in value.items()}
        if len(parts) < len(value):
            raise SnellenError(f"two names of an object become one ({list(value)!r:.90}); copy or build it again")
        return parts
    if type(value) in (list, tuple):
        return type(value)(changed(part, change) for part in value)
    return change(value)


def write_image_recipes(root: Path, items: Iterable[Item], image_recipes: Mapping[str, str]) -> None:
    """Write the recipes of the images that items show or name, as JSON text by SHA-256; no file if there are none."""
    names = set[Any]()  # latents may name images of items that were dropped

    def noted(leaf: Any) -> Any:
        names.update([leaf] if isinstance(leaf, str) else ())
        return leaf

    for item in items:
        names.update(media.sha256 for media in item.media())
        changed(item.latent, noted)
    rendered = sorted(names & image_recipes.keys())
    if rendered:
        rows = [{"sha256": sha256, "recipe": image_recipes[sha256]} for sha256 in rendered]
        files.write_table(root / _FILE, files.table_of(rows, _SCHEMA))


def read_image_recipes(root: Path) -> dict[str, str]:
    """The recipes of a set's rendered images, as JSON text by SHA-256; empty if there is no file of them."""
    path = root / _FILE
    table = files.read_table(path, schema=_SCHEMA) if path.is_file() else _SCHEMA.empty_table()
    recipes = {str(row["sha256"]): str(row["recipe"]) for row in files.rows_of(table)}
    for name, recipe in recipes.items():
        try:
            _OBJECT.validate_json(bounded_json(recipe, MAX_CARD_VALUES))
        except ValueError as error:
            raise SnellenError(f"{path}: the recipe of {name:.64} is no object; copy the item set again") from error
    return recipes


def write_image_names(root: Path, items: Iterable[Item], image_names: Mapping[str, Collection[str]]) -> None:
    """Write the names that the items' images had in the user's folder, by their SHA-256; no file without any."""
    images = sorted({media.sha256 for item in items for media in item.media()} & image_names.keys())
    if rows := [{"sha256": sha256, "names": sorted(image_names[sha256])} for sha256 in images]:
        files.write_table(root / _NAMES, files.table_of(rows, _NAME_SCHEMA))


def read_image_names(root: Path) -> dict[str, list[str]]:
    """The names that a set's images had in the user's folder, by SHA-256; empty if there is no file of them."""
    path, schema = root / _NAMES, _NAME_SCHEMA
    table = files.read_table(path, schema=schema) if path.is_file() else schema.empty_table()
    return {str(row["sha256"]): list(map(str, row["names"] or ())) for row in files.rows_of(table)}
