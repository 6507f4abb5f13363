"""Prompts as an HTML page without scripts: texts as sent, images and videos at their own size."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence

from snellen.core.item import Media
from snellen.core.prompt import Prompt
from snellen.core.storage.media import MediaFolder
from snellen_sight.messages import data_url

Address = Callable[[Media], str]
"""The address of an image or video in the page."""
_POLICY = "default-src 'none'; img-src 'self' data:; media-src 'self' data:; style-src 'unsafe-inline'"
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "section{border:1px solid #8888;border-radius:6px;padding:1rem;margin:1rem 0}"
    "pre{white-space:pre-wrap;overflow-wrap:anywhere}"
    "img,video{max-width:100%;display:block;margin:.4rem 0}.name{color:#777;font-size:.8rem}"
    "@media print{section{break-inside:avoid}}"
)


def embedded(media: MediaFolder) -> Address:
    """Addresses that embed the bytes in the page."""

    def address(image: Media) -> str:
        subtype = {"jpg": "jpeg"}.get(image.format, image.format)
        kind = "image" if image.kind == "image" else "video"
        return data_url(f"{kind}/{subtype}", media.read(image))

    return address


def media_name(media: Media) -> str:
    """The caption of an image: kind, beginning of its hash, size in pixels."""
    return f"[{media.kind} {media.sha256[:12]}.{media.format} {media.width}x{media.height}]"


def prompt_blocks(prompt: Prompt, address: Address) -> str:
    """The parts of a prompt as HTML; montages must already be drawn."""
    blocks = []
    for part in prompt.parts:
        if isinstance(part, str):
            blocks.append(f"<pre>{html.escape(part)}</pre>")
        elif isinstance(part, Media):
            source = html.escape(address(part))
            element = (
                f'<img src="{source}" alt="">'
                if part.kind == "image"
                else f'<video src="{source}" controls muted></video>'
            )
            blocks.append(f'{element}<div class="name">{media_name(part)}</div>')
    return "".join(blocks)


def page(title: str, sections: Sequence[tuple[str, str]], lead: str = "") -> str:
    """A page of sections (heading as text, content as HTML)."""
    body = "".join(f"<section><h2>{html.escape(heading)}</h2>{content}</section>" for heading, content in sections)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style>"
        f"<h1>{html.escape(title)}</h1>{f'<p>{html.escape(lead)}</p>' if lead else ''}{body}"
    )
