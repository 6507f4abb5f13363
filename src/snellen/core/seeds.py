"""Named random streams. There is no default generator, and 0 is a seed."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, cast

import numpy as np

from snellen.core.hashing import canonical


def stream(*names: str | int) -> np.random.Generator:
    """The random stream of these names, e.g. `stream("combo", "1", seed, index)`.

    The same names give the same numbers on every machine, whatever ran before.
    """
    digest = hashlib.sha256(canonical(list(names)).encode("ascii")).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint8).astype(np.uint32))  # four times as fast as a list


class _LazyStream:
    def __init__(self, names: tuple[str | int, ...]) -> None:
        self._names = names

    @cached_property
    def _stream(self) -> np.random.Generator:
        return stream(*self._names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def lazy_stream(*names: str | int) -> np.random.Generator:
    """The same stream, created at the first draw: creating one takes longer than most transforms."""
    return cast(np.random.Generator, _LazyStream(names))


def seed_of(*names: str | int) -> int:
    """A 31-bit seed for libraries that need an integer."""
    return int.from_bytes(hashlib.sha256(canonical(list(names)).encode("ascii")).digest()[:4], "big") >> 1
