"""Items of curation steps, copies of the media they show, and planned chains of steps as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from snellen.core.item import AnswerKind, Item, Media
from snellen.core.item_checks import STEP_SUITE
from snellen.core.storage.itemset import ItemSet
from snellen.core.storage.media import MediaFolder

STEP_VERSION = "1"


def step_item(
    task: str, item_id: str, question: str, query: Sequence[Media], kind: AnswerKind, about: str = "", **fields: Any
) -> Item:
    """One step item; `about` is its stimulus and cluster (default: itself). It has no right answer."""
    return Item(
        item_id=item_id,
        suite=STEP_SUITE,
        task=task,
        question=question,
        query=tuple(query),
        answer=None,
        answer_kind=kind,
        stimulus_id=about or item_id,
        group_id=item_id,
        cluster_id=about or item_id,
        version=STEP_VERSION,
        **fields,
    )


def table_provenance(items: ItemSet, ids: Iterable[str], image_hash: str) -> dict[str, Any]:
    """The provenance that makes the answer to a step item a row of an annotation table about `items`.

    `image_hash` is the stored SHA-256 of the image it is about, or a word if it is about no image.
    """
    return {"about": items.card.content_hash, "items": list(dict.fromkeys(ids)), "image": image_hash}


def copy_media(items: Iterable[Item], source_folder: MediaFolder, target: MediaFolder) -> None:
    """Copy the media of the items to `target`; existing files stay."""
    for media in dict.fromkeys(media for item in items for media in item.media()):
        if not (target.root / media.path).exists():
            target.add(source_folder.read(media), media.kind, media.format, (media.width, media.height), media.seconds)


def chain_lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A planned chain as lines of text, with the commands of each stage that is not done."""
    lines = []
    for number, row in enumerate(rows, 1):
        lines.append(f"step {number}: {row['step']}, {row['state']}")
        if row["state"] != "done":
            lines += [f"    {command}" for command in row["commands"]]
            lines += [f"    ({row['note']})"] if "note" in row else []
    return lines
