"""Ideal observers with one bias: they answer some questions differently from what they see."""

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
"""Maps a view and the ideal observer's reply to the biased reply."""
PREFERENCE = 0.5
"""Share of questions in which the preferred option is taken regardless of the answer."""


@dataclass(frozen=True)
class Biased(Base):
    """The ideal observer with biased replies. Declines what the observer declines."""

    observer: IdealObserver
    bias: Bias

    def declines(self, prompt: Prompt) -> str | None:
        """Decline what the observer declines."""
        return self.observer.declines(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Answer each view separately."""
        return Reply(
            answer_views(prompt.views, lambda view: self.bias(view, self.observer.answer_view(view, rng), rng))
        )


def counting_to(limit: int) -> Bias:
    """A bias that replies `limit` to counts above `limit`; others are unchanged."""

    def bias(view: View, reply: str, rng: np.random.Generator) -> str:
        too_many = view.reply.kind == "integer" and reply.isdecimal() and int(reply) > limit
        return view.reply.write(limit) if too_many else reply

    return bias


def preference_for(name: str) -> Bias:
    """A bias that takes the option shown under this name half of the time (`PREFERENCE`), right or not."""

    def bias(view: View, reply: str, rng: np.random.Generator) -> str:
        is_offered = name in (shown_name for shown_name, _ in view.reply.keys)
        return name if is_offered and rng.random() < PREFERENCE else reply

    return bias


def says_yes(view: View, reply: str, rng: np.random.Generator) -> str:
    """A bias that replies true to every statement; other replies are unchanged."""
    return view.reply.write("true") if view.reply.kind == "true_false" else reply
