"""A call to a subject and its reply."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from snellen.core.hashing import canonical, sha256
from snellen.core.item import Media, Part, View
from snellen_sight.completions import MAX_NAME, MAX_TOKENS


@dataclass(frozen=True)
class Turn:
    """An earlier question of the same dialogue and its reply."""

    parts: tuple[Part, ...]
    reply: str


@dataclass(frozen=True)
class Prompt:
    """The content of one call: `parts` for chat models and people, `views` for encoders and simulated observers."""

    parts: tuple[Part, ...]
    views: tuple[View, ...]
    history: tuple[Turn, ...] = ()

    def media(self) -> Iterator[Media]:
        """Every image and video of the parts, including those in montages, earlier turns first."""
        for part in (*(part for turn in self.history for part in turn.parts), *self.parts):
            if isinstance(part, Media):
                yield part
            elif not isinstance(part, str):
                yield from part.images

    def digest(self) -> str:
        """SHA-256 of the whole prompt, media by their own digests; 64 hexadecimal digits."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        content = [
            [_plain(part) for part in self.parts],
            [_plain_view(view) for view in self.views],
            [[[_plain(part) for part in turn.parts], turn.reply] for turn in self.history],
        ]
        return sha256(canonical(content).encode("ascii"))

    def record(self) -> list[Any]:
        """The parts as plain data, media by name, as kept in `sent.parquet`."""
        earlier: list[Any] = []
        for turn in self.history:
            earlier += [_plain(part) for part in turn.parts] + [{"reply": turn.reply}]
        return earlier + [_plain(part) for part in self.parts]


MAX_TEXT, MAX_NUMBERS = 4_000_000, 1_000_000
"""Limits of a reply: characters of a text, and numbers."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply to one call.

    `numbers` are measurements in addition to the text (similarities, log-probabilities). `reasoning` is kept and never
    parsed. `stop` is why the reply ended: `end`, `length`, `filter` or the service's word. `model` is the model served.
    `token_limit` is the limit that the call was made with; 0 for none.
    """

    text: str
    reasoning: str = ""
    numbers: tuple[float, ...] = ()
    stop: str = "end"
    model: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    token_limit: int = 0

    @property
    def is_cut_off(self) -> bool:
        """True if the reply ended at a token limit."""
        return self.stop == "length"

    def is_outdated(self, token_limit: int) -> bool:
        """True if the reply was cut off, and a call with this limit (0 for none) could be longer."""
        return self.is_cut_off and 0 < self.token_limit < (token_limit or math.inf)

    def fault(self) -> str | None:
        """The reason why this reply cannot be kept (a field of a wrong type or size), or None."""
        for name in ("text", "reasoning", "stop", "model"):
            text, limit = getattr(self, name), MAX_NAME if name in ("stop", "model") else MAX_TEXT
            if not isinstance(text, str):
                return f"the reply's {name} is of type {type(text).__name__}, not text"
            if len(text) > limit:
                return f"the reply's {name} has {len(text)} characters, more than {limit}"
        for name in ("tokens_in", "tokens_out", "token_limit"):
            count = getattr(self, name)
            if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= MAX_TOKENS:
                return f"the reply's {name} is {_brief(count)}, not a count from 0 to {MAX_TOKENS}"
        seconds: Any = self.seconds  # Any: a user's subject may break its types
        if not _is_number(seconds) or not 0 <= seconds < math.inf:
            return f"the reply's seconds are {_brief(seconds)}"
        numbers: Any = self.numbers
        if len(numbers) > MAX_NUMBERS or not all(map(_is_number, numbers)):
            return f"the reply's numbers are not all numbers, or more than {MAX_NUMBERS}"
        return None


def _is_number(number: object) -> bool:
    """True for what a column of floats can hold and compare: no NaN, and no integer of hundreds of digits."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        return False
    return abs(number) <= (sys.float_info.max if isinstance(number, int) else math.inf)


def _brief(number: object) -> str:
    if isinstance(number, int) and abs(number) >= 10**18:
        return "a number of many digits"
    return f"{number!r:.60}"


def _plain(part: Part) -> Any:
    if isinstance(part, str):
        return part
    if isinstance(part, Media):
        return {"media": part.path.split("/")[1]}
    names = [image.path.split("/")[1] for image in part.images]
    layout = {"columns": part.columns, "labels": part.labels, "title": part.title, "cell_px": part.cell_px}
    return {"montage": names, "version": part.version, **layout}


def _plain_view(view: View) -> list[Any]:
    """A view as short plain data. Written out by hand for speed, since every call needs it."""
    frame = view.reply.frame and list(asdict(view.reply.frame).values())
    marks = [[[mark.colour, list(mark.box)] for mark in view.marks]] if view.marks else []
    return [
        view.item_id,
        view.question,
        [view.reply.kind, view.reply.keys, frame],
        [image.sha256 for image in view.query],
        [[option.key, option.text, [image.sha256 for image in option.media]] for option in view.options],
        [[demo.answer, demo.shot, demo.caption, [image.sha256 for image in demo.media]] for demo in view.support],
        *marks,
    ]
