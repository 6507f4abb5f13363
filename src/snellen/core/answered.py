"""What subjects answered in a run of work (captions, boxes, decisions, votes): how a recipe reads it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import SnellenError
from snellen.core.item import Item
from snellen.core.itemset import ItemSet, read_itemset
from snellen.core.response import Response
from snellen.core.runfolder import is_run, read_responses, read_run_card


@dataclass(frozen=True)
class Answered:
    """The responses of one subject to one item set, by item id. `author` is the subject's name."""

    author: str
    items: ItemSet
    responses: Mapping[str, Response]

    def text(self, item: Item) -> str | None:
        """What was answered; None where the call failed, was declined or said nothing."""
        held = self.responses.get(item.item_id)
        return (held.text or None) if held and held.status == "ok" else None


def read_answered(run: Path, itemset: Path | None = None) -> tuple[Answered, ...]:
    """The answers of every subject of a finished run. Raises SnellenError where there is none, or its items changed.

    `itemset` says where its items lie, where they are kept beside it and may have moved along.
    """
    if not is_run(run):
        raise SnellenError(f"{run}: no run here; ask a subject with `snellen run ITEMSET --subject … --out {run}`")
    card = read_run_card(run)
    items = read_itemset(itemset or Path(card.itemset))
    if items.card.content_hash != card.content_hash:
        raise SnellenError(f"{items.root}: not the item set that {run} was run on (content_hash); restore it")
    found: dict[str, dict[str, Response]] = {}
    for response in read_responses(run):
        found.setdefault(response.subject, {})[response.item_id] = response
    return tuple(Answered(author, items, held) for author, held in found.items())


def read_one_answered(run: Path) -> Answered:
    """The answers of the one subject of a run. Raises SnellenError where several answered."""
    found = read_answered(run)
    if len(found) != 1:
        names = ", ".join(one.author for one in found) or "nobody"
        raise SnellenError(f"{run}: {names} answered, one subject is wanted; run the items with one --subject")
    return found[0]
