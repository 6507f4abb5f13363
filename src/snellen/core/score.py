"""Metrics and protocols: from a response to numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from snellen.core.item import Item, ReplySpec

if TYPE_CHECKING:
    import pandas as pd

    from snellen.core.response import Response

Outcome = Literal["answered", "no_answer", "cut_off", "failed", "not_applicable"]
OUTCOMES: tuple[Outcome, ...] = ("answered", "no_answer", "cut_off", "failed", "not_applicable")


MEASURED, BELOW, ABOVE, NOT_UNDERSTOOD = "value", "below", "above", "question not understood"
"""What an estimate is: a number with an interval, a bound below or above all levels, or none."""


@dataclass(frozen=True)
class Measurement:
    """A number estimated from all answers of a subject to a task, such as a threshold, in the metric's unit.

    `low` and `high` are the ends of its interval, of the kind `interval`; NaN where there is none. `reason` is one
    of `MEASURED`, `BELOW`, `ABOVE` (the value is then the smallest or largest level) and `NOT_UNDERSTOOD` (NaN). `note`
    is the number in words.
    """

    value: float
    low: float
    high: float
    interval: str
    reason: str
    note: str


@dataclass(frozen=True)
class Metric:
    """A pure function of an item and the answer read from the reply.

    `worst` is the score of an unreadable reply under `strict`. `chance` is the expected score of a guesser that knows
    the form of the answer and nothing of the images. `summary` aggregates units. `share`: the score is a fraction from
    0 to 1, shown in percent; otherwise it is shown with `decimals` and `unit`. `binary`: an item scores 0 or 1.
    `bounds` are the least and the greatest possible score, None if unbounded; both choose the method of intervals.
    `is_defined`: the item has a score at all (an error relative to a true value of 0 has none). `title` is the name in
    reports and on the terminal, if it is not `name` with spaces for underscores. `remark` shows the metric beneath the
    main one in the main table of a report, with `{value}` and `{n}` (scored units) filled in; empty: only in results.
    `estimate` takes the place of `summary`: it gets items and their scores. Its value, in `unit`, has no chance and no
    grade, and arms are not compared by their scores of items, which differ in difficulty.
    """

    name: str
    score: Callable[[Item, Any], float]
    worst: float = 0.0
    higher_is_better: bool = True
    chance: Callable[[Item], float] = lambda item: math.nan
    summary: Literal["mean", "median", "root mean square"] = "mean"
    share: bool = True
    decimals: int = 3
    binary: bool = False
    bounds: tuple[float, float] | None = (0.0, 1.0)
    is_defined: Callable[[Item], bool] = lambda item: True
    title: str = ""
    remark: str = ""
    estimate: Callable[[Sequence[Item], Sequence[float]], Measurement] | None = None
    unit: str = ""

    @property
    def best(self) -> float:
        """The score of a perfect answer: 1, or 0 if the score is an error."""
        return 1.0 if self.higher_is_better else 0.0

    @property
    def least(self) -> float:
        """The least possible score: 0 of an error, minus infinity of other scores and of estimates without bounds."""
        is_error = not self.higher_is_better and self.estimate is None
        return self.bounds[0] if self.bounds else 0.0 if is_error else -math.inf

    @property
    def is_bounded_mean(self) -> bool:
        """True if the summary is the mean of scores within bounds, of which there are confidence sequences."""
        return self.summary == "mean" and self.bounds is not None and self.estimate is None

    @property
    def sign(self) -> int:
        """1 if higher is better, else -1; the greater product of sign and score is the better one."""
        return 1 if self.higher_is_better else -1

    @property
    def words(self) -> str:
        """The name in reports and on the terminal."""
        return self.title or self.name.replace("_", " ")

    @property
    def label(self) -> str:
        """The name in column heads; empty for binary metrics (percent right)."""
        return "" if self.binary else self.words

    @property
    def measure(self) -> str:
        """The name with the direction, if less is better."""
        return self.words if self.higher_is_better else f"{self.words}, lower is better"


@dataclass(frozen=True)
class Protocol:
    """The rules that turn replies into scores.

    `read` turns a text into an answer in the item's own terms, or None. `read_cut_off` does so for a reply that ended
    at the token limit; without it, `read` does, as released scorers do not know how a reply ended. `units` turns the
    score rows of one repeat into one row per scored unit (columns cluster_id, value, chance), with NaN for an
    incomplete unit. If units have unequal weights, a column `weight` holds them; value and chance are multiplied by it.
    `judge` makes an item from a response; the judge's reply is then read instead of the subject's. With `read_verdict`,
    only replies that `read` cannot read are judged, and `read_verdict` reads the judge's reply in the form asked of the
    subject. Where people cannot give the key exactly (a box, a colour in numbers, a distance), their answer confirms it
    if the first metric reaches the `threshold`, or if `agrees` is true; without both it must equal the key. `tolerance`
    says in words, after "agree", what is accepted beyond the key.
    """

    name: str
    read: Callable[[str, ReplySpec], Any]
    metrics: tuple[Metric, ...]
    units: Callable[[pd.DataFrame], pd.DataFrame]
    unreadable: Literal["worst", "left out"] = "worst"
    judge: Callable[[Item, Response], Item] | None = None
    read_verdict: Callable[[str, ReplySpec], Any] | None = None
    agrees: Callable[[Item, Any], bool] | None = None
    threshold: float | None = None
    tolerance: str = ""
    read_cut_off: Callable[[str, ReplySpec], Any] | None = None

    def confirms(self, item: Item, prediction: Any, is_key: bool) -> bool:
        """True if a person's answer, which equals the key or not, confirms it."""
        if self.threshold is not None:
            sign, score = self.metrics[0].sign, self.metrics[0].score(item, prediction)
            return sign * score >= sign * self.threshold
        return self.agrees(item, prediction) if self.agrees else is_key

    def values(self, item: Item, prediction: Any) -> dict[str, float]:
        """The score of a prediction by metric name; None is an unreadable reply."""
        if prediction is not None:
            return {metric.name: metric.score(item, prediction) for metric in self.metrics}
        is_worst = self.unreadable == "worst"
        return {metric.name: metric.worst if is_worst else math.nan for metric in self.metrics}


Protocols = Mapping[str, Protocol]
