"""`snellen verify`: checking an item set, or the set and the record of a run, for damage."""

from __future__ import annotations

import json

from snellen.core.errors import SnellenError
from snellen.core.seeds import stream
from snellen.core.storage import files
from snellen.core.storage.item_rows import read_image_recipes, rows_hash
from snellen.core.storage.itemset import ItemSet, is_itemset, items_file
from snellen.core.storage.parts import read_exchanges
from snellen.core.storage.runfolder import is_run
from snellen.remote import address_of, fetched
from snellen.runs.gate import open_items, open_run_items


def verify(address: str, rebuild: int) -> None:
    """Read every byte again and check it against the hashes; render `rebuild` images again and compare them."""
    path = fetched(address)
    if is_run(path) and not is_itemset(path):
        card, items, _ = open_run_items(path)
        open_items(items.root, remember=False)
        count = sum(1 for _ in read_exchanges(path))
        print(f"{address}: whole; {count} exchanges of {len(card.arms)} arms about {address_of(items.root)}")
    else:
        items = open_items(path, remember=False)
        print(f"{address}: whole; {items.card.items} items of {items.card.suite} version {items.card.version}")
    recipes = read_image_recipes(items.root)
    if items.card.source == "generated" and not recipes:
        print("rows_hash cannot be checked: the set has no image_recipes.parquet")
    else:
        for number, expected in enumerate([part.rows_hash for part in items.card.parts] or [items.card.rows_hash]):
            rows = files.rows_of(files.read_table(items_file(items.root, number)))
            if expected not in ("", rows_hash(rows, recipes)):
                raise SnellenError(
                    f"{items.root}: the rows and the recipes of the images do not match the card (rows_hash); build or "
                    "copy the item set again"
                )
    if rebuild:
        _rebuild(items, recipes, rebuild)


def _rebuild(items: ItemSet, recipes: dict[str, str], count: int) -> None:
    from snellen.stimuli.render import rebuild

    media_by_hash = {media.sha256: media for item in items.items for media in item.media()}
    images = sorted(sha256 for sha256, recipe in recipes.items() if "spec" in json.loads(recipe))
    if not images:
        raise SnellenError(f"{items.root}: --rebuild needs images rendered by Snellen, but the set contains none")
    chosen = [images[int(n)] for n in stream("verify", items.card.rows_hash).permutation(len(images))[:count]]
    largest = rebuild.rebuild({items.media.find(media_by_hash[sha256]): recipes[sha256] for sha256 in chosen})
    print(
        f"{len(chosen)} of {len(images)} rendered images were rendered again: blocks of {rebuild.BLOCK_PX} x "
        f"{rebuild.BLOCK_PX} pixels differ by at most {largest:.1f} of 255 levels"
    )
