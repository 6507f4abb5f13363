"""Damage to files, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np


def _flipped(raw: bytes, rng: np.random.Generator) -> bytes:
    damaged = bytearray(raw)
    damaged[int(rng.integers(len(raw)))] ^= 1 << int(rng.integers(8))
    return bytes(damaged)


def _zeroed(raw: bytes, rng: np.random.Generator) -> bytes:
    start, length = int(rng.integers(len(raw))), int(rng.integers(1, 4096))
    return raw[:start] + bytes(len(raw[start : start + length])) + raw[start + length :]


DAMAGES: Mapping[str, Callable[[bytes, np.random.Generator], bytes | None]] = {
    "a flipped bit": _flipped,
    "zeros": _zeroed,
    "cut short": lambda raw, rng: raw[: int(rng.integers(len(raw)))],
    "garbage at the end": lambda raw, rng: raw + rng.bytes(int(rng.integers(1, 300))),
    "empty": lambda raw, rng: b"",
    "gone": lambda raw, rng: None,
}
"""New bytes of a file; None removes it."""


def damage(path: Path, kind: str, rng: np.random.Generator) -> bool:
    """Damage a file in place. Returns True if it changed."""
    raw = path.read_bytes()
    damaged = DAMAGES[kind](raw, rng) if raw else None
    if damaged is None:
        path.unlink()
    else:
        path.write_bytes(damaged)
    return damaged != raw
