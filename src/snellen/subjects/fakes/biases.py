"""Observers with one bias: they know what the ideal observer knows, and answer some questions otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from snellen.core.item import View
from snellen.core.prompt import Prompt, Reply
from snellen.core.sheet import answer_views
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base
from snellen.subjects.fakes.ideal import IdealObserver

Bias: TypeAlias = Callable[[View, str, np.random.Generator], str]
"""From a view and the ideal observer's reply to it to the reply that is given."""
PREFERENCE = 0.5
"""How often who prefers an option takes it without asking what is right."""


@dataclass(frozen=True)
class Biased(Base):
    """The ideal observer, its replies bent by a bias. Declines what the observer declines."""

    observer: IdealObserver
    bias: Bias

    def declines(self, prompt: Prompt) -> str | None:
        """Whatever the observer cannot be asked."""
        return self.observer.declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Every view on its own."""
        return Reply(
            answer_views(prompt.views, lambda view: self.bias(view, self.observer.answer_view(view, rng), rng))
        )


def counting_to(limit: int) -> Bias:
    """Counts up to `limit` are right; of more things it says that there are `limit`."""

    def bias(view: View, reply: str, rng: np.random.Generator) -> str:
        too_many = view.reply.kind == "integer" and reply.isdecimal() and int(reply) > limit
        return view.reply.write(limit) if too_many else reply

    return bias


def preferring(name: str) -> Bias:
    """Where an option is shown under this name, it is taken half of the time (`PREFERENCE`), right or not."""

    def bias(view: View, reply: str, rng: np.random.Generator) -> str:
        is_offered = name in (shown_name for shown_name, _ in view.reply.keys)
        return name if is_offered and rng.random() < PREFERENCE else reply

    return bias


def says_yes(view: View, reply: str, rng: np.random.Generator) -> str:
    """Every statement is true; other questions are answered as the observer does."""
    return view.reply.write("true") if view.reply.kind == "true_false" else reply
