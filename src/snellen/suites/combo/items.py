"""The fields common to all items of ComBo."""

from __future__ import annotations

from typing import Any

from snellen.core.item import Item

SUITE = "combo"
VERSION = "3"
"""Version of the suite: increased when old and new scores may not share a table."""
STREAMS = "1"
"""The version in the names of random streams: unchanged if only wordings change, so that items stay the same."""
PAIR_COMPARISONS, NATURAL_VOTES = "pair-comparisons", "natural-votes"
"""Tables of votes that the report reads, and the steps of curation that collect them."""


def choice_item(item_id: str, **fields: Any) -> Item:
    """An item with options. Stimulus, group and cluster default to the item's id."""
    ids = dict.fromkeys(("stimulus_id", "group_id", "cluster_id"), item_id)
    return Item(**{**ids, **fields, "item_id": item_id, "suite": SUITE, "version": VERSION, "answer_kind": "choice"})
