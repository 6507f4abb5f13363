"""Parts of the messages of chat completions, as OpenAI documents them."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snellen_sight.drawing import SightFile


def data_url(kind: str, raw: bytes) -> str:
    """Bytes of a MIME type as an address that holds them."""
    return f"data:{kind};base64,{base64.b64encode(raw).decode('ascii')}"


def image_content(kind: str, raw: bytes) -> dict[str, Any]:
    """An image of a MIME type as a part of a message."""
    return {"type": "image_url", "image_url": {"url": data_url(kind, raw), "detail": "auto"}}


def content_of(file: SightFile) -> dict[str, Any]:
    """An image file as a part of a message."""
    return image_content(f"image/{file.format.replace('jpg', 'jpeg')}", file.raw)
