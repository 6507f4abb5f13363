"""The chat subject: each call sends one prompt and retries until it is answered or given up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.sight import latest_sight
from snellen.core.subject import Base, SubjectCard
from snellen.subjects.chat.client import reply_of
from snellen.subjects.chat.families import box_unit_of, usual_tokens
from snellen.subjects.chat.layer import Service, open_service
from snellen.subjects.chat.limits import limits_of
from snellen.subjects.chat.messages import PNG_VERSION, to_messages, unsendable
from snellen.subjects.chat.settings import ChatSettings, description_of, read_settings
from snellen.subjects.chat.transformers_model import TransformersChat, make_local

_SEES_VIDEO = {"google"}
"""Providers whose models accept videos directly."""


@dataclass(frozen=True)
class ChatSubject(Base):
    """A chat model. `first_wait` is the wait in seconds before the second attempt; later waits double."""

    service: Service
    settings: ChatSettings
    first_wait: float = 1.0

    def declines(self, prompt: Prompt) -> str | None:
        """Decline what the card excludes, and videos of formats that cannot be sent."""
        return super().declines(prompt) or unsendable(prompt)

    async def answer(self, prompt: Prompt, media: MediaFolder, rng: np.random.Generator) -> Reply:
        """Ask, retrying if that may help. Raises CallFailed with a short reason; a failure is never an answer."""
        messages = to_messages(prompt, media, self.card.settings["model"], self.settings.max_px)
        ask = partial(self.service.generate_once, messages)
        reply = await reply_of(ask, self.settings.attempts, self.first_wait, rng)
        return replace(reply, token_limit=self.card.token_limit)


def make_chat(name: str, settings: Mapping[str, str], items: Sequence[Item] = ()) -> ChatSubject | TransformersChat:
    """The chat subject `chat:NAME?SETTINGS`; the items are not used.

    `name` is `PROVIDER/MODEL`, `openai-api/SERVICE/MODEL` with SERVICE_API_KEY and SERVICE_BASE_URL set, or
    `hf/PATH_OR_ID` for a model run in this process. Raises SnellenError for an unknown provider or setting, a missing
    key, package or model, or videos accepted for a provider that cannot receive them.
    """
    if name.startswith("hf/"):
        return make_local(name.removeprefix("hf/"), settings)
    chat_settings = read_settings(settings)
    if chat_settings.max_tokens == 0:
        chat_settings = replace(chat_settings, max_tokens=usual_tokens(name, chat_settings.reasoning_effort))
    service = open_service(name, chat_settings)
    provider = name.split("/", 1)[0]
    usual = frozenset({"image", "video"} if provider in _SEES_VIDEO else {"image"})
    accepts = usual if chat_settings.accepts is None else chat_settings.accepts
    if "video" in accepts and not service.sends_videos:
        raise SnellenError(
            f"chat:{name}: videos cannot be sent to this provider; leave them out of accepts=, and show frames"
        )
    images = f"{', '.join(sorted(limits_of(name).formats))} as stored, others as 8-bit PNG (version {PNG_VERSION})"
    attributes = {
        "provider": provider, "images": images, "box_unit": box_unit_of(name), **description_of(chat_settings)
    }  # fmt: skip
    for name_of_price in ("price_in", "price_out"):
        if (price := getattr(chat_settings, name_of_price)) is not None:
            attributes[name_of_price] = f"{price:g}"
    card = SubjectCard(
        name=_full_name(name, chat_settings),
        settings={"model": name, **chat_settings.answering()},
        accepts=accepts,
        max_images=chat_settings.max_images,
        attributes=attributes,
        token_limit=chat_settings.max_tokens or 0,
        max_concurrency=chat_settings.max_concurrency,
        is_remote=True,
        address=digest(service.url, 12),
    )
    if chat_settings.box_unit is None and (seen := latest_sight(card)) and seen.box_unit:
        card = replace(card, attributes={**card.attributes, "box_unit": seen.box_unit})
    return ChatSubject(card, service, chat_settings)


def _full_name(name: str, chat_settings: ChatSettings) -> str:
    """The name in tables; it includes the non-default settings that may change answers."""
    answering, usual = chat_settings.answering(), ChatSettings().answering()
    changed = {
        key: answering.get(key, "none") for key in {**usual, **answering} if answering.get(key) != usual.get(key)
    }
    words = [f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in changed.items()]
    return f"chat:{name}" + (f"?{'&'.join(words)}" if words else "")
