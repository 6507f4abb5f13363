"""Converts prompts to the messages of a chat completion, as OpenAI documents them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from snellen.core.box_units import sent_size
from snellen.core.errors import SnellenError
from snellen.core.item import Media, Montage, Part
from snellen.core.prompt import Prompt
from snellen.core.storage import png
from snellen.core.storage.media import MediaFolder, open_image
from snellen.subjects.chat.limits import Limits, limits_of
from snellen_sight.messages import data_url, image_content

Message: TypeAlias = dict[str, Any]
"""A `role`, and a `content`: a text, or parts of which each has a `type`."""
_NAMES = {"jpeg": "jpg", "mpo": "jpg"}
"""Other names of JPEG files: readers see the first image of an MPO file, which is a whole JPEG file."""
_MODES = ("L", "LA", "RGB", "RGBA")
"""Pillow's modes of images that any reader understands: 8 bits per channel, grey or RGB, with or without alpha."""
PNG_VERSION = 1
SENT_LOG = "sent.jsonl"
"""In the media folder of a run: a line for each image that was sent as another file."""
_VIDEOS = {"mp4": "mp4", "mpeg": "mpeg", "mpg": "mpeg", "mov": "quicktime"}
"""Formats of videos, with their media types."""


def to_messages(prompt: Prompt, media: MediaFolder, name: str = "", max_px: int | None = None) -> list[Message]:
    """Earlier turns and the question, parts in order; media as the bytes of their files, but see `sent_form`.

    `name` is `PROVIDER/MODEL`. Images with a side longer than `max_px` pixels are made smaller.
    """
    messages, limits = list[Message](), limits_of(name)
    for turn in prompt.history:
        messages.append({"role": "user", "content": _contents(turn.parts, media, limits, max_px)})
        messages.append({"role": "assistant", "content": turn.reply})
    messages.append({"role": "user", "content": _contents(prompt.parts, media, limits, max_px)})
    return messages


@lru_cache(maxsize=100_000)
def is_sent_as_stored(image: Media, media: MediaFolder, limits: Limits, max_px: int | None) -> bool:
    """True if an image is sent byte for byte: small enough, of an accepted format, one frame, 8 bits per channel."""
    if max(image.width, image.height) > (max_px or math.inf):
        return False
    try:
        with open_image(media.find(image)) as file:
            is_plain = file.mode in _MODES or file.format == "GIF"
            is_plain &= file.format == "MPO" or not getattr(file, "is_animated", False)
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


def _contents(parts: Sequence[Part], media: MediaFolder, limits: Limits, max_px: int | None) -> list[Message]:
    contents = list[Message]()
    for part in parts:
        if isinstance(part, str):
            contents.append({"type": "text", "text": part})
        elif isinstance(part, Montage):
            raise SnellenError("a chat subject received a montage; its images must be laid out before they are sent")
        elif part.kind == "video":
            if part.format not in _VIDEOS:
                raise SnellenError(f"{media.find(part)}: chat models accept mp4, mpeg or mov, not {part.format!r}")
            url = data_url(f"video/{_VIDEOS[part.format]}", media.read(part))
            contents.append({"type": "video_url", "video_url": {"url": url}})
        else:
            form = sent_form(part, media, limits, max_px)
            kind = _NAMES.get(form.format, form.format).replace("jpg", "jpeg")
            contents.append(image_content(f"image/{kind}", media.read(form)))
    return contents
