"""Train and test splits: 80 to 20 within every class and bin, with no image and no video of frames on both sides.

An image may serve several strata and abilities, so that an exact 80 to 20 need not exist. Iterative stratification
comes near it (Sechidis, Tsoumakas, Vlahavas, On the Stratification of Multi-label Data, ECML PKDD 2011): images of
the stratum with the fewest left are dealt first, each to the side that lacks most. Then images are moved to the other
side as long as that helps: if every image serves many strata, dealing alone leaves shares far from 20 percent.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from snellen.core.errors import SnellenError
from snellen.core.item import Item, Split

U = TypeVar("U", bound=Hashable)
S = TypeVar("S", bound=Hashable)
SIDES: tuple[Split, Split] = ("train", "test")
MAX_ROUNDS = 20
"""Greatest number of passes over all images; usually few are needed."""
MAX_PARTNERS = 50
"""Largest stratum whose members are all tried in exchange for one that moves."""
MIN_GAIN = 1e-9
"""Least gain of moving an image, so that rounding moves none."""


def bind_units(names_and_groups: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The unit of every image: its own name, or a name shared by all images that must be on one side with it.

    Each image comes with the name of an indivisible group, such as a video, or "". Videos that share an image are one
    unit.
    """
    leads: dict[str, str] = {}

    def first(name: str) -> str:
        while (lead := leads.setdefault(name, name)) != name:
            name = lead
        return name

    for image, undivided in names_and_groups:
        leads[first(image)] = first(undivided or image)
    return {name: first(name) for name in leads}


def assign_sides(units: Mapping[U, Sequence[S]], test_share: float, rng: np.random.Generator) -> dict[U, Split]:
    """The side of every unit (an image), whose strata are listed once per item that it serves.

    About `test_share` of the items of every stratum are for testing; if units have one item each, it is the nearest
    whole number.
    """
    names = list(units)
    order = [names[int(n)] for n in rng.permutation(len(names))]
    members: dict[S, list[U]] = {}
    remaining: dict[S, int] = {}
    for unit in order:
        for stratum in units[unit]:
            remaining[stratum] = remaining.get(stratum, 0) + 1
        for stratum in dict.fromkeys(units[unit]):
            members.setdefault(stratum, []).append(unit)
    lacking = {stratum: [count * (1 - test_share), count * test_share] for stratum, count in remaining.items()}
    # Strata may be of any type and cannot be compared: their order of appearance breaks ties.
    rank = {stratum: n for n, stratum in enumerate(members)}
    queues = {stratum: iter(units_of_stratum) for stratum, units_of_stratum in members.items()}
    heap = [(count, rank[stratum], stratum) for stratum, count in remaining.items()]
    heapq.heapify(heap)
    side: dict[U, Split] = {}
    while heap:
        count, _, stratum = heapq.heappop(heap)
        if count != remaining[stratum] or not count:
            continue  # outdated entry: the stratum was pushed again with a lower count
        unit = next(unit for unit in queues[stratum] if unit not in side)
        side_index = _side_index(units[unit], stratum, lacking)
        side[unit] = SIDES[side_index]
        for name in units[unit]:
            lacking[name][side_index] -= 1
            remaining[name] -= 1
        for name in dict.fromkeys(units[unit]):
            heapq.heappush(heap, (remaining[name], rank[name], name))
    _improve(units, side, test_share)
    return side


def _improve(units: Mapping[U, Sequence[S]], side: dict[U, Split], test_share: float) -> None:
    """Move units to the other side, alone or in exchange, while that brings strata nearer to their shares.

    It minimises the sum over strata of (test items - wanted test items)^2 / items, so that small strata weigh as much
    as large ones. No move takes the last item of a stratum from either side.
    """
    shares = _Shares(units, side, test_share)
    shared = [unit for unit, strata in units.items() if len(strata) > 1]
    for _ in range(MAX_ROUNDS):
        if not sum(shares.move(unit) for unit in shared):
            return


class _Shares(Generic[U, S]):
    """The number of test items of every stratum, while units move."""

    def __init__(self, units: Mapping[U, Sequence[S]], side: dict[U, Split], test_share: float) -> None:
        self.side, self.test_share = side, test_share
        self.strata = {unit: Counter(strata) for unit, strata in units.items()}
        self.sizes: Counter[S] = Counter(stratum for strata in units.values() for stratum in strata)
        self.tests: Counter[S] = Counter(
            stratum for unit, strata in units.items() if side[unit] == "test" for stratum in strata
        )
        self.members: dict[S, list[U]] = {}
        for unit, counts in self.strata.items():
            for stratum in counts:
                self.members.setdefault(stratum, []).append(unit)

    def move(self, unit: U) -> bool:
        """Move the unit if that gains anything; True if it moved.

        If the move would take the last item of one stratum from a side, another unit of that stratum moves back.
        """
        change = self._change(unit)
        lost = [stratum for stratum, n in change.items() if self._empties(stratum, n)]
        if not lost:
            return self._apply([unit], change)
        if len(lost) > 1 or len(self.members[lost[0]]) > MAX_PARTNERS:
            return False
        return any(
            self._apply([unit, other], _sum_changes(change, self._change(other)))
            for other in self.members[lost[0]]
            if self.side[other] != self.side[unit]
        )

    def _change(self, unit: U) -> dict[S, int]:
        """The change in test items of the unit's strata if it moves."""
        step = -1 if self.side[unit] == "test" else 1
        return {stratum: step * n for stratum, n in self.strata[unit].items()}

    def _empties(self, stratum: S, n: int) -> bool:
        tests, size = self.tests[stratum], self.sizes[stratum]
        return 0 < tests < size and not 0 < tests + n < size

    def _apply(self, moving: Sequence[U], change: Mapping[S, int]) -> bool:
        """Make the moves if they gain anything and empty no side; True if made."""
        gain = 0.0
        for stratum, n in change.items():
            if self._empties(stratum, n):
                return False
            # (t - s)^2 - (t + n - s)^2 = -n (2 (t - s) + n), with t test items of s wanted, divided by all items.
            excess = self.tests[stratum] - self.test_share * self.sizes[stratum]
            gain -= n * (2 * excess + n) / self.sizes[stratum]
        if gain <= MIN_GAIN:
            return False
        for unit in moving:
            self.side[unit] = SIDES[self.side[unit] == "train"]
        for stratum, n in change.items():
            self.tests[stratum] += n
        return True


def _sum_changes(change: Mapping[S, int], other: Mapping[S, int]) -> dict[S, int]:
    return {stratum: change.get(stratum, 0) + other.get(stratum, 0) for stratum in {**change, **other}}


def _side_index(strata: Sequence[S], first: S, lacking: Mapping[S, Sequence[float]]) -> int:
    """The side that the stratum lacks most; of equal sides the one that all strata of the unit lack; else training."""
    train, test = lacking[first]
    if train == test:
        train, test = (sum(lacking[stratum][n] for stratum in strata) for n in (0, 1))
    return int(test > train)


@dataclass(frozen=True)
class TestShare:
    """The share of test items of a task: in total, and the lowest and highest over its strata."""

    strata: int
    train: int
    test: int
    lowest: float
    highest: float

    def as_card(self) -> Mapping[str, Any]:
        """The entry of the card."""
        total = self.train + self.test
        return {
            "classes_and_bins": self.strata,
            "train": self.train,
            "test": self.test,
            "test_share": round(self.test / total, 4) if total else 0.0,
            "least_test_share": round(self.lowest, 4),
            "greatest_test_share": round(self.highest, 4),
        }


def balance(strata: Sequence[Hashable], sides: Sequence[Split]) -> TestShare:
    """The test share of one task, from the stratum and the side of each item."""
    counts: dict[Hashable, list[int]] = {}
    for stratum, side in zip(strata, sides, strict=True):
        counts.setdefault(stratum, [0, 0])[SIDES.index(side)] += 1
    shares = [test / (train + test) for train, test in counts.values()]
    train, test = (sum(both[n] for both in counts.values()) for n in (0, 1))
    return TestShare(len(counts), train, test, min(shares, default=0.0), max(shares, default=0.0))


def check_splits(items: Sequence[Item]) -> None:
    """Raise SnellenError if an image is on both sides."""
    sides: dict[str, tuple[Split, str]] = {}
    for item in items:
        for media in item.query:
            side, first = sides.setdefault(media.sha256, (item.split, item.item_id))
            if side != item.split:
                raise SnellenError(
                    f"{item.suite}: image {media.sha256[:12]} is used for both training and testing ({first}, "
                    f"{item.item_id}); the build must keep it in one split"
                )
