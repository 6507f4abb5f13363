"""Lists of values by key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def lists_by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, from pairs (key, value). Keys are in the order of their first pairs, values in theirs.

    >>> lists_by_key((len(word), word) for word in ("red", "blue", "tan"))
    {3: ['red', 'tan'], 4: ['blue']}
    """
    lists: dict[K, list[V]] = {}
    for key, value in pairs:
        lists.setdefault(key, []).append(value)
    return lists
