"""Level shares of what there is, and choices that spread over pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np

from snellen.suites.ava_bench.curated.candidates import shuffled

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


def level_shares(there: Mapping[K, int], most: int) -> dict[K, int]:
    """How many of each to take, `most` in all: as level as what there is allows, and never more than that.

    6 of {a: 1, b: 9, c: 9} are 1, 2 and 3: whoever has least is served first, what is left over goes to the last.
    """
    left, taken = most, dict.fromkeys(there, 0)
    for place, name in enumerate(sorted(there, key=lambda one: there[one])):
        taken[name] = min(there[name], left // (len(there) - place))
        left -= taken[name]
    return taken


def least_used(
    found: Sequence[T], most: int, picture: Callable[[T], Hashable], used: Counter[Hashable], rng: np.random.Generator
) -> list[T]:
    """At most so many, of pictures used least so far; of pictures used as often any. Enters them into `used`.

    A picture is on one side of a split with all that is asked about it: the fewer questions share one, the nearer
    every class and bin comes to its share.
    """
    here = Counter[Hashable]()
    ranked: list[tuple[int, int, T]] = []
    for place, one in enumerate(shuffled(found, rng)):
        ranked.append((used[picture(one)] + here[picture(one)], place, one))
        here[picture(one)] += 1
    ranked.sort(key=lambda held: held[:2])
    chosen = [one for _, _, one in ranked[:most]]
    used.update(picture(one) for one in chosen)
    return chosen
