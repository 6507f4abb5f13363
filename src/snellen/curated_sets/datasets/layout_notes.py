"""Notes on item-set cards about how the layouts of their datasets are known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from snellen.curated_sets.datasets import DATASETS
from snellen.curated_sets.datasets.evidence import Verification

WORDS: Mapping[Verification, str] = {
    "listing": "by its publisher's listing",
    "loaders": "as read by two or more public loaders",
    "assumed": "assumed",
}


def layout_notes(names: Iterable[str]) -> list[str]:
    """One line per kind of verification, with its datasets; unknown names are ignored."""
    cards = [DATASETS.get(name).card for name in DATASETS if name in set(names)]
    return [
        f"layout {words}: {', '.join(card.name for card in cards if card.verified == verified)}"
        for verified, words in WORDS.items()
        if any(card.verified == verified for card in cards)
    ]
