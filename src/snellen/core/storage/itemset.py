"""An item set on disk: `itemset.json` (card), `items.parquet`, `media/`. Built once, never edited.

A set in instalments is declared whole and drawn bit by bit (`exam.instalments`): it grows, but nothing in it changes.

This module defines the schema; `docs/data-schema.md` describes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa

from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.hashing import ListDigest, digest
from snellen.core.item import AnswerKind, Demo, Item, Media, Option, Split
from snellen.core.item_checks import item_fault, media_fault
from snellen.core.plain_text import printable
from snellen.core.storage import files
from snellen.core.storage.item_rows import JSON_FIELDS, decided_hashes, digest_of_rows, rounded, write_image_recipes
from snellen.core.storage.itemset_cards import (
    BlindCard,
    Instalment,
    ItemSetCard,
    SetDeclaration,
    is_itemset,
    read_blind,
    read_card,
    write_card,
)
from snellen.core.storage.media import MediaFolder

_TEXT, _INT, _FLOAT = pa.string(), pa.int32(), pa.float64()
_MEDIA = pa.list_(
    pa.struct({"sha256": _TEXT, "kind": _TEXT, "format": _TEXT, "width": _INT, "height": _INT, "seconds": _FLOAT})
)
_NESTED = {
    "query": _MEDIA,
    "options": pa.list_(pa.struct({"key": _TEXT, "text": _TEXT, "media": _MEDIA})),
    "support": pa.list_(pa.struct({"media": _MEDIA, "answer": _TEXT, "shot": _INT, "caption": _TEXT})),
    "requires": pa.list_(_TEXT),
}
_MEDIA_NAMES = tuple(field.name for field in _MEDIA.value_type)
SCHEMA = pa.schema({f.name: _NESTED.get(f.name, _TEXT) for f in fields(Item)})
"""One row per item."""
_TEXT_FIELDS = tuple(name for name in SCHEMA.names if name not in {*_NESTED, *JSON_FIELDS})
_KINDS, _SPLITS = set(get_args(AnswerKind)), set(get_args(Split))
_Content = tuple[tuple[Item, ...], Mapping[str, Any]]
CONCEALMENT: ContextVar[Callable[[Any, Any], _Content]] = ContextVar("concealment", default=lambda *same: same)
"""What makes of the items and the recipe of a set those that are written, so that no secret reaches its folder."""


@dataclass(frozen=True)
class ItemSet:
    """Items in order, their card, the folder of their media, and the blind baseline if it was measured."""

    root: Path
    card: ItemSetCard
    items: tuple[Item, ...]
    media: MediaFolder
    blind: BlindCard | None = None

    @cached_property
    def by_id(self) -> dict[str, Item]:
        """Items by their id."""
        return {item.item_id: item for item in self.items}

    def __repr__(self) -> str:
        return f"<ItemSet {self.card.suite} version {self.card.version}: {len(self.items)} items; {self.root}>"

    def _repr_html_(self) -> str:
        """The first items with their images, for notebooks."""
        from snellen.core.storage.itemset_html import items_html

        return items_html(self.items, self.media, repr(self))

    def task(self, task: str) -> list[Item]:
        """The items of one task, in order."""
        return list(self._tasks.get(task, ()))

    @cached_property
    def _tasks(self) -> Mapping[str, list[Item]]:
        return lists_by_key((item.task, item) for item in self.items)

    @cached_property
    def instalments(self) -> tuple[tuple[Item, ...], ...]:
        """The items by the instalment that they were drawn in, in order; all items in one if the set has none."""
        instalments: list[list[Item]] = [[] for _ in range(max(1, len(self.card.instalments)))]
        for item in self.items:
            instalments[instalment_of(item)].append(item)
        return tuple(map(tuple, instalments))


INSTALMENT = "part"
"""Entry of an item's provenance with the number of its instalment; the items of the first one have none."""


def instalment_of(item: Item) -> int:
    """The number of the instalment of its set that an item was drawn in, from 0."""
    return int(item.provenance.get(INSTALMENT, 0))


def items_file(root: Path, number: int = 0) -> Path:
    """The file with the rows of an instalment of a set."""
    return root / (f"items-{number:03d}.parquet" if number else "items.parquet")


def items_files(root: Path, card: ItemSetCard) -> list[Path]:
    """The files with the rows of a set, in the order of its instalments."""
    return [items_file(root, number) for number in range(max(1, len(card.instalments)))]


def recipe_hash(suite: str, version: str, source: str, recipe: Mapping[str, Any]) -> str:
    """The recipe hash on an item set's card, 64 hexadecimal digits; known before the set is built."""
    return digest([suite, version, source, dict(recipe)])


def write_itemset(
    root: Path,
    items: Iterable[Item],
    *,
    source: str,
    recipe: Mapping[str, Any],
    provenance: Mapping[str, Any] | None = None,
    notes: Iterable[str] = (),
    image_recipes: Mapping[str, str] | None = None,
) -> ItemSet:
    """Write items whose media are already in `root/media`. The card is written last, so that half a set is not a set.

    `recipe` holds the parameters and the seed; with suite and version it determines the recipe hash. `image_recipes`
    gives the recipe of each rendered image by SHA-256 (`MediaFolder.recipes`). Raises SnellenError for no items,
    repeated ids, or items of several suites or versions.
    """
    items, recipe = CONCEALMENT.get()(tuple(map(rounded, items)), recipe)
    _check_written(root, items)
    files.remove_halves(root / "media", "*/*")
    suite, version = items[0].suite, items[0].version
    hashes = _write_rows(items_file(root), items, image_recipes or {})
    card = ItemSetCard(
        suite=suite,
        version=version,
        source=source,
        recipe=dict(recipe),
        recipe_hash=recipe_hash(suite, version, source, recipe),
        **hashes.model_dump(),
        counts=counts_of(items),
        provenance=dict(provenance or {}),
        notes=list(notes),
    )
    write_image_recipes(root, items, image_recipes or {})
    write_card(root, card)
    return ItemSet(root, card, items, MediaFolder(root / "media"))


def _write_rows(path: Path, items: Sequence[Item], image_recipes: Mapping[str, str]) -> Instalment:
    table = files.table_of(map(_cells, items), SCHEMA)
    files.write_table(path, table)
    whole, of_test = decided_hashes(files.rows_of(table), image_recipes)
    return Instalment(
        items=len(items), content_hash=digest_of_rows(files.rows_of(table)), rows_hash=whole, test_hash=of_test
    )


def counts_of(items: Iterable[Item]) -> dict[str, dict[str, int]]:
    """Counts by task and split."""
    counts: dict[str, dict[str, int]] = {}
    for item in items:
        of_task = counts.setdefault(item.task, {})
        of_task[item.split] = of_task.get(item.split, 0) + 1
    return counts


def declared(items: ItemSet, declaration: SetDeclaration) -> ItemSet:
    """A new set as the first instalment of a set in instalments."""
    card = items.card
    recipe = {**card.recipe, "parts": declaration.instalments}
    first = Instalment(items=card.items, content_hash=card.content_hash, rows_hash=card.rows_hash)
    new_hash = recipe_hash(card.suite, card.version, card.source, recipe)
    update = {"recipe": recipe, "recipe_hash": new_hash, "declaration": declaration, "instalments": (first,)}
    changed = card.model_copy(update=update)
    names = dict.fromkeys(("content_hash", "rows_hash", "test_hash"), changed.declared_hash)
    changed = changed.model_copy(update=names)
    write_card(items.root, changed)
    return replace(items, card=changed)


def add_instalment(items: ItemSet, new_items: Sequence[Item], image_recipes: Mapping[str, str]) -> ItemSet:
    """The set with the items of its next instalment, whose media are already in its folder.

    `image_recipes` are those of all images of the set. The card is written last: until then nothing has changed.
    """
    card, every = items.card, (*items.items, *map(rounded, new_items))
    _check_written(items.root, every)
    hashes = _write_rows(items_file(items.root, len(card.instalments)), every[len(items.items) :], image_recipes)
    write_image_recipes(items.root, every, image_recipes)
    update = {"items": len(every), "counts": counts_of(every), "instalments": (*card.instalments, hashes)}
    changed = card.model_copy(update=update)
    write_card(items.root, changed)
    return ItemSet(items.root, changed, every, items.media, items.blind)


def refuse_existing(root: Path) -> None:
    """Raise SnellenError if the folder holds a finished item set: sets are built once and never edited."""
    if is_itemset(root):
        raise SnellenError(f"{root}: already contains an item set, and sets are never edited; choose another --out")


def media_digest(items: Iterable[Item]) -> str:
    """A digest of the bytes of the items' media, 16 hexadecimal digits."""
    return digest(sorted({media.sha256 for item in items for media in item.media()}), 16)


def prune_media(media: MediaFolder, items: Iterable[Item]) -> None:
    """Remove files of a set's own folder that no item shows, stored before the items were chosen."""
    used = {media_file.path for item in items for media_file in item.media()}
    for path in sorted(media.root.glob("??/*")):
        is_media_name = re.fullmatch(r"[0-9a-f]{64}", path.stem)  # other files may have been in the folder before
        if is_media_name and path.relative_to(media.root).as_posix() not in used:
            path.unlink()


def read_itemset(
    root: Path,
    *,
    verify: bool = True,
    remember: bool = True,
    video_fault: Callable[[bytes, Media], str | None] | None = None,
) -> ItemSet:
    """Read a set. Rows are checked against the content hash and, with `verify`, media files by `MediaFolder.verify`.

    Raises SnellenError naming file and row for anything missing, altered, cut short or unknown; returns nothing then.
    """
    card = read_card(root)
    if card.instalments and {card.content_hash, card.rows_hash, card.test_hash} - {""} != {card.declared_hash}:
        raise SnellenError(f"{root / card.file}: the hashes are not those of its declaration; build the item set again")
    shared, known_media = dict[Any, Any](), dict[tuple[Any, ...], Media]()
    items: dict[str, Item] = {}
    locations = list[str]()
    hashes = [drawn.content_hash for drawn in card.instalments] or [card.content_hash]
    for instalment, content_hash in enumerate(hashes):
        path = items_file(root, instalment)
        table = files.read_table(path)
        _check_schema(path, table.schema)
        files.refuse_vast_json(path, map(table.column, JSON_FIELDS))
        rows_digest = ListDigest()
        for number, row in enumerate(files.rows_of(table)):
            item = _item(row, f"{path} row {number}", known_media, shared)
            if item.item_id in items or (item.suite, item.version) != (card.suite, card.version):
                raise SnellenError(
                    f"{path} row {number}: {item.item_id!r:.80} is used twice, or has a different suite or version "
                    f"from the card; build the item set again"
                )
            if item.provenance.get(INSTALMENT, 0) != instalment:
                raise SnellenError(
                    f"{path} row {number}: {item.item_id!r:.80} is of another instalment; build the set again"
                )
            items[item.item_id] = item
            locations.append(f"{path} row {number}")
            rows_digest.add(row)
        if rows_digest.digest() != content_hash:
            raise SnellenError(f"{path}: the rows do not match the card (content_hash); build the item set again")
    if card.items != len(items):
        raise SnellenError(f"{root / card.file}: states another number than its {len(items)} items; build it again")
    media = MediaFolder(root / "media")
    if verify:
        located = zip(locations, items.values(), strict=True)
        used = ((location, image) for location, item in located for image in item.media())
        media.verify(used, remember=remember, video_fault=video_fault)
    return ItemSet(root, card, tuple(items.values()), media, read_blind(root))


def _check_schema(path: Path, schema: pa.Schema) -> None:
    if schema.names != SCHEMA.names or not schema.equals(SCHEMA):
        odd = sorted(set(schema.names) ^ set(SCHEMA.names)) or [
            name for name in SCHEMA.names if schema.field(name) != SCHEMA.field(name)
        ]
        raise SnellenError(
            f"{path}: unknown, missing or retyped fields {', '.join(odd)}; see docs/data-schema.md for the schema"
        )


def read_same_itemset(path: Path, content_hash: str, purpose: str, **how: Any) -> ItemSet:
    """The item set in a folder, which must have this hash. Raises SnellenError if it is missing or another one.

    `purpose` completes the message "the item set that …"; `how` is passed to `read_itemset`.
    """
    if not is_itemset(path):
        raise SnellenError(f"{path}: the item set that {purpose} is gone; put it back")
    items = read_itemset(path, **how)
    if items.card.content_hash != content_hash:
        raise SnellenError(f"{path}: not the item set that {purpose} (content_hash); restore it")
    return items


def _check_written(root: Path, items: tuple[Item, ...]) -> None:
    if not items:
        raise SnellenError(f"{root}: there are no items to write")
    item_ids: set[str] = set()
    for item in items:
        if item.item_id in item_ids:
            raise SnellenError(f"{root}: item id {item.item_id!r} is used twice; colliding ids belong in group_id")
        item_ids.add(item.item_id)
        if (item.suite, item.version) != (items[0].suite, items[0].version):
            raise SnellenError(f"{root}: item {item.item_id!r} has a different suite or version from the first")
        if fault := item_fault(item) or next(filter(None, map(media_fault, item.media())), None):
            raise SnellenError(f"{root}: item {item.item_id!r}: {printable(fault)}; such an item cannot be stored")


def _cells(item: Item) -> dict[str, Any]:
    cells = {name: getattr(item, name) for name in SCHEMA.names}
    for name in JSON_FIELDS:
        cells[name] = json.dumps(cells[name], sort_keys=True)
    cells["query"] = _media_cells(item.query)
    for name in ("options", "support"):
        cells[name] = [{**vars(part), "media": _media_cells(part.media)} for part in cells[name]]
    return cells


def _media_cells(images: Iterable[Media]) -> list[dict[str, Any]]:
    """Without `from_stored` and `origin`: a stored image is its own origin."""
    return [{name: getattr(image, name) for name in _MEDIA_NAMES} for image in images]


def _item(
    row: Mapping[str, Any], location: str, known_media: dict[tuple[Any, ...], Media], shared: dict[Any, Any]
) -> Item:
    """The item of a row. Equal texts and options of several items are one object, kept in `shared`."""
    try:
        item = _read_item(row, known_media, shared)
        fault = item_fault(item)
    except (ValueError, RecursionError) as error:
        fault = f"a field of JSON is invalid ({error})"
    except (TypeError, AttributeError, KeyError) as error:
        fault = f"a field has a value that is missing or of a wrong type ({error})"
    except _Unusable as error:
        fault = str(error)
    if fault:
        raise SnellenError(f"{location}: {printable(fault)}; build the item set again")
    return item


class _Unusable(Exception):
    """A cell has a value that is not allowed."""


def _read_item(row: Mapping[str, Any], known_media: dict[tuple[Any, ...], Media], shared: dict[Any, Any]) -> Item:
    cells = {name: _read_json(value) if name in JSON_FIELDS else value for name, value in row.items()}
    for name, allowed in (("answer_kind", _KINDS), ("split", _SPLITS)):
        if cells[name] not in allowed:
            raise _Unusable(f"unknown {name} {cells[name]!r:.60}; available: {', '.join(sorted(allowed))}")
    if missing := next((name for name in SCHEMA.names if name not in JSON_FIELDS and cells[name] is None), None):
        raise _Unusable(f"{missing} is empty")
    if odd := next((name for name in JSON_FIELDS[1:] if not isinstance(cells[name], dict)), None):
        raise _Unusable(f"{odd} is not a JSON object")

    def media(media_cells: Iterable[Mapping[str, Any]]) -> tuple[Media, ...]:
        return tuple(_read_media(cell, known_media) for cell in media_cells)

    cells |= {name: shared.setdefault(cells[name], cells[name]) for name in _TEXT_FIELDS}
    cells["query"], cells["requires"] = media(row["query"]), tuple(row["requires"])
    options = (Option(option["key"], option["text"], media(option["media"])) for option in row["options"])
    cells["options"] = tuple(shared.setdefault(option, option) for option in options)
    cells["support"] = tuple(Demo(media(d["media"]), d["answer"], d["shot"], d["caption"]) for d in row["support"])
    cells["answer"] = tuple(cells["answer"]) if isinstance(cells["answer"], list) else cells["answer"]
    return Item(**cells)


def _read_media(cell: Mapping[str, Any], known_media: dict[tuple[Any, ...], Media]) -> Media:
    key = tuple(cell.values())
    if key not in known_media:
        media = Media(**cell)
        if fault := media_fault(media):
            raise _Unusable(fault)
        known_media[key] = media
    return known_media[key]


def _read_json(text: str | None) -> Any:
    if text is None:
        raise ValueError("it is missing")
    return _JSON.decode(text)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")


_JSON = json.JSONDecoder(parse_constant=_no_number)
"""Created once: `json.loads` would create one per field."""
