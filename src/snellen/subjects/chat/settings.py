"""Settings after `?` in `chat:openai/gpt-4o?temperature=0.7&max_tokens=512`, and after `chat:hf/MODEL?`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from snellen.core.box_units import BOX_UNITS
from snellen.core.condition import near, refuse_unknown
from snellen.core.errors import SnellenError

_ANSWERS = ("temperature", "seed", "top_p", "reasoning_effort", "max_px")
"""Settings that may change answers, and so are part of the fingerprint."""
_SENT = ("temperature", "max_tokens", "seed", "top_p", "reasoning_effort")
"""Settings that are sent with every call."""
DESCRIPTIVE = ("family", "reasoning", "counterpart", "weights", "box_unit")
"""Settings that change no answers but describe the subject: they become attributes of its card."""
_LEFT_OPEN = "none"
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_KINDS = ("image", "video")
DTYPES = ("auto", "float32", "float16", "bfloat16")
Readers: TypeAlias = Mapping[str, Callable[[str], Any]]
"""How the text of each setting is read; a reader raises ValueError."""


@dataclass(frozen=True)
class ChatSettings:
    """Settings of a chat model.

    `temperature`, `seed`, `top_p` and `reasoning_effort` may change answers; None leaves one to the service. So may
    `max_px`: images with a longer side are made smaller before they are sent. `max_tokens` limits a reply (0: as the
    model's family needs, None: left to the service). `attempts` is tries per call, `timeout` seconds per attempt,
    `max_concurrency` the maximum of concurrent calls. `price_in` and `price_out` are money per million tokens, given by
    the user, never guessed. `accepts` None means whatever the provider accepts. `family`, `reasoning`, `counterpart`
    and `weights` only describe the subject, for comparisons in reports: the counterpart is the name of a subject of the
    same run that does not reason, weights are `open` or `closed`. `box_unit` is the unit of the model's boxes, for the
    condition `box_unit=own` (None: that of its family).
    """

    temperature: float | None = 0.0
    max_tokens: int | None = 0
    seed: int | None = 0
    top_p: float | None = None
    reasoning_effort: str | None = None
    max_px: int | None = None
    attempts: int = 5
    timeout: int = 120
    max_concurrency: int = 100
    price_in: float | None = None
    price_out: float | None = None
    max_images: int | None = None
    accepts: frozenset[str] | None = None
    family: str | None = None
    reasoning: str | None = None
    counterpart: str | None = None
    weights: str | None = None
    box_unit: str | None = None

    def answering(self) -> dict[str, Any]:
        """The settings that may change answers and are not left to the service."""
        return {name: value for name in _ANSWERS if (value := getattr(self, name)) is not None}

    def sent(self) -> dict[str, Any]:
        """The settings that are sent with every call."""
        return {name: value for name in _SENT if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class LocalSettings:
    """Settings of a model in this process.

    `max_new_tokens` limits a reply. `temperature` 0 takes the likeliest token; above 0, tokens are drawn from `seed`
    and the call's own random stream. `dtype` is the weights' type on the device (`auto`: the checkpoint's), `batch` the
    number of prompts per forward pass. `pad` is `square` if images are padded to squares first. `frames` is how videos
    are shown if a suite asks the subject (None: the suite decides). `family`, `reasoning`, `counterpart`, `weights` and
    `box_unit` as in `ChatSettings`.
    """

    max_new_tokens: int = 512
    temperature: float = 0.0
    dtype: str = "auto"
    device: str = "auto"
    batch: int = 8
    seed: int = 0
    pad: str | None = None
    frames: str | None = None
    max_images: int | None = None
    accepts: frozenset[str] = frozenset({"image"})
    family: str | None = None
    reasoning: str | None = None
    counterpart: str | None = None
    weights: str | None = None
    box_unit: str | None = None

    def answering(self) -> dict[str, Any]:
        """The settings that may change answers, except the device; batching changes rounding."""
        names = ("temperature", "dtype", "batch", "seed", "pad", "frames")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def description_of(settings: ChatSettings | LocalSettings) -> dict[str, str]:
    """The descriptive settings that were given."""
    return {name: value for name in DESCRIPTIVE if (value := getattr(settings, name)) is not None}


def read_settings(written: Mapping[str, str]) -> ChatSettings:
    """Parse settings; temperature, max_tokens and seed may be `none`: left to the service.

    Raises SnellenError for unknown names and invalid values.
    """
    return ChatSettings(**read_values("chat", written, _READ))


def read_local_settings(written: Mapping[str, str]) -> LocalSettings:
    """Parse settings of a model in this process. Raises SnellenError for unknown names and invalid values."""
    return LocalSettings(**read_values("chat", written, _READ_LOCAL))


def read_values(label: str, written_settings: Mapping[str, str], readers: Readers) -> dict[str, Any]:
    """The values of settings by name. Raises SnellenError, after a `label`, for unknown names and invalid values."""
    refuse_unknown(written_settings, readers, f"{label} has no setting")
    values: dict[str, Any] = {}
    for name, written in written_settings.items():
        try:
            values[name] = readers[name](written.strip())
        except ValueError as error:
            raise SnellenError(f"{label}: {name}={written!r:.100}: {error}") from None
    return values


def number(low: float, high: float) -> Callable[[str], float]:
    """A reader of numbers from low to high."""

    def read(written: str) -> float:
        try:
            value = float(written)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise ValueError(f"must be a number from {low:g} to {high:g}")
        return value

    return read


def whole_number(low: int, high: int) -> Callable[[str], int]:
    """A reader of whole numbers from low to high."""

    def read(written: str) -> int:
        if not re.fullmatch(r"-?\d+", written) or not low <= int(written) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(written)

    return read


def _or_open(read: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda written: None if written == _LEFT_OPEN else read(written)


def one_of(*words: str) -> Callable[[str], str]:
    """A reader of one of the words."""

    def read(written: str) -> str:
        if written not in words:
            raise ValueError(near(written, words))
        return written

    return read


def _device(written: str) -> str:
    if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", written):
        raise ValueError("must be auto, cpu, cuda or one of several GPUs, as in cuda:1")
    return written


def _frames(written: str) -> str:
    if not re.fullmatch(r"[1-9]\d*|[1-9]\d*fps", written):
        raise ValueError("must be a number of frames (8), or frames per second (1fps)")
    return written


def _images_only(written: str) -> frozenset[str]:
    if "video" in (kinds := _kinds(written)):
        raise ValueError("must not contain video; videos are shown as frames (frames=8)")
    return kinds


def _kinds(written: str) -> frozenset[str]:
    words = [word for word in re.split(r"[,+ ]+", written) if word]
    for word in words:
        if word not in _KINDS:
            raise ValueError(near(word, _KINDS))
    return frozenset(words)


_READ_DESCRIPTIVE: Readers = {
    "family": str,
    "reasoning": one_of("yes", "no"),
    "counterpart": str,
    "weights": one_of("open", "closed"),
    "box_unit": one_of(*BOX_UNITS),
}

_READ: Readers = {
    "temperature": _or_open(number(0, 2)),
    "max_tokens": _or_open(whole_number(1, 10**9)),
    "seed": _or_open(whole_number(0, 2**31 - 1)),
    "top_p": number(0, 1),
    "reasoning_effort": one_of(*_EFFORTS),
    "max_px": whole_number(16, 10**5),
    "attempts": whole_number(1, 100),
    "timeout": whole_number(1, 600),
    "max_concurrency": whole_number(1, 10_000),
    "price_in": number(0, 1e9),
    "price_out": number(0, 1e9),
    "max_images": whole_number(0, 10**6),
    "accepts": _kinds,
    **_READ_DESCRIPTIVE,
}
assert list(_READ) == [field.name for field in fields(ChatSettings)]

_READ_LOCAL: Readers = {
    "max_new_tokens": whole_number(1, 10**6),
    "temperature": number(0, 2),
    "dtype": one_of(*DTYPES),
    "device": _device,
    "batch": whole_number(1, 1024),
    "seed": whole_number(0, 2**31 - 1),
    "pad": one_of("square"),
    "frames": _frames,
    "max_images": whole_number(0, 10**6),
    "accepts": _images_only,
    **_READ_DESCRIPTIVE,
}
assert list(_READ_LOCAL) == [field.name for field in fields(LocalSettings)]
