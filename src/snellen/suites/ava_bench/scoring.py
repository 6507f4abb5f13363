"""How AVA-Bench is scored: `strict`, and `published`, which does what the authors' scripts do.

`strict` reads with the one parser and gives what it cannot read the worst score of `WORST`; where the scale has no end,
answers are held to that score too, so that silence never pays. `published` leaves out what the scripts skip, and cuts
nothing off. Of five abilities no script was released (`without_script`): there `published` is accuracy as
the paper's text says, read by the one parser, and is the same as `strict`. So it is of composite tasks, which are ours
and have the metrics of that part which says how to answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from snellen.core.item import Item, ReplySpec
from snellen.core.score import Metric, Protocol
from snellen.scoring.metrics import anls, anls_05, ciede2000, giou, mae_over_gt
from snellen.scoring.protocols import ACCURACY, by_item, correct, guess, strict
from snellen.suites.ava_bench import released_scorers as released
from snellen.suites.ava_bench.items import bin_middle

# Metrics


def measured(metric: str, protocol: str) -> str:
    """The measure of an item that holds the chance of a metric of a free answer (`blind.with_chance`)."""
    return f"chance_{protocol}_{metric}"


def _measured_chance(metric: str, protocol: str) -> Callable[[Item], float]:
    return lambda item: item.measures.get(measured(metric, protocol), math.nan)


def _capped(score: Callable[[Item, Any], float], worst: float) -> Callable[[Item, Any], float]:
    return lambda item, prediction: min(score(item, prediction), worst)


def _overlap(item: Item, prediction: Any) -> float:
    x1, y1, x2, y2 = (float(side) for side in item.answer)
    return giou((x1, y1, x2, y2), prediction)


def _colour_apart(item: Item, prediction: Any) -> float:
    return _distance(tuple(map(float, item.answer)), tuple(map(float, prediction)))


@lru_cache(maxsize=2**16)
def _distance(answer: tuple[float, ...], prediction: tuple[float, ...]) -> float:
    # Attacks compare the same colours again and again.
    return ciede2000(answer, prediction)


def _count_apart(item: Item, prediction: Any) -> float:
    return mae_over_gt(float(item.answer), float(prediction))


def _is_share_of(item: Item) -> bool:
    """Whether there is something to be a share of: a count of 1 or more, or a bin of distances."""
    return not isinstance(item.answer, int) or item.answer > 0


def _released_count_apart(item: Item, prediction: str) -> float:
    number = released.whole_number(prediction)
    return math.nan if number is None else _count_apart(item, number)


def _same_digits(item: Item, prediction: str) -> float:
    return float(prediction == str(item.answer))


def _bin_apart(item: Item, prediction: Any) -> float:
    return mae_over_gt(bin_middle(item.answer), bin_middle(prediction))


def _metres_apart(item: Item, prediction: float) -> float:
    return mae_over_gt(bin_middle(item.answer), prediction)


def _same_rounded(item: Item, prediction: float) -> float:
    return float(round(bin_middle(item.answer)) == round(prediction))


def _guessed(score: Callable[[Item, float], float], worst: float = math.inf) -> Callable[[Item], float]:
    """The mean score of a uniform draw among the bins offered, each at its middle."""

    def chance(item: Item) -> float:
        each = [min(score(item, bin_middle(option.key)), worst) for option in item.options]
        return sum(each) / len(each) if each else math.nan

    return chance


def _same_text(item: Item, prediction: str) -> float:
    return anls(item.answer, prediction)


def _same_text_05(item: Item, prediction: str) -> float:
    return anls_05(item.answer, prediction)


def _named(item: Item, prediction: Any) -> float:
    return float(item.answer in prediction)


FREE_METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        metric.name: metric
        for metric in (
            Metric("accuracy", correct, binary=True),
            Metric("anls", _same_text),
            Metric("anls_05", _same_text_05),
            Metric("giou", _overlap, worst=-1.0, share=False, bounds=(-1.0, 1.0)),
            Metric(
                "mae_over_gt",
                _count_apart,
                worst=1.0,
                higher_is_better=False,
                share=False,
                bounds=None,
                is_defined=_is_share_of,
            ),
            Metric(
                "ciede2000",
                _colour_apart,
                worst=100.0,
                higher_is_better=False,
                share=False,
                decimals=1,
                bounds=None,
            ),
        )
    }
)
"""What is true of each metric of a free answer under every protocol; a task may score by it in another way."""
WORST: Mapping[str, float] = MappingProxyType({name: metric.worst for name, metric in FREE_METRICS.items()})
"""The score of an unreadable reply under `strict`.

An answered MAE/GT above 1 counts as 1 (the error of who says nothing, or 0) and an answered CIEDE2000 above 100 (black
for white) as 100. The other three end there by themselves.
"""


def _free(name: str, score: Callable[[Item, Any], float], protocol: str, **changes: Any) -> Metric:
    """A metric of a free answer: worst and, where errors have no end, held to it under `strict`, from 0 up to it."""
    metric = FREE_METRICS[name]
    worst = metric.worst if protocol == "strict" else math.nan
    if protocol == "strict" and not metric.higher_is_better:
        score = _capped(score, worst)
        changes = {"bounds": (0.0, worst), **changes}
    return replace(metric, **{"score": score, "worst": worst, "chance": _measured_chance(name, protocol), **changes})


NAMED = Metric("accuracy", _named, chance=guess, binary=True)
"""Share of replies for which the script of a choice says right, 0 to 1. Chance is that of a guesser who writes one
option as it is shown."""
DEPTH = WORST["mae_over_gt"]
AGREEMENT_GIOU, AGREEMENT_CIEDE2000, AGREEMENT_ANLS, AGREEMENT_BINS = 0.5, 15.0, 0.8, 1
"""What confirms a key when a person answers by eye: overlap at least, colour and text apart at most, bins apart."""


def _neighbours(item: Item, prediction: Any) -> bool:
    bins = [option.key for option in item.options]
    return abs(bins.index(item.answer) - bins.index(prediction)) <= AGREEMENT_BINS


LOCATED = replace(
    strict(_free("giou", _overlap, "strict")), agrees=lambda item, box: _overlap(item, box) >= AGREEMENT_GIOU
)
COUNTED = strict(_free("mae_over_gt", _count_apart, "strict"), _free("accuracy", correct, "strict"))


def _published(
    read: Callable[[str, ReplySpec], Any], *metrics: Metric, unreadable: Any = "left out"
) -> Mapping[str, Protocol]:
    return {"published": Protocol("published", read, metrics, by_item, unreadable)}


def _both(strict_protocol: Protocol, published: Mapping[str, Protocol]) -> Mapping[str, Protocol]:
    return MappingProxyType({"strict": strict_protocol, **published})


def without_script(strict_protocol: Protocol) -> Mapping[str, Protocol]:
    """`published` is the same as `strict`: no script was released."""
    return _both(strict_protocol, {"published": replace(strict_protocol, name="published")})


def choice_protocols(read: Callable[[str, ReplySpec], Any]) -> Mapping[str, Protocol]:
    """Accuracy; under `published` by what the released script takes for right."""
    return _both(strict(), _published(read, NAMED, unreadable="worst"))


BOX_PROTOCOLS = _both(LOCATED, _published(released.read_first_box, _free("giou", _overlap, "published")))
COUNT_PROTOCOLS = _both(
    COUNTED,
    _published(
        released.read_count,
        _free("mae_over_gt", _released_count_apart, "published"),
        _free("accuracy", _same_digits, "published", worst=0.0),
        unreadable="worst",
    ),
)
COLOUR_PROTOCOLS = _both(
    replace(
        strict(_free("ciede2000", _colour_apart, "strict")),
        agrees=lambda item, colour: _colour_apart(item, colour) <= AGREEMENT_CIEDE2000,
    ),
    _published(released.read_first_colour, _free("ciede2000", _colour_apart, "published")),
)
DEPTH_BIN_PROTOCOLS = _both(
    replace(
        strict(_free("mae_over_gt", _bin_apart, "strict", chance=_guessed(_metres_apart, DEPTH)), ACCURACY),
        agrees=_neighbours,
    ),
    _published(
        released.read_depth,
        _free("mae_over_gt", _metres_apart, "published", chance=_guessed(_metres_apart)),
        Metric("accuracy", _same_rounded, chance=_guessed(_same_rounded), binary=True),
    ),
)
TEXT_PROTOCOLS = _both(
    replace(
        strict(_free("anls", _same_text, "strict"), _free("anls_05", _same_text_05, "strict")),
        agrees=lambda item, text: _same_text(item, text) >= AGREEMENT_ANLS,
    ),
    _published(
        released.read_whole_text,
        _free("anls_05", _same_text_05, "published", worst=0.0),
        _free("anls", _same_text, "published", worst=0.0),
        unreadable="worst",
    ),
)
"""The first metric under `published` is that of Table 5; OCR's there has the threshold of the script, which Eq. 3
lacks, so `strict` puts `anls` first and gives both."""
