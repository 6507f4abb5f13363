"""Presentation for people: the question without the form of a reply, whose place widgets take."""

from __future__ import annotations

from snellen.core.item import Part, View


def people_parts(view: View, question: str) -> tuple[Part, ...]:
    """Solved examples with their names, the images (numbered if there are several), images of options, the question."""
    parts: list[Part] = []
    for demo in view.support:
        for media in demo.media:
            parts += [demo.caption or f"Example of {view.reply.name(demo.answer)}:", media]
    for number, media in enumerate(view.query, 1):
        parts += [f"Image {number}:", media] if len(view.query) > 1 else [media]
    for option in view.options:
        if option.media:
            parts += [f"{view.reply.name(option.key)}:", *option.media]
    return (*parts, question)
