"""A subject that replays recorded answers, such as people's decisions in place of a judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from snellen.core.errors import CallFailed
from snellen.core.hashing import digest
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, Subject, SubjectCard


@dataclass(frozen=True)
class Recorded(Base):
    """Replays answers by item id. An item without an answer is a failed call, to be asked again."""

    texts: Mapping[str, str] = field(default_factory=dict)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """The recorded text for the prompt's only item."""
        (view,) = prompt.views
        if view.item_id not in self.texts:
            raise CallFailed("no decision is recorded for this item")
        return Reply(self.texts[view.item_id])


def recorded(name: str, texts: Mapping[str, str]) -> Subject:
    """A subject of this name with these answers."""
    return Recorded(SubjectCard(name, settings={"answers": digest(dict(texts), 12)}), texts)
