"""Metrics and protocols: how a response becomes numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from snellen.core.item import Item, ReplySpec

if TYPE_CHECKING:
    import pandas as pd

    from snellen.core.response import Response

Outcome = Literal["answered", "no_answer", "failed", "not_applicable"]
OUTCOMES: tuple[Outcome, ...] = ("answered", "no_answer", "failed", "not_applicable")


def _unknown(item: Item) -> float:
    return math.nan


def _always(item: Item) -> bool:
    return True


@dataclass(frozen=True)
class Metric:
    """A pure function of an item and what was read.

    `worst` is the score of an unreadable reply under `strict`. `chance` is the expected score of a guesser who knows
    the form of the answer and nothing of the images. `summary` puts units together. `share` says that the score is a
    fraction from 0 to 1, which people read in percent; without it, it is read in its own unit, with `decimals` in
    tables of subjects. `binary` says that an item's score is 0 or 1: right or wrong, and nothing between. `bounds` are
    the least and the greatest score there can be, None where there is no end: intervals are made by them. `is_defined`
    says whether answers to this item have a score at all: a share of a true value that is 0 is none.
    """

    name: str
    score: Callable[[Item, Any], float]
    worst: float = 0.0
    higher_is_better: bool = True
    chance: Callable[[Item], float] = _unknown
    summary: Literal["mean", "median", "root mean square"] = "mean"
    share: bool = True
    decimals: int = 3
    binary: bool = False
    bounds: tuple[float, float] | None = (0.0, 1.0)
    is_defined: Callable[[Item], bool] = _always

    @property
    def best(self) -> float:
        """The score of a perfect answer: 1, or 0 where the score is an error."""
        return 1.0 if self.higher_is_better else 0.0

    @property
    def sign(self) -> int:
        """1 where higher is better, -1 where lower is: the greater product of sign and score is the better one."""
        return 1 if self.higher_is_better else -1

    @property
    def label(self) -> str:
        """What the head of a column calls it: percent right needs no name."""
        return "" if self.binary else self.name


@dataclass(frozen=True)
class Protocol:
    """How replies become numbers.

    `read` leads from a text to an answer in the item's own terms, or None. `units` leads from the score rows of one
    repeat to one row a scored unit (columns cluster_id, value, chance), with NaN where the unit was not heard whole.
    Where units do not count alike, a column `weight` says how much each does; value and chance are multiplied by it.
    With `judge`, an item is made of a response, and the judge's reply to it is read in place of the subject's. With
    `read_verdict` as well, only what `read` cannot read is judged, and the judge's reply is read by it, in the form
    that was asked of the subject. `agrees` says whether a person's answer confirms the key where people cannot give it
    exactly (a box, a colour in numbers, a distance); without it, it must be the key.
    """

    name: str
    read: Callable[[str, ReplySpec], Any]
    metrics: tuple[Metric, ...]
    units: Callable[[pd.DataFrame], pd.DataFrame]
    unreadable: Literal["worst", "left out"] = "worst"
    judge: Callable[[Item, Response], Item] | None = None
    read_verdict: Callable[[str, ReplySpec], Any] | None = None
    agrees: Callable[[Item, Any], bool] | None = None

    def values(self, item: Item, prediction: Any) -> dict[str, float]:
        """What a prediction is worth by each metric, by its name; None is a reply that could not be read."""
        if prediction is not None:
            return {metric.name: metric.score(item, prediction) for metric in self.metrics}
        is_worst = self.unreadable == "worst"
        return {metric.name: metric.worst if is_worst else math.nan for metric in self.metrics}


Protocols = Mapping[str, Protocol]
