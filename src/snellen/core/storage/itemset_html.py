"""A table of the first items of a set with their images, for notebooks."""

from __future__ import annotations

import io
from html import escape
from typing import TYPE_CHECKING

from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen_sight.messages import data_url

if TYPE_CHECKING:
    from collections.abc import Sequence

    from snellen.core.item import Item, Media
    from snellen.core.storage.media import MediaFolder

ITEMS, IMAGES, SIDE_PX = 4, 4, 120
"""Items in the table, images per item, and the longest side of an image in pixels."""


def items_html(items: Sequence[Item], media: MediaFolder, title: str) -> str:
    """The first test items of each task, in turn: task, images, question, answer. Images are as stored."""
    by_task = lists_by_key((item.task, item) for item in items if item.split == "test")
    first_items = [of_task[n] for n in range(ITEMS) for of_task in by_task.values() if n < len(of_task)][:ITEMS]
    rows = "".join(
        f"<tr><td>{escape(item.task)}</td><td>{''.join(_image(image, media) for image in _images(item))}</td>"
        f"<td>{escape(item.question)}</td><td>{escape(str(item.answer))}</td></tr>"
        for item in first_items
    )
    head = "".join(f"<th>{name}</th>" for name in ("task", "images", "question", "answer"))
    more = f"<p>{escape(title)}; the first {len(first_items)} test items</p>"
    return f"{more}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _images(item: Item) -> list[Media]:
    return [image for image in item.media() if image.kind == "image"][:IMAGES]


def _image(image: Media, media: MediaFolder) -> str:
    try:
        small = media.open(image).convert("RGB")
    except (SnellenError, OSError):
        return "(missing image) "
    small.thumbnail((SIDE_PX, SIDE_PX))
    buffer = io.BytesIO()
    small.save(buffer, "PNG")
    return f'<img alt="" src="{data_url("image/png", buffer.getvalue())}"> '
