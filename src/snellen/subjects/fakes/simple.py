"""Simulated subjects that use no images: guessing, constant, scripted, and one that knows object names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    """Draws uniformly from the offered options; for a free answer, takes the truth of another item of the task."""

    items: Mapping[str, Item] = field(default_factory=dict, repr=False)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Answer each view separately."""
        return Reply(answer_views(prompt.views, lambda view: draw(view, self._peers, rng)))

    @cached_property
    def _peers(self) -> Peers:
        return peers_of(self.items.values())


@dataclass(frozen=True)
class FirstOption(Base):
    """Always chooses the option offered first: a pure position bias."""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Answer each view separately."""
        return Reply(answer_views(prompt.views, lambda view: view.reply.keys[0][0] if view.reply.keys else ""))


@dataclass(frozen=True)
class Constant(Base):
    """Gives the same reply to everything."""

    text: str = ""

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Give the text once per call; on a sheet, in every cell."""
        return Reply(answer_views(prompt.views, lambda view: self.text))


@dataclass(frozen=True)
class Scripted(Base):
    """Replies with the script's text for the item id or for `*`; fails if there is neither."""

    script: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Answer each view separately. Raises CallFailed for an item without a line."""

        def text_of(view: View) -> str:
            text = self.script.get(view.item_id, self.script.get("*"))
            if text is None:
                raise CallFailed(f"the script has no line for item {view.item_id}")
            return text

        return Reply(answer_views(prompt.views, text_of))


@dataclass(frozen=True)
class KnowsNames(Base):
    """Picks the option shown under the true name of the object; draws uniformly if there is none.

    It needs no images and reads no keys. So it is perfect under real names, always wrong if names are swapped between
    classes, and at chance under made-up names. `truths` maps item ids to true names.
    """

    truths: Mapping[str, str] = field(default_factory=dict, repr=False)

    def declines(self, prompt: Prompt) -> str | None:
        """Decline questions that are not answered by a name."""
        if any(view.item_id not in self.truths for view in prompt.views):
            return "the answer to this question is not a name"
        return super().declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Answer each view separately, without any image."""
        return Reply(answer_views(prompt.views, lambda view: self._name(view, rng)))

    def _name(self, view: View, rng: np.random.Generator) -> str:
        offered = view.reply.offered
        matching = [o.key for o in view.options if o.text == self.truths[view.item_id] and o.key in offered]
        if not offered:
            return ""
        return view.reply.name(matching[0] if matching else str(rng.choice(offered)))


def true_names(items: Iterable[Item]) -> dict[str, str]:
    """The true name of each item's object: the text of its right option, if that differs from its key."""
    names = {}
    for item in items:
        text = next((option.text for option in item.options if option.key == item.answer), "")
        if item.answer_kind == "choice" and text and text != item.answer:
            names[item.item_id] = text
    return names
