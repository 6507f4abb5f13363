"""Checks of items, so that no malformed item is asked or scored.

They run whenever a set is written or read: by `verify`, `run`, `show`, `report` and all other commands.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from snellen.core.item import Item, Media
from snellen.core.plain_text import control_character

MAX_PIXELS, MAX_SIDE_PX = 64_000_000, 32_000
"""Limits of one image: 8,000 by 8,000 pixels, which is 192 MB as RGB."""
MAX_TEXT, MAX_NAME, MAX_NAMES = 1_000_000, 1_000, 500
"""Limits in characters: of a question or an option; of an id or a name. The greatest number of an item's names."""
MAX_LETTERS = 20_000
"""Letters of all patterns of equal images that a latent names."""
STEP_SUITE = "curation-steps"
"""The answers of its items are unknown; the items may have no image and free examples."""
_SHA256, _FORMAT = re.compile("[0-9a-f]{64}"), re.compile("[a-z0-9]{1,8}")
_NAMES = ("item_id", "suite", "task", "stimulus_id", "group_id", "cluster_id", "version")
_LISTS, _NUMBER = (list, tuple), int | float
_LATENT: Mapping[str, Sequence[Any]] = {
    "claims": (dict, dict, _LISTS), "named": (dict, dict, _LISTS), "shows": (dict, dict), "worlds": (_LISTS, dict),
    "partitions": (dict, str), "definitions": (dict, str), "sides": (_LISTS, str), "look": [dict], "level": [_NUMBER],
}  # fmt: skip
"""Types of what ideal observers and reports read of a latent and its worlds, each of the parts of the one before."""


def item_fault(item: Item) -> str | None:
    """The first fault of an item, or None. Media are checked by `media_fault`, their files by `MediaFolder`."""
    return next(filter(None, _faults(item)), None)


def _faults(item: Item) -> Iterator[str | None]:
    yield _text_fault(item)
    yield _option_fault(item)
    yield answer_fault(item)
    if item.answer_kind == "point" and item.answer is not None and not item.measures.get("radius_px", 0) > 0:
        yield "a point has no measure 'radius_px', the radius of its target"
    yield _support_fault(item)
    yield _latent_fault(item.latent)
    yield from map(_latent_fault, item.latent.get("worlds", ()))
    for name, measure in item.measures.items():
        if not _is_number(measure):
            yield f"measure {name!r} is {measure!r:.40}, not a finite number"
    for name, level in item.factors.items():
        if not name or not isinstance(level, str):
            yield f"factor {name!r} is {level!r:.40}, not a text with a name"


def _text_fault(item: Item) -> str | None:
    for name in _NAMES:
        if not 0 < len(getattr(item, name)) <= MAX_NAME:
            return f"{name} is empty or longer than {MAX_NAME} characters"
    names = [*item.requires, *item.factors, *map(str, item.factors.values()), *item.measures]
    if len(names) > MAX_NAMES or max(map(len, names), default=0) > MAX_NAME:
        return f"more than {MAX_NAMES} factors, measures and abilities, or one of more than {MAX_NAME} characters"
    if max(map(len, (item.question, *(option.text for option in item.options)))) > MAX_TEXT:
        return f"a question or an option has more than {MAX_TEXT} characters"
    texts = "\n".join(_texts(item)).replace("\r\n", "\n")
    if character := control_character(texts):
        return f"a text has the control character {character}"
    try:
        texts.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"a text is not valid Unicode ({error.reason})"
    return None


def _texts(item: Item) -> Iterator[str]:
    yield from (getattr(item, name) for name in _NAMES)
    yield item.question
    for option in item.options:
        yield from (option.key, option.text)
    for demo in item.support:
        yield from (demo.answer, demo.caption)
    yield from item.requires
    for name, level in item.factors.items():
        yield from (name, str(level))
    yield from item.measures
    yield from (answer for answer in _as_tuple(item.answer) if isinstance(answer, str))


def _as_tuple(answer: Any) -> tuple[Any, ...]:
    return tuple(answer) if isinstance(answer, tuple | list) else (answer,)


def _option_fault(item: Item) -> str | None:
    keys = [option.key for option in item.options]
    if len(set(keys)) < len(keys):
        return f"two options have the key {Counter(keys).most_common(1)[0][0]!r:.60}"
    contents = [
        (option.text or ("" if option.media else option.key), tuple(media.sha256 for media in option.media))
        for option in item.options
    ]
    if len(set(contents)) < len(contents):
        repeated = Counter(contents).most_common(1)[0][0]
        return f"two options show the same ({repeated[0] or 'the same images'!r:.60})"
    if not all(keys):
        return "an option has an empty key"
    if item.answer_kind in ("choice", "choices") and not keys:
        return "a choice has no options"
    if item.answer_kind == "choices" and len(keys) > 26:
        return "several of more than 26 options may be right"
    return None


def answer_fault(item: Item) -> str | None:
    """The reason why the answer cannot be right, or None. `check_items` decides whether an item needs an answer."""
    if item.answer is None:
        return None
    if item.options and item.answer_kind not in ("box", "point", "colour", "description"):
        keys = {option.key for option in item.options}
        if item.answer_kind == "choices":
            is_sorted_set = isinstance(item.answer, tuple) and list(item.answer) == sorted({*item.answer} & keys)
            return None if item.answer and is_sorted_set else f"the answer {item.answer!r:.60} is no sorted set of keys"
        return None if str(item.answer) in keys else f"the answer {item.answer!r:.60} is not among the options"
    fits, what = _ANSWERS[item.answer_kind]
    return None if fits(item.answer) else f"the answer {item.answer!r:.60} is not {what}"


def _support_fault(item: Item) -> str | None:
    keys = {option.key for option in item.options if item.suite != STEP_SUITE}
    for demo in item.support:
        if demo.shot < 0:
            return f"an example has the shot {demo.shot}"
        if keys and demo.answer not in keys:
            return f"an example's answer {demo.answer!r:.60} is not among the options"
    return None


def _latent_fault(cells: Mapping[str, Any]) -> str:
    odd = next((name for name, types in _LATENT.items() if name in cells and not _holds(cells[name], types)), "")
    if odd:
        return f"latent has no {odd} that an ideal observer can read"
    size = sum(map(len, cells.get("partitions", ())))
    return f"latent has partitions of {size} letters, more than {MAX_LETTERS}" if size > MAX_LETTERS else ""


def _holds(cell: Any, types: Sequence[Any]) -> bool:
    parts = cell.values() if isinstance(cell, dict) else cell
    return isinstance(cell, types[0]) and (len(types) == 1 or all(_holds(part, types[1:]) for part in parts))


def _is_number(answer: Any) -> bool:
    return isinstance(answer, int | float) and not isinstance(answer, bool) and abs(answer) < 1e18  # nor NaN


def _numbers(answer: Any, count: int) -> bool:
    return isinstance(answer, tuple | list) and len(answer) == count and all(map(_is_number, answer))


_ANSWERS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "choice": (lambda answer: False, "a choice without options"),
    "choices": (lambda answer: False, "a choice without options"),
    "true_false": (lambda answer: answer in ("true", "false"), "'true' or 'false'"),
    "integer": (lambda a: isinstance(a, int) and not isinstance(a, bool) and abs(a) < 10**15, "a whole number"),
    "number": (_is_number, "a finite number"),
    "box": (lambda a: _numbers(a, 4) and a[0] < a[2] and a[1] < a[3], "a box [x1, y1, x2, y2] with x1 < x2, y1 < y2"),
    "point": (lambda a: _numbers(a, 2), "a point [x, y]"),
    "colour": (lambda a: _numbers(a, 3) and all(0 <= x <= 255 for x in a), "a colour of three numbers from 0 to 255"),
    "text": (lambda a: all(isinstance(x, str) and x.strip() for x in _as_tuple(a)), "a text"),
    "description": (lambda answer: isinstance(answer, str), "a text"),
}
"""The test of an answer without options by its kind, and the words for a valid answer."""


def media_fault(media: Media) -> str | None:
    """The fault in a set's description of an image or a video, or None."""
    if not _SHA256.fullmatch(media.sha256) or not _FORMAT.fullmatch(media.format):
        return (
            f"a media file is called {f'{media.sha256}.{media.format}'!r:.80}, not 64 hexadecimal digits and a format"
        )
    if media.kind not in ("image", "video"):
        return f"{media.sha256[:12]} is a {media.kind!r:.40}, neither image nor video"
    return size_fault(media.width, media.height) or (
        None if 0 <= media.seconds < 10**6 else f"{media.sha256[:12]} lasts {media.seconds} seconds"
    )


def size_fault(width: int, height: int) -> str | None:
    """The reason why an image may not have this size (pixels), or None."""
    if min(width, height) < 1:
        return f"an image of {width} x {height} pixels is empty"
    if max(width, height) > MAX_SIDE_PX or width * height > MAX_PIXELS:
        limits = f"{MAX_PIXELS} pixels or {MAX_SIDE_PX} per side"
        return f"an image of {width} x {height} pixels is larger than {limits}; shrink it first"
    return None
