"""Verifying an item set or a run: hashes, seal, items made again, images, replies, scores, and the published digest.

Each check raises SnellenError about the first thing that does not agree.
"""

from __future__ import annotations

import json
import math
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from snellen.core.errors import SnellenError
from snellen.core.hashing import canonical
from snellen.core.response import Response
from snellen.core.seeds import stream
from snellen.core.storage import files
from snellen.core.storage.item_rows import decided_rows, read_image_recipes, rows_hash
from snellen.core.storage.itemset import ItemSet, items_files
from snellen.core.storage.runfolder import RunCard, read_responses
from snellen.core.storage.seal import SEALED, Seal
from snellen.core.suite import Suite
from snellen.exam.sealing import built_again, refuse_other_seal
from snellen.runs.blind import recipe_card
from snellen.runs.judgements import scores_of
from snellen.runs.replay import replay
from snellen.runs.score import own_scores
from snellen.suites import SUITES

TOLERANCE = 1e-9
"""Largest relative or absolute difference of a score computed again, since processors differ in the last digits."""


def check_rows(items: ItemSet) -> bool:
    """Compare the rows and the recipes of the images with `rows_hash`; False if it cannot be checked."""
    recipes = read_image_recipes(items.root)
    if items.card.source == "generated" and not recipes:
        return False
    expected = [part.rows_hash for part in items.card.parts] or [items.card.rows_hash]
    for path, decided in zip(items_files(items.root, items.card), expected, strict=True):
        if decided not in ("", rows_hash(files.rows_of(files.read_table(path)), recipes)):
            raise SnellenError(
                f"{path}: the rows and the recipes of the images do not match the card (rows_hash); build or copy the "
                "item set again"
            )
    return True


def check_seal(items: ItemSet, seal: Seal) -> None:
    """Make all items of a revealed set again, without drawing images, and compare every decided field exactly.

    The rows must agree with the card (`check_rows`).
    """
    refuse_other_seal(seal, items.root)
    path = items.root / items.card.file
    with built_again(seal) as again:
        if items.card.rows_hash != again.card.rows_hash:
            raise SnellenError(f"{items.root / 'items.parquet'}: {_first_difference(items, again)}")
        if canonical(items.card.recipe) != canonical(again.card.recipe):
            raise SnellenError(f"{path}: the recipe is not that of the revealed seal")
        if items.card.recipe_hash != again.card.recipe_hash:
            raise SnellenError(f"{path}: recipe_hash is not that of the revealed seal")
    if (blind := recipe_card(SUITES.get(seal.suite), items.card.recipe)) is not None and items.blind != blind:
        raise SnellenError(f"{items.root / 'blind.json'}: not the blind scores of the recipe (or measured again)")


def _first_difference(items: ItemSet, again: ItemSet) -> str:
    rows, rebuilt_rows = (decided_rows(_rows(root), read_image_recipes(root)) for root in (items.root, again.root))
    for row, other in zip(rows, rebuilt_rows, strict=False):
        if names := ", ".join(name for name in row if row[name] != other.get(name)):
            return f"item {row['item_id']!r} is not the one that the revealed seed gives ({names})"
    return f"has {items.card.items} items, and the revealed seed gives {again.card.items}"


def check_commitment(items: ItemSet, commitment: str) -> None:
    """Raise SnellenError unless the set was built from the seal with this published commitment."""
    if items.card.recipe.get(SEALED) != commitment.strip().lower():
        raise SnellenError(f"{items.root}: not built from the seal with the published commitment {commitment}")


def rebuild_images(items: ItemSet, count: int) -> tuple[int, int, float]:
    """Render a sample of images again: (number rendered, number in the set, largest difference of a block in levels).

    Raises SnellenError for an image that differs, or if none was rendered by Snellen.
    """
    from snellen.stimuli.render import rebuild

    recipes = read_image_recipes(items.root)
    media_by_hash = {media.sha256: media for item in items.items for media in item.media()}
    images = sorted(name for name, recipe in recipes.items() if name in media_by_hash and "spec" in json.loads(recipe))
    if not images:
        raise SnellenError(f"{items.root}: --rebuild needs images rendered by Snellen, but the set contains none")
    rng = stream("verify", secrets.token_hex(16))  # nobody may know beforehand which images are compared
    chosen = [images[int(n)] for n in rng.permutation(len(images))[:count]]
    largest = rebuild.rebuild({items.media.find(media_by_hash[sha256]): recipes[sha256] for sha256 in chosen})
    return len(chosen), len(images), largest


def check_replies(root: Path, card: RunCard, items: ItemSet, suite: Suite) -> bool:
    """Replay the record in a temporary folder and compare every response; False if it uses annotation tables.

    A recorded reply counts only for exactly the prompt that its item gives, so the prompts are checked, too.
    """
    if card.annotations:
        return False
    stored = {response.response_id: response for response in read_responses(root)}
    with TemporaryDirectory() as folder:
        again = Path(folder) / "run"
        shutil.copytree(root / "parts", again / "parts")
        shutil.copy(root / RunCard.file, again)
        replay(again, items, suite, {})
        replayed = {response.response_id: response for response in read_responses(again)}
    for name in sorted(stored.keys() | replayed.keys()):
        if fault := _response_fault(stored.get(name), replayed.get(name)):
            raise SnellenError(f"{root / 'responses.parquet'}: the response {name!r} {fault}")
    return True


def _response_fault(stored: Response | None, replayed: Response | None) -> str:
    """The way in which a stored response does not follow from the record, or an empty text."""
    if stored is None:
        return "is missing, although its replies are recorded"
    if replayed is None:
        return "" if stored.status == "declined" else "has no recorded reply to the prompt that its item gives"
    fields = [name for name in Response.__slots__ if getattr(stored, name) != getattr(replayed, name)]
    return f"does not follow from the recorded replies ({', '.join(fields)})" if fields else ""


def check_scores(root: Path, card: RunCard, items: ItemSet, suite: Suite) -> list[str]:
    """Score all responses again under every protocol that was scored, and compare each cell; returns the protocols."""
    tables = own_scores(root, items, suite, card.arms)
    for protocol, table in tables.items():
        again = scores_of(root, items, suite, protocol)
        path = root / f"scores.{protocol}.parquet"
        if len(table) != len(again):
            raise SnellenError(f"{path}: has {len(table)} rows, and the replies give {len(again)}")
        columns = list(table.columns)
        rows, others = (scores[columns].itertuples(index=False, name=None) for scores in (table, again))
        for row, other in zip(rows, others, strict=True):
            if (odd := next((n for n, cell in enumerate(row) if not _is_same(cell, other[n])), None)) is not None:
                about = dict(zip(columns, row, strict=True))
                raise SnellenError(
                    f"{path}: {columns[odd]} of item {about['item_id']!r}, {about['subject']} under "
                    f"{about['condition']}, {about['metric']}, is {row[odd]!r:.60}, and its reply gives "
                    f"{other[odd]!r:.60}"
                )
    return list(tables)


def _is_same(stored: object, computed: object) -> bool:
    if isinstance(stored, float) and isinstance(computed, float):
        return math.isclose(stored, computed, rel_tol=TOLERANCE, abs_tol=TOLERANCE) or (
            stored != stored and computed != computed
        )
    return stored == computed


def _rows(root: Path) -> Iterator[Mapping[str, Any]]:
    return files.rows_of(files.read_table(root / "items.parquet"))
