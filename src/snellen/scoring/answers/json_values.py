"""Finds JSON in replies between prose and code fences, in time proportional to the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

OPENING = re.compile(r"\[(?=\s{0,99}[\[\]{\"\d\-tfn])|\{(?=\s{0,99}[\"}])")
"""A bracket that may begin JSON, by the characters that follow it, unlike brackets of prose and LaTeX."""
MAX_BROKEN_BRACKETS = 300
"""Failed brackets after which the search ends: each failure costs a pass over all the text before it."""


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


DECODER = json.JSONDecoder(parse_constant=_reject)


class Tangled(ValueError):
    """Too many brackets are not JSON, so that searching on would take more than linear time."""


def json_values(text: str) -> Iterator[tuple[int, int, Any]]:
    """(start, end, value) of every well-formed outermost list or object. Raises Tangled."""
    broken = position = 0
    while opening := OPENING.search(text, position):
        try:
            value, end = DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            # ValueError: not JSON, or a number with more digits than Python reads.
            broken, position = broken + 1, opening.end()
            if broken > MAX_BROKEN_BRACKETS:
                raise Tangled from None
        else:
            yield opening.start(), end, value
            position = end


def read_json_objects(text: str) -> list[Any] | dict[str, Any] | None:
    """The last well-formed JSON list or object of a reply, which may have prose and fences around it, or None.

    Broken JSON is not repaired; if an outer value is broken (for example cut off), complete values inside it are found.
    """
    try:
        values = [value for _, _, value in json_values(text)]
    except Tangled:
        return None
    return values[-1] if values else None
