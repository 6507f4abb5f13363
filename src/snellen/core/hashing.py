"""Digests of bytes and of plain data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def sha256(raw: bytes) -> str:
    """SHA-256 of bytes, 64 hexadecimal digits."""
    return hashlib.sha256(raw).hexdigest()


def canonical(value: Any) -> str:
    """The canonical JSON text of a value: sorted keys, no blanks, non-ASCII escaped (lone surrogates included)."""
    return _ENCODER.encode(value)


class ListDigest:
    """The `digest` of a list whose elements are added one by one, so that they need not all be in memory."""

    def __init__(self) -> None:
        self._sha256, self._separator = hashlib.sha256(b"["), b""

    def add(self, element: Any) -> None:
        """Add the next element, plain data."""
        self._sha256.update(self._separator + canonical(element).encode("ascii"))
        self._separator = b","

    def digest(self) -> str:
        """The digest of the elements so far, 64 hexadecimal digits."""
        whole = self._sha256.copy()
        whole.update(b"]")
        return whole.hexdigest()


def digest(value: Any, length: int = 64) -> str:
    """The first `length` hexadecimal digits of the SHA-256 of the canonical JSON text."""
    return sha256(canonical(value).encode("ascii"))[:length]


def with_checksum(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Plain data with a digest of themselves, which shows whether they were changed (`has_checksum`)."""
    return {**facts, "checksum": digest(dict(facts), 16)}


def has_checksum(facts: Mapping[str, Any]) -> bool:
    """True if plain data are as `with_checksum` returned them."""
    return facts.get("checksum") == digest({name: facts[name] for name in facts if name != "checksum"}, 16)
