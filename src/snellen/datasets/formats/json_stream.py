"""Streams large JSON files element by element: annotations of a gigabyte must not be in memory at once."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from snellen.core.plain_text import short_reason
from snellen.core.storage.user_files import bounded_json, distinct, refuse_irregular

CHUNK = 4 << 20
"""Bytes per read."""
MAX_CHARACTERS = 256 << 20
"""Maximum length of an element; a longer one is treated as damage."""

Step: TypeAlias = tuple[str, str | None, Any]
"""Key of the top-level object ("" for a list), key of the element if it is in an object, the element."""
_SPACE = re.compile(r"[ \t\n\r]*")


def stream_json(path: Path, inside: frozenset[str]) -> Iterator[Step]:
    """Elements of the lists and objects under the keys `inside` of the top-level object, other values whole.

    If the top level is a list, its elements are given under the key "". Raises OSError if the file cannot be read, and
    ValueError (including UnicodeDecodeError and json.JSONDecodeError) if it is not JSON, truncated, or of another
    shape, after the elements before the damage.
    """
    refuse_irregular(path)
    with path.open("rb") as file:
        text = _Text(file.read)
        if text.peek() == "[":
            yield from (("", None, value) for value in text.elements())
        else:
            for key in text.keys():  # noqa: SIM118  # not a dict
                opening = text.peek()
                if key in inside and opening == "[":
                    yield from ((key, None, value) for value in text.elements())
                elif key in inside and opening == "{":
                    yield from ((key, inner, text.value()) for inner in text.keys())  # noqa: SIM118
                else:
                    yield key, None, text.value()
        if text.peek():
            raise ValueError(f"unexpected text after the end: {text.peek()!r}")


class _Text:
    """The text of a file that is still being read, and the current position."""

    def __init__(self, read: Any) -> None:
        self.read, self.text, self.position, self.ended = read, "", 0, False
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.scan = json.JSONDecoder(object_pairs_hook=distinct).raw_decode

    def more(self, min_bytes: int = 0) -> None:
        raw = self.read(max(min_bytes, CHUNK))
        text = self.text[self.position :] + self.decoder.decode(raw, final=not raw)
        self.text, self.position, self.ended = bounded_json(text), 0, not raw

    def peek(self) -> str:
        """The next non-space character; "" at the end of the file."""
        while True:
            self.position = _SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]  # it matches nothing too
            if self.position < len(self.text):
                return self.text[self.position]
            if self.ended:
                return ""
            self.more()

    def take(self, expected: str) -> str:
        character = self.peek()
        if not character or character not in expected:
            raise ValueError(f"{character or 'the end of the file'!r} instead of one of {expected!r}")
        self.position += 1
        return character

    def value(self) -> Any:
        self.peek()
        while True:
            unread = len(self.text) - self.position
            try:
                value, end = self.scan(self.text, self.position)
                if end + 2 < len(self.text) or self.ended:  # a number may continue beyond the chunk, by "e+" and more
                    self.position = end
                    return value
            except json.JSONDecodeError:
                if self.ended or unread > MAX_CHARACTERS:
                    raise
            self.more(unread)  # doubles the buffer: parsing an element of any length costs its length twice

    def elements(self) -> Iterator[Any]:
        self.take("[")
        if self.peek() == "]":
            self.position += 1
            return
        while True:
            yield self.value()
            if self.take(",]") == "]":
                return

    def keys(self) -> Iterator[str]:
        """Keys of an object; the caller must take each value before the next key."""
        self.take("{")
        if self.peek() == "}":
            self.position += 1
            return
        known = set[str]()
        while True:
            key = self.value()
            if not isinstance(key, str) or key in known:
                raise ValueError(f"{short_reason(repr(key), 80)} is no key, or one that is given twice")
            known.add(key)
            self.take(":")
            yield key
            if self.take(",}") == "}":
                return
