"""Presentation for people: the question without the form of a reply, whose place widgets take."""

from __future__ import annotations

from snellen.core.item import Part, View


def people_parts(view: View, question: str, *, captions: bool = False) -> tuple[Part, ...]:
    """Solved examples with their names, the images (numbered if there are several), images of options, the question.

    Examples of one answer are together, in the order of the options. With `captions` they have theirs, too.
    """
    parts: list[Part] = []
    for demo in sorted(view.support, key=lambda demo: view.reply.offered.index(demo.answer)):
        for media in demo.media:
            caption = f" {demo.caption}" if captions and demo.caption else ""
            parts += [f"Example of {view.reply.name(demo.answer)}:{caption}", media]
    for number, media in enumerate(view.query, 1):
        label = f"Image {number}:" if len(view.query) > 1 else "Last image:" if view.support else ""
        parts += [label, media] if label else [media]
    for option in view.options:
        if option.media:
            parts += [f"{view.reply.name(option.key)}:", *option.media]
    return (*parts, question)
