"""The text of an item set for a golden: its card, and by task and source the first item and a digest of all.

Hashes of files are numbered in order of appearance, since encoders of images differ between versions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from snellen.core.hashing import digest
from snellen.core.storage.item_rows import rounded
from snellen.core.storage.itemset import ItemSet

LONG_HASH = re.compile(r"\b[0-9a-f]{64}\b")
UNSET = re.compile(
    r"[ ,]+(?:(?:seconds=0\.0|from_stored=Affine\([^()]*\)|origin=''|media=\(\)|support=\(\)|regions=\{\}|latent=\{\}"
    r"|measures=\{\}|requires=\(\)|factors=\{\}|version='[^']*')(?=[,)]))"
)
"""Fields of an item that are as usual."""


def masked(text: str, *folders: Path) -> str:
    """The text without folders, versions and empty fields, and with numbers in place of hashes of files and sets."""
    for folder in folders:
        text = text.replace(str(folder), "")
    for number, long_hash in enumerate(dict.fromkeys(LONG_HASH.findall(text))):
        text = text.replace(long_hash, f"<{number}>").replace(long_hash[:12], f"<{number}>")
    return UNSET.sub("", text)


def grouped_text(head: Iterable[object], records: Iterable[tuple[str, object]], *folders: Path) -> str:
    """The head line by line; then by key the number of records, the digest of all, and the first."""
    rows, groups = list(records), dict[str, list[str]]()
    lines = [" ".join(line.split()) for line in (*map(str, head), *(repr(record) for _, record in rows))]
    text = masked("\n".join(lines), *folders).split("\n")
    first = len(text) - len(rows)
    for (key, _), line in zip(rows, text[first:], strict=True):
        groups.setdefault(key, []).append(line)
    written = [f"== {key}: {len(group)} {digest(group, 16)}\n{group[0]}" for key, group in groups.items()]
    return "\n".join([*text[:first], *written]) + "\n"


def set_text(items: ItemSet, *folders: Path, without: tuple[str, ...] = ()) -> str:
    """The text of a set, without tasks whose numbers depend on the processor."""
    card, facts = items.card, dict[str, object]()
    for name, fact in card.provenance.items():
        is_by_task = isinstance(fact, Mapping)
        facts[name] = {task: entry for task, entry in fact.items() if task not in without} if is_by_task else fact
    recipe = {name: value for name, value in card.recipe.items() if name != "media"}
    chosen = [rounded(item) for item in items.items if item.task not in without]
    rows = [(f"{item.task} {item.factors.get('source', '')}", item) for item in chosen]
    notes = (note for note in card.notes if "look like another one" not in note)  # a matter of the last digits
    return grouped_text([f"# {card.suite} {card.source}", recipe, facts, *notes], rows, items.root, *folders)
