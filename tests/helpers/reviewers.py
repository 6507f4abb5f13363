"""Reviewers without a browser: subjects named after people that answer items by their ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from snellen.core.errors import CallFailed
from snellen.core.item import Option
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.itemset import ItemSet, write_itemset
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.curation.steps import step_item
from snellen.exam.run import run

Entries = Mapping[str, tuple[str, str]]
"""Item id -> answer and reason; an absent item was not answered."""


@dataclass(frozen=True)
class Reviewer(Base):
    """A reviewer with given answers."""

    entries: Entries

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        (view,) = prompt.views
        if view.item_id not in self.entries:
            raise CallFailed("not answered")
        text, reason = self.entries[view.item_id]
        return Reply(text, reasoning=reason)


def reviewed_by(items: ItemSet, entries: Mapping[str, Entries], root: Path) -> Path:
    """An imported review: the answers of each alias as the run that an import writes."""
    reviewers = [
        Reviewer(SubjectCard(f"human:review/{alias}", role="person"), entry) for alias, entry in entries.items()
    ]
    return run(items, reviewers, root / items.card.suite, show_progress=False).root


def words(**by_item: str) -> Entries:
    """Answers without reasons; `_` in a name means `-` in the id."""
    return {name.replace("_", "-"): (word, "") for name, word in by_item.items()}


def decision_set(root: Path, count: int = 3, provenance: Mapping[str, object] | None = None) -> ItemSet:
    """A few items to keep, drop or correct."""
    options = (Option("keep", "it is right"), Option("drop", "it is wrong"), Option("mend", "say how"))
    items = [
        step_item("decision", f"i{n}", f"Is {n} right?", (), "choice", options=options, provenance=provenance or {})
        for n in range(count)
    ]
    return write_itemset(root, items, source="test", recipe={})
