"""Random draws for curation: orders, shares of what is available, distractor options.

Every function takes its random stream; none makes one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def grouped(samples: Iterable[T], key: Callable[[T], Any]) -> dict[Any, list[T]]:
    """The samples by key; keys are sorted, and each group keeps the given order."""
    groups: dict[Any, list[T]] = {}
    for sample in samples:
        groups.setdefault(key(sample), []).append(sample)
    return {name: groups[name] for name in sorted(groups)}


def shuffled(samples: Sequence[T], rng: np.random.Generator) -> list[T]:
    """The samples in a random order; the first n are a draw of n without replacement."""
    return [samples[int(n)] for n in rng.permutation(len(samples))]


class Reservoir(Generic[T]):
    """A uniform draw of at most `capacity` of any number of samples, without keeping the rest in memory."""

    def __init__(self, capacity: int, rng: np.random.Generator) -> None:
        self.capacity, self._rng = capacity, rng
        self.offered = 0
        self.samples: list[T] = []

    def offer(self, sample: T) -> None:
        """Add a sample; in a full reservoir it replaces another with probability capacity / offered (Vitter's R)."""
        self.offered += 1
        if len(self.samples) < self.capacity:
            self.samples.append(sample)
        elif (index := int(self._rng.integers(self.offered))) < self.capacity:
            self.samples[index] = sample


def level_shares(available: Mapping[K, int], total: int) -> dict[K, int]:
    """The number of each to take, `total` in all, as equal as the available numbers allow.

    6 of {a: 1, b: 9, c: 9} are 1, 2 and 3: the scarcest is served first, and the remainder goes to the last.
    """
    remaining, shares = total, dict.fromkeys(available, 0)
    for n, name in enumerate(sorted(available, key=lambda name: available[name])):
        shares[name] = min(available[name], remaining // (len(available) - n))
        remaining -= shares[name]
    return shares


def equal_shares(names: Iterable[K], total: int) -> dict[K, int]:
    """`total` in equal parts; the remainder goes to the first ones."""
    unique = list(dict.fromkeys(names))
    share, rest = divmod(total, len(unique)) if unique else (0, 0)
    return {name: share + (n < rest) for n, name in enumerate(unique)}


def proportional_shares(available: Mapping[K, int], total: int) -> dict[K, int]:
    """`total`, at most everything, in proportion to what is available, by largest remainder; ties to the earlier."""
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
    """At most `count` samples of the images used least so far, ties at random. Adds them to `used`.

    An image is on one side of a split with all its questions: the fewer questions share an image, the nearer every
    class and bin comes to its share.
    """
    ahead = Counter[Hashable]()
    ranked: list[tuple[int, int, T]] = []
    for n, sample in enumerate(shuffled(samples, rng)):
        # An image's second sample counts as used once more than its first, so that every image is used before any is
        # used twice.
        ranked.append((used[image_key(sample)] + ahead[image_key(sample)], n, sample))
        ahead[image_key(sample)] += 1
    ranked.sort(key=lambda rank: rank[:2])
    chosen = [sample for _, _, sample in ranked[:count]]
    used.update(image_key(sample) for sample in chosen)
    return chosen


def draw_options(truth: str, names: Iterable[str], count: int, rng: np.random.Generator) -> tuple[str, ...]:
    """`count` of the names (at most all), including the true one, in a random order."""
    others = sorted(set(names) - {truth})
    return tuple(shuffled([truth, *shuffled(others, rng)[: max(0, count - 1)]], rng))
