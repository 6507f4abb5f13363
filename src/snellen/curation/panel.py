"""Decisions of several people on the same items, blind to each other, and the agreed decisions.

A decision is agreed if more than half of the voters made it, and at least two voted if several were asked. Otherwise
the vote of a third reviewer decides, who was asked about these items only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from snellen.core.storage.itemset import ItemSet


class Vote(NamedTuple):
    """One person's decision on one item, as written in a CSV."""

    author: str
    decision: str
    reason: str = ""


@dataclass(frozen=True)
class Panel:
    """Votes about `items`, by item id, in the order of the authors.

    `reviewers` answered about all items, `third` about those without agreement; a decision needs `quorum` votes.
    """

    items: ItemSet
    reviewers: tuple[str, ...]
    votes: Mapping[str, tuple[Vote, ...]]
    third: tuple[str, ...] = ()
    quorum: int = 1

    def decision(self, item_id: str) -> str | None:
        """The decision on an item; None if the reviewers disagree, or too few of them voted."""
        return decision_of(self.votes.get(item_id, ()), max(self.quorum, min(2, len(self.reviewers))), self.third)

    def supporters(self, item_id: str) -> tuple[Vote, ...]:
        """The votes for the decision."""
        decision = self.decision(item_id)
        return tuple(vote for vote in self.votes.get(item_id, ()) if vote.decision == decision)

    @property
    def undecided(self) -> tuple[str, ...]:
        """Items without a decision, for a third reviewer, in the order of the set."""
        return tuple(item.item_id for item in self.items.items if self.decision(item.item_id) is None)

    @property
    def disputed(self) -> tuple[str, ...]:
        """Items without a decision on which people voted differently."""
        return tuple(
            item_id for item_id in self.undecided if len({vote.decision for vote in self.votes.get(item_id, ())}) > 1
        )


def decision_of(votes: Sequence[Vote], needed: int, third: Sequence[str] = ()) -> str | None:
    """The majority decision if there are at least `needed` votes; else that of the last vote by one of `third`."""
    if len(votes) >= needed:
        for decision, count in Counter(vote.decision for vote in votes).items():
            if 2 * count > len(votes):
                return decision
    return next((vote.decision for vote in reversed(votes) if vote.author in third), None)
