"""Fakes that do not look: guessing, constant and scripted subjects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from snellen.core.errors import CallFailed
from snellen.core.item import Item, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base
from snellen.subjects.fakes.ideal import Peers, draw, peers_of


@dataclass(frozen=True)
class Chance(Base):
    """Draws uniformly from what is offered; of a free answer, the truth of another item of the task."""

    items: Mapping[str, Item] = field(default_factory=dict, repr=False)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Every view on its own."""
        return Reply(answer_views(prompt.views, lambda view: draw(view, self._peers, rng)))

    @cached_property
    def _peers(self) -> Peers:
        return peers_of(self.items.values())


@dataclass(frozen=True)
class FirstOption(Base):
    """Always chooses what is offered first: a position bias without eyes."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Every view on its own."""
        return Reply(answer_views(prompt.views, lambda view: view.reply.keys[0][0] if view.reply.keys else ""))


@dataclass(frozen=True)
class Constant(Base):
    """Says the same to everything."""

    text: str = ""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """One call, one text, whatever is asked; on a sheet, the text in every cell."""
        return Reply(answer_views(prompt.views, lambda view: self.text))


@dataclass(frozen=True)
class Scripted(Base):
    """Says what a script holds for the item id, or for `*`; what it does not hold fails."""

    script: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Every view on its own. Raises CallFailed for an item without a line."""

        def say(view: View) -> str:
            text = self.script.get(view.item_id, self.script.get("*"))
            if text is None:
                raise CallFailed(f"the script has no line for item {view.item_id}")
            return text

        return Reply(answer_views(prompt.views, say))
