"""Train and test: 80 to 20 within every class and bin, no picture on both sides.

A picture may serve several strata, and several abilities: then no exact 80 to 20 need exist. Iterative stratification
comes near it (Sechidis, Tsoumakas, Vlahavas, On the Stratification of Multi-label Data, ECML PKDD 2011): pictures of
the stratum that has fewest left are dealt first, each to the side that lacks most.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Split

U = TypeVar("U", bound=Hashable)
S = TypeVar("S", bound=Hashable)
SIDES: tuple[Split, Split] = ("train", "test")


def divided(units: Mapping[U, Sequence[S]], test_share: float, rng: np.random.Generator) -> dict[U, Split]:
    """The side of every unit (a picture), whose strata are named once for every item it serves.

    Of every stratum about `test_share` of the items are for testing; where units have one item each it is the nearest
    whole number.
    """
    names = list(units)
    order = [names[int(n)] for n in rng.permutation(len(names))]
    members: dict[S, list[U]] = {}
    left: dict[S, int] = {}
    for unit in order:
        for stratum in units[unit]:
            left[stratum] = left.get(stratum, 0) + 1
        for stratum in dict.fromkeys(units[unit]):
            members.setdefault(stratum, []).append(unit)
    lacking = {stratum: [count * (1 - test_share), count * test_share] for stratum, count in left.items()}
    place = {stratum: n for n, stratum in enumerate(members)}
    queues = {stratum: iter(held) for stratum, held in members.items()}
    heap = [(count, place[stratum], stratum) for stratum, count in left.items()]
    heapq.heapify(heap)
    side: dict[U, Split] = {}
    while heap:
        count, _, stratum = heapq.heappop(heap)
        if count != left[stratum] or not count:
            continue  # an old entry: the stratum has fewer left now
        unit = next(one for one in queues[stratum] if one not in side)
        taken = _side(units[unit], stratum, lacking)
        side[unit] = SIDES[taken]
        for one in units[unit]:
            lacking[one][taken] -= 1
            left[one] -= 1
        for one in dict.fromkeys(units[unit]):
            heapq.heappush(heap, (left[one], place[one], one))
    return side


def _side(strata: Sequence[S], first: S, lacking: Mapping[S, Sequence[float]]) -> int:
    """Where the stratum in hand lacks more; where it lacks the same, where all of the unit's do; else training."""
    train, test = lacking[first]
    if train == test:
        train, test = (sum(lacking[one][n] for one in strata) for n in (0, 1))
    return int(test > train)


@dataclass(frozen=True)
class Balance:
    """How near a task came to the share it should test on: over its strata."""

    strata: int
    train: int
    test: int
    lowest: float
    highest: float

    def told(self) -> Mapping[str, Any]:
        """For the card."""
        total = self.train + self.test
        return {
            "classes_and_bins": self.strata,
            "train": self.train,
            "test": self.test,
            "test_share": round(self.test / total, 4) if total else 0.0,
            "least_test_share": round(self.lowest, 4),
            "greatest_test_share": round(self.highest, 4),
        }


def balance(strata: Sequence[Hashable], sides: Sequence[Split]) -> Balance:
    """Of the items of one task: stratum and side of each."""
    counts: dict[Hashable, list[int]] = {}
    for stratum, side in zip(strata, sides, strict=True):
        counts.setdefault(stratum, [0, 0])[SIDES.index(side)] += 1
    shares = [test / (train + test) for train, test in counts.values()]
    train, test = (sum(held[n] for held in counts.values()) for n in (0, 1))
    return Balance(len(counts), train, test, min(shares, default=0.0), max(shares, default=0.0))


def check_splits(items: Sequence[Item]) -> None:
    """Raise SnellenError where a picture is on both sides."""
    sides: dict[str, tuple[Split, str]] = {}
    for item in items:
        for media in item.query:
            side, first = sides.setdefault(media.sha256, (item.split, item.item_id))
            if side != item.split:
                raise SnellenError(
                    f"ava-bench: picture {media.sha256[:12]} is for both training and testing ({first}, "
                    f"{item.item_id}); the build must keep it on one side"
                )
