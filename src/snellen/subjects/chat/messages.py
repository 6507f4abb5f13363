"""Converts prompts to chat messages, and model outputs to replies."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from snellen.core.errors import SnellenError
from snellen.core.item import Media, Montage, Part
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage.media import MediaFolder

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Content, ContentVideo, ModelOutput

_IMAGE_TYPES = {"jpg": "jpeg", "tif": "tiff"}
_VIDEOS: dict[str, Literal["mp4", "mpeg", "mov"]] = {"mp4": "mp4", "mpeg": "mpeg", "mpg": "mpeg", "mov": "mov"}
_VIDEO_TYPES = {"mov": "quicktime"}
_STOPS = {"stop": "end", "max_tokens": "length", "model_length": "length", "content_filter": "filter"}


def to_messages(prompt: Prompt, media: MediaFolder) -> list[ChatMessage]:
    """Earlier turns and the question, parts in order, media as the bytes of their files."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

    messages: list[ChatMessage] = []
    for turn in prompt.history:
        messages.append(ChatMessageUser(content=_contents(turn.parts, media)))
        messages.append(ChatMessageAssistant(content=turn.reply))
    messages.append(ChatMessageUser(content=_contents(prompt.parts, media)))
    return messages


def unsendable(prompt: Prompt) -> str | None:
    """The reason why a prompt cannot be sent, or None: the model layer supports few video formats."""
    odd = {video.format for video in prompt.media() if video.kind == "video"} - set(_VIDEOS)
    return f"accepts videos as {', '.join(_VIDEOS)}, not as {min(odd)}" if odd else None


def _contents(parts: Sequence[Part], media: MediaFolder) -> list[Content]:
    from inspect_ai.model import ContentImage, ContentText

    contents: list[Content] = []
    for part in parts:
        if isinstance(part, str):
            contents.append(ContentText(text=part))
        elif isinstance(part, Montage):
            raise SnellenError("a chat subject received a montage; its images must be laid out before they are sent")
        elif part.kind == "video":
            contents.append(_video(part, media))
        else:
            kind = f"image/{_IMAGE_TYPES.get(part.format, part.format)}"
            contents.append(ContentImage(image=_data_url(kind, media.read(part))))
    return contents


def _video(video: Media, media: MediaFolder) -> ContentVideo:
    from inspect_ai.model import ContentVideo

    if video.format not in _VIDEOS:
        raise SnellenError(f"{media.find(video)}: chat models accept mp4, mpeg or mov videos, not {video.format!r}")
    kind = _VIDEOS[video.format]
    return ContentVideo(video=_data_url(f"video/{_VIDEO_TYPES.get(kind, kind)}", media.read(video)), format=kind)


def _data_url(kind: str, raw: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(raw).decode('ascii')}"


def to_reply(output: ModelOutput) -> Reply:
    """The reply; the output must have a choice. Reasoning is separated from the text."""
    content = output.message.content
    thoughts = [] if isinstance(content, str) else [part for part in content if part.type == "reasoning"]
    reasoning = [(part.summary or "") if part.redacted else part.reasoning for part in thoughts]
    text, thought = split_thought(output.message.text)
    usage, stop = output.usage, output.stop_reason
    tokens_in = 0
    if usage:
        tokens_in = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return Reply(
        text=text,
        reasoning="\n".join(dict.fromkeys(word for word in (*reasoning, thought) if word)),
        stop=_STOPS.get(stop, stop),
        model=output.model,
        tokens_in=tokens_in,
        tokens_out=usage.output_tokens if usage else 0,
        seconds=output.time or 0.0,
    )


def split_thought(text: str) -> tuple[str, str]:
    """(text, reasoning) for texts in which a server left the reasoning.

    Covers what the model layer does not: a thought without an end (cut off by the token limit), one whose opening tag
    is in the chat template, and one with no text after it.
    """
    thought, closed, rest = text.rpartition("</think>")
    if closed:
        return rest.strip(), thought.replace("<think>", "").strip()
    if text.lstrip().startswith("<think>"):
        return "", text.lstrip().removeprefix("<think>").strip()
    return text, ""
