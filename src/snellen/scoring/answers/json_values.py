"""JSON inside replies: found between prose and fences, in time proportional to the text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

OPENING = re.compile(r"[\[{]")
DEEPEST = 1000
"""What an attempt that nests too deeply, or holds too long a number, is counted as having read."""


def _reject(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


DECODER = json.JSONDecoder(parse_constant=_reject)


class Tangled(ValueError):
    """So many brackets lead nowhere that going on would take more than linear time."""


def json_values(text: str) -> Iterator[tuple[int, int, Any]]:
    """(start, end, value) of every well-formed list or object that does not lie in another one. Raises Tangled."""
    allowance, place = 4 * len(text) + 100 * DEEPEST, 0
    while opening := OPENING.search(text, place):
        start = opening.start()
        try:
            value, end = DECODER.raw_decode(text, start)
        except json.JSONDecodeError as wrong:
            place, cost = start + 1, wrong.pos - start + 1
        except (ValueError, RecursionError):
            place, cost = start + 1, DEEPEST
        else:
            yield start, end, value
            place, cost = end, 0
        allowance -= cost
        if allowance < 0:
            raise Tangled


def read_json_objects(text: str) -> list[Any] | dict[str, Any] | None:
    """The last well-formed JSON list or object of a reply that may hold prose and fences around it, or None.

    Broken JSON is not mended; where an outer value is broken (cut off, say), whole values inside it are found.
    """
    try:
        values = [value for _, _, value in json_values(text)]
    except Tangled:
        return None
    return values[-1] if values else None
