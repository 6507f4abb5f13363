"""What the card of an item set says of the datasets it was made of: how the layout of each is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from snellen.datasets import DATASETS
from snellen.datasets.evidence import Verification

WORDS: Mapping[Verification, str] = {
    "listing": "by its publisher's listing",
    "loaders": "as two public loaders or more read it",
    "assumed": "assumed",
}


def layout_notes(names: Iterable[str]) -> list[str]:
    """A line for each way in which layouts are known, with the datasets known that way; other names are left out."""
    cards = [DATASETS.get(name).card for name in DATASETS if name in set(names)]
    return [
        f"layout {words}: {', '.join(card.name for card in cards if card.verified == verified)}"
        for verified, words in WORDS.items()
        if any(card.verified == verified for card in cards)
    ]
