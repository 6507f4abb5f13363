"""Converts prompts to chat messages, and model outputs to replies."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from snellen.core.box_units import sent_size
from snellen.core.errors import SnellenError
from snellen.core.item import Media, Montage, Part
from snellen.core.prompt import Prompt, Reply
from snellen.core.storage import png
from snellen.core.storage.media import MediaFolder, data_url
from snellen.subjects.chat.limits import Limits, limits_of

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Content, ContentVideo, ModelOutput

_NAMES = {"jpeg": "jpg", "mpo": "jpg"}
"""Other names of JPEG files: readers see the first image of an MPO file, which is a whole JPEG file."""
_MODES = ("L", "LA", "RGB", "RGBA")
"""Pillow's modes of images that any reader understands: 8 bits per channel, grey or RGB, with or without alpha."""
PNG_VERSION = 1
SENT_LOG = "sent.jsonl"
"""In the media folder of a run: a line for each image that was sent as another file."""
_VIDEOS: dict[str, Literal["mp4", "mpeg", "mov"]] = {"mp4": "mp4", "mpeg": "mpeg", "mpg": "mpeg", "mov": "mov"}
_VIDEO_TYPES = {"mov": "quicktime"}
_STOPS = {"stop": "end", "max_tokens": "length", "model_length": "length", "content_filter": "filter"}


def to_messages(prompt: Prompt, media: MediaFolder, name: str = "", max_px: int | None = None) -> list[ChatMessage]:
    """Earlier turns and the question, parts in order; media as the bytes of their files, but see `sent_form`.

    `name` is `PROVIDER/MODEL`. Images with a side longer than `max_px` pixels are made smaller.
    """
    from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

    messages: list[ChatMessage] = []
    for turn in prompt.history:
        messages.append(ChatMessageUser(content=_contents(turn.parts, media, limits_of(name), max_px)))
        messages.append(ChatMessageAssistant(content=turn.reply))
    messages.append(ChatMessageUser(content=_contents(prompt.parts, media, limits_of(name), max_px)))
    return messages


@lru_cache(maxsize=100_000)
def is_sent_as_stored(image: Media, media: MediaFolder, limits: Limits, max_px: int | None) -> bool:
    """True if an image is sent byte for byte: small enough, of an accepted format, one frame, 8 bits per channel."""
    from PIL import Image

    if max(image.width, image.height) > (max_px or math.inf):
        return False
    try:
        with Image.open(media.find(image)) as file:
            is_plain = file.mode in _MODES or (file.format == "GIF" and not getattr(file, "is_animated", False))
    except OSError:
        return True  # reading it will say what is wrong
    return is_plain and _NAMES.get(image.format, image.format) in limits.formats


@lru_cache(maxsize=10_000)
def sent_form(image: Media, media: MediaFolder, limits: Limits, max_px: int | None) -> Media:
    """The image as it is sent: itself, or an 8-bit PNG stored in `media`, at most `max_px` per side.

    The PNG has the same pixels; more than 8 bits are converted by Pillow, as for all other subjects.
    """
    from PIL import Image

    if is_sent_as_stored(image, media, limits, max_px):
        return image
    size = sent_size((image.width, image.height), max_px)
    with media.open(image) as file:
        pixels = file.convert("RGBA" if file.has_transparency_data else "RGB")
        if file.mode == "CMYK":
            pixels.info.pop("icc_profile", None)  # which describes inks
    form = media.add(png.encode(pixels.resize(size, Image.Resampling.LANCZOS)), "image", "png", size)
    line = {"stored": image.path.split("/")[1], "sent": form.path.split("/")[1], "px": size, "version": PNG_VERSION}
    with (media.root / SENT_LOG).open("a") as log:
        log.write(f"{json.dumps(line)}\n")
    return form


def unsendable(prompt: Prompt) -> str | None:
    """The reason why a prompt cannot be sent, or None: the model layer supports few video formats."""
    odd = {video.format for video in prompt.media() if video.kind == "video"} - set(_VIDEOS)
    return f"accepts videos as {', '.join(_VIDEOS)}, not as {min(odd)}" if odd else None


def _contents(parts: Sequence[Part], media: MediaFolder, limits: Limits, max_px: int | None) -> list[Content]:
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
            form = sent_form(part, media, limits, max_px)
            kind = _NAMES.get(form.format, form.format).replace("jpg", "jpeg")
            contents.append(ContentImage(image=data_url(f"image/{kind}", media.read(form))))
    return contents


def _video(video: Media, media: MediaFolder) -> ContentVideo:
    from inspect_ai.model import ContentVideo

    if video.format not in _VIDEOS:
        raise SnellenError(f"{media.find(video)}: chat models accept mp4, mpeg or mov videos, not {video.format!r}")
    kind = _VIDEOS[video.format]
    return ContentVideo(video=data_url(f"video/{_VIDEO_TYPES.get(kind, kind)}", media.read(video)), format=kind)


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
