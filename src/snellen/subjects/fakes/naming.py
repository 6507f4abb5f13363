"""An observer that knows the names of objects without seeing them: how much an exam owes to names alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from snellen.core.item import Item, View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base


@dataclass(frozen=True)
class KnowsNames(Base):
    """Picks the option shown under the true name of what is asked about; where none is, it draws uniformly.

    It needs no images and reads no keys, so that it is perfect under real names, always wrong where every class has
    the name of another, and at chance under made-up names. `truths` leads from item ids to true names.
    """

    truths: Mapping[str, str] = field(default_factory=dict, repr=False)

    def declines(self, prompt: Prompt) -> str | None:
        """Decline questions that are not answered by a name."""
        if any(view.item_id not in self.truths for view in prompt.views):
            return "what is asked here has no name"
        return super().declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Every view on its own; no image is looked at."""
        return Reply(answer_views(prompt.views, lambda view: self._say(view, rng)))

    def _say(self, view: View, rng: np.random.Generator) -> str:
        offered = view.reply.offered
        so_called = [o.key for o in view.options if o.text == self.truths[view.item_id] and o.key in offered]
        if not offered:
            return ""
        return view.reply.name(so_called[0] if so_called else str(rng.choice(offered)))


def true_names(items: Iterable[Item]) -> dict[str, str]:
    """The true name of what each item asks about: the text of its right option, where that is more than its key."""
    names = {}
    for item in items:
        text = next((option.text for option in item.options if option.key == item.answer), "")
        if item.answer_kind == "choice" and text and text != item.answer:
            names[item.item_id] = text
    return names
