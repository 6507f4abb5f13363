"""Item sets as Parquet files for the Hugging Face `datasets` library, and back, bit for bit.

One file per split. Columns: the fields of an item as in `docs/data-schema.md`, `position` in the set, `images` (the
bytes of all images shown, each once, in order of appearance) and, if there are any, `videos`. The card of the set is in
the metadata of every file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from snellen.core.errors import SnellenError
from snellen.core.hashing import sha256
from snellen.core.item import Item, Media
from snellen.core.storage import files
from snellen.core.storage.itemset import SCHEMA, ItemSet, items_files, read_itemset
from snellen.core.storage.itemset_cards import ItemSetCard, is_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.schemas import parse_card
from snellen.core.storage.user_files import MAX_DATASET_BYTES

_FILES = pa.list_(pa.struct({"bytes": pa.binary(), "path": pa.string()}))
_COLUMNS = {"image": "images", "video": "videos"}
_GROUP_ROWS, _GROUP_BYTES = 500, 64 << 20
"""Limits of a row group: rows, and bytes of media."""


def to_datasets(itemset_root: Path, out_dir: Path) -> list[Path]:
    """Write `train.parquet`, `calibration.parquet` and `test.parquet`, if there are such items, and a README.

    `datasets.load_dataset("parquet", data_files=…)` and `load_dataset(out_dir)` show the images. Needs only pyarrow.
    Raises SnellenError for a damaged set, or if `out_dir` is not writable.
    """
    itemset = read_itemset(itemset_root)
    rows = pa.concat_tables(map(files.read_table, items_files(itemset_root, itemset.card)))
    schema = _schema(itemset)
    written = []
    for split in dict.fromkeys(item.split for item in itemset.items):
        places = [index for index, item in enumerate(itemset.items) if item.split == split]
        with parquet_writer(out_dir / f"{split}.parquet", schema) as writer:
            for group in _groups(itemset, places):
                writer.write_table(_table(itemset, rows, group, schema))
        written.append(out_dir / f"{split}.parquet")
    files.write_text(out_dir / "README.md", _readme(itemset.card, written))
    return written


def from_datasets(in_dir: Path, root: Path) -> ItemSet:
    """Recreate the item set in a new folder: the same rows, media and content hash.

    Raises SnellenError naming file and row if something is missing, changed or unknown.
    """
    if is_itemset(root):
        raise SnellenError(f"{root}: already contains an item set; choose another folder")
    paths = sorted(in_dir.glob("*.parquet"))
    if not paths:
        raise SnellenError(f"{in_dir}: no Parquet files; write them with to_datasets")
    tables, cards = [], dict[str, Path]()
    for path in paths:
        with _reading(path) as opened:
            cards.setdefault(_card_of(path, opened), path)
            tables.append(_unpack(path, opened, MediaFolder(root / "media")))
    if len(cards) > 1:
        raise SnellenError(f"{in_dir}: {' and '.join(p.name for p in cards.values())} are from different item sets")
    (card,) = cards
    rows = pa.concat_tables(tables).sort_by("position")
    parsed = parse_card(ItemSetCard, cards[card], card)
    if rows["position"].to_pylist() != list(range(parsed.items)):
        raise SnellenError(
            f"{in_dir}: does not contain the {parsed.items} items of the card; is the file of a split missing?"
        )
    rows, start = rows.select(SCHEMA.names).cast(SCHEMA), 0
    counts = [instalment.items for instalment in parsed.instalments] or [parsed.items]
    for path, count in zip(items_files(root, parsed), counts, strict=True):
        files.write_table(path, rows.slice(start, count))
        start += count
    files.write_text(root / "itemset.json", card + "\n")
    return read_itemset(root)


def _schema(itemset: ItemSet) -> pa.Schema:
    kinds = {media.kind for item in itemset.items for media in item.media()} | {"image"}
    media = {column: _FILES for kind, column in _COLUMNS.items() if kind in kinds}
    columns = {field.name: field.type for field in SCHEMA} | {"position": pa.int32()} | media
    features = {name: _feature(kind) for name, kind in columns.items()}
    features["images"] = {"feature": {"_type": "Image"}, "_type": "List"}
    metadata = {
        "huggingface": json.dumps({"info": {"features": features}}),
        "snellen": itemset.card.model_dump_json(indent=1),
    }
    return pa.schema(columns, metadata)


def _feature(arrow_type: pa.DataType) -> Any:
    """An Arrow type in the notation of `datasets`."""
    if pa.types.is_list(arrow_type):
        return {"feature": _feature(arrow_type.value_type), "_type": "List"}
    if pa.types.is_struct(arrow_type):
        return {field.name: _feature(field.type) for field in arrow_type}
    return {"dtype": {"double": "float64"}.get(str(arrow_type), str(arrow_type)), "_type": "Value"}


def _groups(itemset: ItemSet, places: Sequence[int]) -> Iterator[list[int]]:
    group, size = list[int](), 0
    for index in places:
        group.append(index)
        size += sum(itemset.media.find(media).stat().st_size for media in _distinct_media(itemset.items[index]))
        if len(group) == _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _distinct_media(item: Item) -> list[Media]:
    return list({media.sha256: media for media in item.media()}.values())


def _table(itemset: ItemSet, rows: pa.Table, places: Sequence[int], schema: pa.Schema) -> pa.Table:
    columns = dict(zip(SCHEMA.names, rows.take(places).columns, strict=True))
    columns["position"] = pa.array(places, pa.int32())
    for kind, column in _COLUMNS.items():
        if column in schema.names:
            media_of_items = [
                [media for media in _distinct_media(itemset.items[index]) if media.kind == kind] for index in places
            ]
            cells = [
                [{"bytes": itemset.media.read(image), "path": image.path} for image in media]
                for media in media_of_items
            ]
            columns[column] = pa.array(cells, _FILES)
    return pa.table(columns, schema)


@contextmanager
def parquet_writer(path: Path, schema: pa.Schema) -> Iterator[pq.ParquetWriter]:
    """Atomic writer. The dictionary may hold a whole group, so that shared images are stored once."""
    with (
        files.all_or_nothing(path) as half,
        pq.ParquetWriter(half, schema, compression="zstd", dictionary_pagesize_limit=4 * _GROUP_BYTES) as writer,
    ):
        yield writer


@contextmanager
def _reading(path: Path) -> Iterator[pq.ParquetFile]:
    try:
        with pq.ParquetFile(path) as opened:
            yield opened
    except (pa.ArrowException, OSError, ValueError) as error:
        raise SnellenError(
            f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]}); copy it again"
        ) from error


def _card_of(path: Path, opened: pq.ParquetFile) -> str:
    card = (opened.schema_arrow.metadata or {}).get(b"snellen")
    kinds = {field.name: field.type for field in opened.schema_arrow}
    expected = {field.name: field.type for field in SCHEMA} | {"position": pa.int32(), "images": _FILES}
    if card is None or any(kinds.get(name) != kind for name, kind in expected.items()):
        raise SnellenError(f"{path}: not written by to_datasets; fields or the card of the item set are missing")
    return str(card, "utf-8")


def _unpack(path: Path, opened: pq.ParquetFile, folder: MediaFolder) -> pa.Table:
    """Store the media of one file in `folder` and return the rest of its rows."""
    item_columns = [*SCHEMA.names, "position"]
    columns = [name for name in _COLUMNS.values() if name in opened.schema_arrow.names]
    tables = []
    for batch in files.bounded_batches(opened, [*item_columns, *columns], MAX_DATASET_BYTES):
        for row in files.batch_rows(batch.select(["position", *columns])):
            for cell in (cell for column in columns for cell in row[column]):
                name = Path(cell["path"] or "").stem
                if cell["bytes"] is None or sha256(cell["bytes"]) != name:
                    location = f"{path} position {row['position']}"
                    raise SnellenError(f"{location}: {cell['path']} is missing or changed; copy the file again")
                files.write_bytes(folder.root / name[:2] / Path(cell["path"]).name, cell["bytes"])
        tables.append(pa.Table.from_batches([batch.select(item_columns)]).replace_schema_metadata())
    return pa.concat_tables(tables)


def _readme(card: ItemSetCard, written: Sequence[Path]) -> str:
    splits = "".join(f"  - split: {path.stem}\n    path: {path.name}\n" for path in written)
    counts = "".join(
        f"- {task}: {', '.join(f'{n} {split}' for split, n in of_task.items())}\n"
        for task, of_task in card.counts.items()
    )
    return (
        f"---\nconfigs:\n- config_name: default\n  data_files:\n{splits}---\n\n"
        f"# {card.suite} {card.version} ({card.source})\n\n"
        f"An item set of Snellen, {card.items} items:\n\n{counts}\n"
        f"Recipe hash `{card.recipe_hash}`, content hash `{card.content_hash}`.\n"
        "`snellen.interop.huggingface.from_datasets` recreates the item set, bit for bit.\n"
    )
