"""The items whose answers a guesser of free answers draws from: their mean score is its chance."""

from __future__ import annotations

PEERS = 24
"""The number of other items' answers over which the chance of a free answer is averaged."""


def peers(index: int, count: int) -> list[int]:
    """The indices of up to `PEERS` of `count` items other than the one at `index`, evenly spread; none for one item."""
    some = min(PEERS, count - 1)
    return [(index + 1 + n * (count - 1) // some) % count for n in range(some)]
