"""Presenters: functions from a view to the parts of a prompt. Suites add their own wordings to these shared ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from snellen.core.condition import Value
from snellen.core.item import Part, View

Present: TypeAlias = Callable[[View], tuple[Part, ...]]
PresentMany: TypeAlias = Callable[[tuple[View, ...]], tuple[Part, ...]]


def option_lines(view: View) -> str:
    """One line per option: its letter and text, or only its text if the options have no letters."""
    lines = []
    for option in view.options:
        name = view.reply.name(option.key)
        lines.append(name if option.text in ("", name) else f"{name}. {option.text}")
    return "\n".join(lines)


def apply_layout(parts: Sequence[Part], layout: Value) -> tuple[Part, ...]:
    """Parts by the axis `layout`: unchanged, or images first with `[image 1]` at their former places."""
    if layout == "interleaved":
        return tuple(parts)
    images = [part for part in parts if not isinstance(part, str)]
    if len(images) == 1:
        return (*images, *(part for part in parts if isinstance(part, str)))
    numbers = iter(range(1, len(images) + 1))
    words = [part if isinstance(part, str) else f"[image {next(numbers)}]" for part in parts]
    return (*images, "\n".join(words))


def with_layout(present: Callable[..., tuple[Part, ...]], layout: Value) -> Callable[..., tuple[Part, ...]]:
    """The presenter with `apply_layout`."""
    return lambda *views: apply_layout(present(*views), layout)


def plain(view: View) -> tuple[Part, ...]:
    """Support with answers, query, question, options: for suites without own wordings, and for tests."""
    names = {key: name for name, key in reversed(view.reply.keys)}
    solved: list[Part] = []
    for demo in view.support:
        solved += [*demo.media, demo.caption or names.get(demo.answer, demo.answer)]
    with_images = any(option.media for option in view.options)
    choices: list[Part] = []
    for option in view.options if with_images else ():
        choices += [f"{names[option.key]}:", *option.media]
    listed = [option_lines(view)] if view.options and not with_images else []
    return (*solved, *view.query, view.question, *choices, *listed)
