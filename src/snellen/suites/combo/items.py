"""What all items of ComBo have in common."""

from __future__ import annotations

from typing import Any

from snellen.core.item import Item

SUITE = "combo"
VERSION = "2"
"""Version of the suite: moves when old and new scores may not share a table."""
STREAMS = "1"
"""The version in the names of random streams: it stays where only wordings change, so that items stay."""


def choice_item(item_id: str, **fields: Any) -> Item:
    """An item that offers options. Stimulus, group and cluster are the item itself where `fields` do not name them."""
    ids = dict.fromkeys(("stimulus_id", "group_id", "cluster_id"), item_id)
    return Item(**{**ids, **fields, "item_id": item_id, "suite": SUITE, "version": VERSION, "answer_kind": "choice"})
