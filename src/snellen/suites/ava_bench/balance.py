"""Counts of classes and bins in training and testing, which should have the same proportions (section 3.3)."""

from __future__ import annotations

import colorsys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from snellen.core.build_options import BuildOptions
from snellen.core.errors import SnellenError
from snellen.core.grouping import lists_by_key
from snellen.core.item import Item
from snellen.suites.ava_bench.abilities import ABILITIES

MAX_SHARE_DIFFERENCE = 0.1
"""A card notes levels whose shares of the training and the test items differ by more."""
REFUSED_DIFFERENCE = 0.15
"""A generated set whose shares differ by more is refused."""
ENOUGH = 12
"""With fewer test items some levels must be missing."""
PALE = 0.3
"""Saturation (HSV) below which a colour has no hue."""
HUES: tuple[tuple[float, str], ...] = (
    (20, "red"), (75, "yellow"), (160, "green"), (195, "cyan"), (255, "blue"), (345, "purple"), (360, "red"),
)  # fmt: skip
"""Families of colours by their upper end in degrees (HSV); ours, only for counting."""


@dataclass(frozen=True)
class FactorBalance:
    """One factor of a task: the number of items per split and level."""

    task: str
    factor: str
    train: Mapping[str, int]
    test: Mapping[str, int]

    @property
    def levels(self) -> tuple[str, ...]:
        """All levels of either split."""
        return tuple(sorted({*self.train, *self.test}))

    @property
    def both(self) -> bool:
        """True if both splits have items, so that they can be compared."""
        return bool(self.train and self.test)

    def only_in(self, split: str) -> tuple[str, ...]:
        """The levels that the other split lacks."""
        counts, other = (self.train, self.test) if split == "train" else (self.test, self.train)
        return tuple(sorted(set(counts) - set(other)))

    def apart(self) -> float:
        """The greatest difference between a level's share of the training items and that of the test items, 0 to 1."""
        train, test = sum(self.train.values()), sum(self.test.values())
        return max(abs(self.train.get(name, 0) / train - self.test.get(name, 0) / test) for name in self.levels)


def level(item: Item, factor: str) -> str:
    """An item's level of a factor, empty if it has none."""
    return _DERIVED[factor](item) if factor in _DERIVED else item.factors.get(factor, "")


def hue(rgb: Sequence[float]) -> str:
    """The family of an sRGB colour 0..255, `pale` if it is nearly grey."""
    hue_share, saturation, _ = colorsys.rgb_to_hsv(*(channel / 255 for channel in rgb))
    return "pale" if saturation < PALE else next(name for max_degrees, name in HUES if 360 * hue_share <= max_degrees)


def _by_depth(item: Item, nearer: bool) -> str:
    return item.factors.get("thing" if (item.answer == "red") == nearer else "reference", "")


_DERIVED: Mapping[str, Callable[[Item], str]] = {
    "answer": lambda item: str(item.answer),
    "hue": lambda item: hue(item.answer),
    "length": lambda item: f"{len(item.answer)} characters",
    "nearer": lambda item: _by_depth(item, True),
    "farther": lambda item: _by_depth(item, False),
}


def balances(items: Iterable[Item]) -> list[FactorBalance]:
    """Every factor of every task with more than one level, in the order of tasks."""
    by_task = lists_by_key((item.task, item) for item in items)
    task_balances = []
    for task in (name for name in ABILITIES if name in by_task):
        for factor in ("source", *ABILITIES[task].balanced_by):
            counts = {split: _count_levels(by_task[task], split, factor) for split in ("train", "test")}
            balance = FactorBalance(task, factor, counts["train"], counts["test"])
            task_balances += [balance] if len(balance.levels) > 1 else []
    return task_balances


def _count_levels(items: Iterable[Item], split: str, factor: str) -> Counter[str]:
    return Counter(name for item in items if item.split == split and (name := level(item, factor)))


def imbalance(items: Iterable[Item], max_difference: float = MAX_SHARE_DIFFERENCE) -> list[str]:
    """Differences between training and testing, one sentence each, for an item set's card.

    They are levels that one split lacks, or shares that differ by more than `max_difference`, for tasks with at
    least `ENOUGH` test items.
    """
    notes = []
    for balance in balances(items):
        if not balance.both or sum(balance.test.values()) < ENOUGH:
            continue
        for split in ("train", "test"):
            if lone := balance.only_in(split):
                notes.append(f"{balance.task}: {balance.factor} {', '.join(lone)} only in split={split}")
        points = 100 * balance.apart()
        if balance.apart() > max_difference:
            notes.append(f"{balance.task}: shares of {balance.factor} differ by {points:.0f} points between splits")
    return notes


def imbalance_if_allowed(items: Iterable[Item], options: BuildOptions) -> list[str]:
    """The notes of `imbalance`, for the card of a generated set.

    Raises SnellenError if splits do not match (a level is missing, or shares differ by more than `REFUSED_DIFFERENCE`),
    unless the set is quick or may be unmatched. Composites do not count: they use images made for other tasks.
    """
    items = list(items)
    atomic = [item for item in items if not ABILITIES[item.task].parts]
    is_exempt = options.quick or options.allow_unmatched
    if not is_exempt and (unmatched := imbalance(atomic, REFUSED_DIFFERENCE)):
        others = f" (and {len(unmatched) - 1} more)" if len(unmatched) > 1 else ""
        raise SnellenError(
            f"{options.out}: training and test items do not match: {unmatched[0]}{others}; build with another --n or "
            "--seed, or accept this with --allow-unmatched (in Python allow_unmatched=True): the images are not "
            "rendered again, and the set's card says so"
        )
    return imbalance(items)
