"""Digests of bytes and of plain data."""

from __future__ import annotations

import hashlib
import json
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def sha256(raw: bytes) -> str:
    """SHA-256 of bytes, 64 hexadecimal digits."""
    return hashlib.sha256(raw).hexdigest()


def canonical(value: Any) -> str:
    """One JSON text for one value: sorted keys, no blanks, non-ASCII escaped (lone surrogates included)."""
    return _ENCODER.encode(value)


def digest(value: Any, length: int = 64) -> str:
    """The first `length` hexadecimal digits of the SHA-256 of the canonical JSON text."""
    return sha256(canonical(value).encode("ascii"))[:length]
