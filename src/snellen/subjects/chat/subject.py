"""The chat subject: one call is one prompt, tried until it is answered or given up."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Item
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import Base, SubjectCard
from snellen.subjects.chat.layer import Service, open_service, sends_videos
from snellen.subjects.chat.messages import to_messages, to_reply, unsendable
from snellen.subjects.chat.retry import Trouble, wait_seconds
from snellen.subjects.chat.settings import ChatSettings, description_of, read_settings
from snellen.subjects.chat.transformers_model import TransformersChat, make_local

_SEES_VIDEO = {"google"}
"""Providers whose models see videos as they are."""


@dataclass(frozen=True)
class ChatSubject(Base):
    """A chat model. `first_wait` is the seconds before a second attempt; later waits double."""

    service: Service
    settings: ChatSettings
    first_wait: float = 1.0

    def declines(self, prompt: Prompt) -> str | None:
        """Decline what the card does, and videos of formats that cannot be sent."""
        return super().declines(prompt) or unsendable(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Ask, and ask again where it may help. Raises CallFailed with a short reason; a failure is never an answer."""
        messages = to_messages(prompt, media)
        failed = 0
        while isinstance(outcome := await self.service.generate_once(messages), Trouble):
            failed += 1
            if not outcome.again or failed == self.settings.attempts:
                raise CallFailed(f"{outcome.reason} (attempt {failed})", is_lasting=outcome.is_lasting)
            await asyncio.sleep(wait_seconds(failed, outcome.after, self.first_wait, rng))
        return to_reply(outcome)


def make_chat(name: str, settings: Mapping[str, str], items: Sequence[Item] = ()) -> ChatSubject | TransformersChat:
    """The chat subject `chat:NAME?SETTINGS`; the items are not looked at.

    `name` is `PROVIDER/MODEL`, `openai-api/SERVICE/MODEL` with SERVICE_API_KEY and SERVICE_BASE_URL set, or
    `hf/PATH_OR_ID` for a model run in this process. Raises SnellenError for an unknown provider or setting, a key, a
    package or a model that is missing, or videos accepted where the provider cannot be sent any.
    """
    if name.startswith("hf/"):
        return make_local(name.removeprefix("hf/"), settings)
    chat_settings = read_settings(settings)
    service = open_service(name, chat_settings)
    provider = name.split("/", 1)[0]
    usual = frozenset({"image", "video"} if provider in _SEES_VIDEO else {"image"})
    accepts = usual if chat_settings.accepts is None else chat_settings.accepts
    if "video" in accepts and not sends_videos(service.clients[0].model.api):
        raise SnellenError(
            f"chat:{name}: the model layer sends this provider no videos; leave them out of accepts=, and show frames"
        )
    attributes = {"provider": provider, **description_of(chat_settings)}
    for price in ("price_in", "price_out"):
        if (money := getattr(chat_settings, price)) is not None:
            attributes[price] = f"{money:g}"
    card = SubjectCard(
        name=_full_name(name, chat_settings),
        settings={"model": name, **chat_settings.answering()},
        accepts=accepts,
        max_images=chat_settings.max_images,
        attributes=attributes,
        max_concurrency=chat_settings.max_concurrency,
        is_remote=True,
    )
    return ChatSubject(card, service, chat_settings)


def _full_name(name: str, chat_settings: ChatSettings) -> str:
    """The name in tables: what was set otherwise than by default is part of it, where it may change answers."""
    answering, usual = chat_settings.answering(), ChatSettings().answering()
    changed = {
        key: answering.get(key, "none") for key in {**usual, **answering} if answering.get(key) != usual.get(key)
    }
    words = [f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in changed.items()]
    return f"chat:{name}" + (f"?{'&'.join(words)}" if words else "")
