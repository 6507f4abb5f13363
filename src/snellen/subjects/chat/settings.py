"""What may be set after `?` in `chat:openai/gpt-4o?temperature=0.7&max_tokens=512`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from snellen.core.condition import near
from snellen.core.errors import SnellenError

_ANSWERS = ("temperature", "max_tokens", "seed", "top_p", "reasoning_effort")
"""The settings that may change what is answered, and so make the fingerprint."""
_LEFT_OPEN = "none"
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_KINDS = ("picture", "video")


@dataclass(frozen=True)
class ChatSettings:
    """How a chat model is asked.

    `temperature`, `max_tokens`, `seed`, `top_p` and `reasoning_effort` may change answers; None leaves one to the
    service. `attempts` is tries a call, `timeout` seconds an attempt, `at_once` the most calls under way. `price_in`
    and `price_out` are money per million tokens, told by the user, never guessed. `accepts` None: what the provider
    takes.
    """

    temperature: float | None = 0.0
    max_tokens: int | None = 2048
    seed: int | None = 0
    top_p: float | None = None
    reasoning_effort: str | None = None
    attempts: int = 5
    timeout: int = 120
    at_once: int = 100
    price_in: float | None = None
    price_out: float | None = None
    max_pictures: int | None = None
    accepts: frozenset[str] | None = None

    def answering(self) -> dict[str, Any]:
        """The settings that may change answers and are not left to the service."""
        return {name: value for name in _ANSWERS if (value := getattr(self, name)) is not None}


def read_settings(told: Mapping[str, str]) -> ChatSettings:
    """Read settings as written; temperature, max_tokens and seed may be `none`: left to the service.

    Raises SnellenError for an unknown name, or a value that is none.
    """
    held: dict[str, Any] = {}
    for name, written in told.items():
        if name not in _READ:
            raise SnellenError(f"chat subjects have no setting {name!r}; {near(name, _READ)}")
        try:
            held[name] = _READ[name](written.strip())
        except ValueError as error:
            raise SnellenError(f"chat setting {name}={written!r}: {error}") from None
    return ChatSettings(**held)


def _number(low: float, high: float) -> Callable[[str], float]:
    def read(written: str) -> float:
        try:
            value = float(written)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise ValueError(f"must be a number from {low:g} to {high:g}")
        return value

    return read


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(written: str) -> int:
        if not re.fullmatch(r"\d+", written) or not low <= int(written) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(written)

    return read


def _or_open(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda written: None if written == _LEFT_OPEN else read(written)


def _effort(written: str) -> str:
    if written not in _EFFORTS:
        raise ValueError(near(written, _EFFORTS))
    return written


def _kinds(written: str) -> frozenset[str]:
    words = [word for word in re.split(r"[,+ ]+", written) if word]
    for word in words:
        if word not in _KINDS:
            raise ValueError(near(word, _KINDS))
    return frozenset(words)


_READ: dict[str, Callable[[str], Any]] = {
    "temperature": _or_open(_number(0, 2)),
    "max_tokens": _or_open(_whole(1, 10**9)),
    "seed": _or_open(_whole(0, 2**31 - 1)),
    "top_p": _number(0, 1),
    "reasoning_effort": _effort,
    "attempts": _whole(1, 100),
    "timeout": _whole(1, 600),
    "at_once": _whole(1, 10_000),
    "price_in": _number(0, 1e9),
    "price_out": _number(0, 1e9),
    "max_pictures": _whole(0, 10**6),
    "accepts": _kinds,
}
assert list(_READ) == [field.name for field in fields(ChatSettings)]
