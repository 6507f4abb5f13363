"""Draws while a set is curated: random orders, shares of what is available, options beside the right one.

Every function is given its random stream; none makes one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def grouped(samples: Iterable[T], key: Callable[[T], Any]) -> dict[Any, list[T]]:
    """By key, keys in sorted order, each group in the order given."""
    groups: dict[Any, list[T]] = {}
    for sample in samples:
        groups.setdefault(key(sample), []).append(sample)
    return {name: groups[name] for name in sorted(groups)}


def shuffled(samples: Sequence[T], rng: np.random.Generator) -> list[T]:
    """In a random order; the first n of it are a draw of n without replacement."""
    return [samples[int(n)] for n in rng.permutation(len(samples))]


class Reservoir(Generic[T]):
    """At most `capacity` of any number of samples, each as likely as any other, without keeping the rest in memory."""

    def __init__(self, capacity: int, rng: np.random.Generator) -> None:
        self.capacity, self._rng = capacity, rng
        self.offered = 0
        self.samples: list[T] = []

    def offer(self, sample: T) -> None:
        """One sample more; in a full reservoir it replaces another with probability capacity / offered (Vitter's R)."""
        self.offered += 1
        if len(self.samples) < self.capacity:
            self.samples.append(sample)
        elif (index := int(self._rng.integers(self.offered))) < self.capacity:
            self.samples[index] = sample


def level_shares(available: Mapping[K, int], total: int) -> dict[K, int]:
    """How many of each to take, `total` in all: as level as what is available allows, and never more than that.

    6 of {a: 1, b: 9, c: 9} are 1, 2 and 3: whoever has least is served first, what is left over goes to the last.
    """
    remaining, shares = total, dict.fromkeys(available, 0)
    for n, name in enumerate(sorted(available, key=lambda name: available[name])):
        shares[name] = min(available[name], remaining // (len(available) - n))
        remaining -= shares[name]
    return shares


def equal_shares(names: Iterable[K], total: int) -> dict[K, int]:
    """`total` in equal parts; what does not divide goes to the first ones."""
    unique = list(dict.fromkeys(names))
    share, rest = divmod(total, len(unique)) if unique else (0, 0)
    return {name: share + (n < rest) for n, name in enumerate(unique)}


def proportional_shares(available: Mapping[K, int], total: int) -> dict[K, int]:
    """`total` in proportion to what is available, by largest remainder, the earlier one first; at most everything."""
    everything = sum(available.values())
    total = min(total, everything)
    shares = {name: total * count // max(everything, 1) for name, count in available.items()}
    remainders = {name: total * count - shares[name] * everything for name, count in available.items()}
    for name in sorted(available, key=lambda name: -remainders[name])[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def least_used(
    samples: Sequence[T],
    count: int,
    image_key: Callable[[T], Hashable],
    used: Counter[Hashable],
    rng: np.random.Generator,
) -> list[T]:
    """At most `count`, of images used least so far; of images used as often any. Enters them into `used`.

    An image is on one side of a split with all that is asked about it: the fewer questions share one, the nearer
    every class and bin comes to its share.
    """
    ahead = Counter[Hashable]()
    ranked: list[tuple[int, int, T]] = []
    for n, sample in enumerate(shuffled(samples, rng)):
        # An image's second sample counts as used once more than its first: so all images have their turn before any
        # has a second one.
        ranked.append((used[image_key(sample)] + ahead[image_key(sample)], n, sample))
        ahead[image_key(sample)] += 1
    ranked.sort(key=lambda rank: rank[:2])
    chosen = [sample for _, _, sample in ranked[:count]]
    used.update(image_key(sample) for sample in chosen)
    return chosen


def draw_options(truth: str, names: Iterable[str], count: int, rng: np.random.Generator) -> tuple[str, ...]:
    """`count` of the names, the true one among them, in a random order; all where there are no more than that."""
    others = sorted(set(names) - {truth})
    return tuple(shuffled([truth, *shuffled(others, rng)[: max(0, count - 1)]], rng))
