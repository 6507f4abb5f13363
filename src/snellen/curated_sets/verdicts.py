"""Verdicts of a review: which items of a set stay, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.curation.ledger import ANY_SOURCE, Ledger
from snellen.curation.review import Review

UNDECIDED = "no decision"


@dataclass(frozen=True)
class Verdicts:
    """The reviewers' reasons for leaving out items, by item id; `""` for an item that stays."""

    author: str
    reasons: Mapping[str, str]

    @property
    def hash(self) -> str:
        """Digest of all verdicts."""
        return digest([self.author, dict(self.reasons)], 16)

    def apply(self, items: Sequence[Item], ledger: Ledger, unit: str) -> list[Item]:
        """The items that stay, with the reviewers as construction subjects. Items without a verdict are dropped."""
        remaining = []
        for item in items:
            if reason := self.reasons.get(item.item_id, UNDECIDED):
                ledger.drop(unit, ANY_SOURCE, reason, item.item_id)
            else:
                remaining.append(with_construction_subject(item, self.author))
        return remaining


def verdicts_of(review: Review) -> Verdicts:
    """The verdicts of a review whose decisions are keep or drop."""
    reasons = {}
    for item_id, word in review.keep_or_drop().items():
        reason = review.decisions[item_id].reason.strip() or "no reason"
        reasons[item_id] = "" if word == "keep" else f"by the review ({reason})"
    return Verdicts(review.author, reasons)


def with_construction_subject(item: Item, author: str) -> Item:
    """The item with one more construction subject."""
    provenance: dict[str, Any] = dict(item.provenance)
    provenance["construction_subjects"] = sorted({*provenance.get("construction_subjects", ()), *author.split(", ")})
    return replace(item, provenance=provenance)
