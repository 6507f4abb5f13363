"""The protocols of AVA-Bench: `strict`, and `published`, which follows the authors' scripts.

`strict` uses the project's parser and gives unreadable replies the worst score of `WORST`; on open scales answers are
capped at that score too, so that silence never pays. `published` leaves out what the scripts skip, and caps nothing.
For five abilities no script was released (`without_script`): there `published` is accuracy as in the paper's text, read
by the project's parser, and equals `strict`. The same holds for composite tasks, which are ours and have the metrics of
the part that determines the form of the answer. OCR also has `as-replied`: `strict` without unwrapping the reply.
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
from snellen.scoring.answers.texts import key_forms, read_text
from snellen.scoring.metrics import anls, anls_05, ciede2000, giou, mae_over_gt
from snellen.scoring.protocols import ACCURACY, by_item, correct, guess, strict
from snellen.suites.ava_bench import released_scorers as released
from snellen.suites.ava_bench.items import bin_middle

# Metrics


def measured(metric: str, protocol: str) -> str:
    """The name of an item's measure with the chance of a free answer's metric (`free_answer_chance.with_chance`)."""
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
    # Blind attacks compare the same colours many times.
    return ciede2000(answer, prediction)


def _count_apart(item: Item, prediction: Any) -> float:
    return mae_over_gt(float(item.answer), float(prediction))


def _is_share_of(item: Item) -> bool:
    """True if an error can be relative to the truth: a count of 1 or more, or a bin of distances."""
    return not isinstance(item.answer, int) or item.answer > 0


def _released_count_apart(item: Item, prediction: str) -> float:
    number = released.whole_number(prediction)
    return math.nan if number is None else _count_apart(item, number)


def _bin_apart(item: Item, prediction: Any) -> float:
    return mae_over_gt(bin_middle(item.answer), bin_middle(prediction))


def _metres_apart(item: Item, prediction: float) -> float:
    return mae_over_gt(bin_middle(item.answer), prediction)


def _same_rounded(item: Item, prediction: float) -> float:
    return float(round(bin_middle(item.answer)) == round(prediction))


def _guessed(score: Callable[[Item, float], float], worst: float = math.inf) -> Callable[[Item], float]:
    """The mean score of a uniform draw among the bins offered, each by its middle."""

    def chance(item: Item) -> float:
        each = [min(score(item, bin_middle(option.key)), worst) for option in item.options]
        return sum(each) / len(each) if each else math.nan

    return chance


def _same_text(item: Item, prediction: str) -> float:
    return anls(item.answer, prediction)


def _same_text_05(item: Item, prediction: str) -> float:
    return anls_05(item.answer, prediction)


def _nearest(similarity: Callable[[str, str], float]) -> Callable[[Item, str], float]:
    return lambda item, prediction: max(similarity(key, prediction) for key in key_forms(item.answer))


FREE_METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", correct, binary=True),
        Metric("anls", _same_text, title="ANLS"),
        Metric("anls_05", _same_text_05, title="ANLS with threshold 0.5"),
        Metric("giou", _overlap, worst=-1.0, share=False, bounds=(-1.0, 1.0), title="GIoU", unit="GIoU"),
        Metric(
            "mae_over_gt",
            _count_apart,
            worst=1.0,
            higher_is_better=False,
            share=False,
            bounds=None,
            is_defined=_is_share_of,
            title="relative error",
            unit="of truth",
        ),
        Metric(
            "ciede2000",
            _colour_apart,
            worst=100.0,
            higher_is_better=False,
            share=False,
            decimals=1,
            bounds=None,
            title="colour difference ΔE2000",
            unit="ΔE",
        ),
    )
}
"""The properties of free answers' metrics under every protocol; tasks may replace the score."""
WORST: Mapping[str, float] = {name: metric.worst for name, metric in FREE_METRICS.items()}
"""The score of an unreadable reply under `strict`.

A MAE/GT above 1 counts as 1 (the error of no answer, or of 0) and a CIEDE2000 above 100 (black for white) as 100. The
other three are bounded by it anyway.
"""


def _free(name: str, score: Callable[[Item, Any], float], protocol: str, **changes: Any) -> Metric:
    """A metric of a free answer; under `strict` with its worst score, at which open-ended errors are capped."""
    metric = FREE_METRICS[name]
    worst = metric.worst if protocol == "strict" else math.nan
    if protocol == "strict" and not metric.higher_is_better:
        score = _capped(score, worst)
        changes = {"bounds": (0.0, worst), **changes}
    return replace(metric, **{"score": score, "worst": worst, "chance": _measured_chance(name, protocol), **changes})


NAMED = Metric("accuracy", lambda item, prediction: float(item.answer in prediction), chance=guess, binary=True)
"""Share of replies that the script of a choice accepts as right, 0 to 1. Chance is that of a guesser that writes one
option as shown."""
DEPTH = WORST["mae_over_gt"]
AGREEMENT_GIOU, AGREEMENT_CIEDE2000, AGREEMENT_ANLS, AGREEMENT_BINS = 0.5, 15.0, 0.8, 1
"""Thresholds at which a person's answer confirms the key: least overlap, greatest colour distance, least text
similarity, greatest distance in bins."""


def _neighbours(item: Item, prediction: Any) -> bool:
    bins = [option.key for option in item.options]
    return abs(bins.index(item.answer) - bins.index(prediction)) <= AGREEMENT_BINS


LOCATED = replace(
    strict(_free("giou", _overlap, "strict")),
    threshold=AGREEMENT_GIOU,
    tolerance=f"with an overlap (GIoU) of at least {AGREEMENT_GIOU:g}",
)
COUNTED = strict(_free("mae_over_gt", _count_apart, "strict"), _free("accuracy", correct, "strict"))


def _published(
    read: Callable[[str, ReplySpec], Any], *metrics: Metric, unreadable: Any = "left out"
) -> dict[str, Protocol]:
    return {"published": Protocol("published", read, metrics, by_item, unreadable)}


def _both(strict_protocol: Protocol, published: Mapping[str, Protocol]) -> Mapping[str, Protocol]:
    return MappingProxyType({"strict": strict_protocol, **published})


def without_script(strict_protocol: Protocol) -> Mapping[str, Protocol]:
    """Both protocols with the same metrics, since no script was released."""
    return _both(strict_protocol, {"published": replace(strict_protocol, name="published")})


def choice_protocols(read: Callable[[str, ReplySpec], Any]) -> Mapping[str, Protocol]:
    """Accuracy; under `published` as the released script accepts replies."""
    return _both(strict(), _published(read, NAMED, unreadable="worst"))


BOX_PROTOCOLS = _both(LOCATED, _published(released.read_first_box, _free("giou", _overlap, "published")))
COUNT_PROTOCOLS = _both(
    COUNTED,
    _published(
        released.read_count,
        _free("mae_over_gt", _released_count_apart, "published"),
        _free("accuracy", lambda item, prediction: float(prediction == str(item.answer)), "published", worst=0.0),
        unreadable="worst",
    ),
)
COLOUR_PROTOCOLS = _both(
    replace(
        strict(_free("ciede2000", _colour_apart, "strict")),
        threshold=AGREEMENT_CIEDE2000,
        tolerance=f"with a colour difference (ΔE2000) of at most {AGREEMENT_CIEDE2000:g}",
    ),
    _published(released.read_first_colour, _free("ciede2000", _colour_apart, "published")),
)
DEPTH_BIN_PROTOCOLS = _both(
    replace(
        strict(_free("mae_over_gt", _bin_apart, "strict", chance=_guessed(_metres_apart, DEPTH)), ACCURACY),
        agrees=_neighbours,
        tolerance="within one bin",
    ),
    _published(
        released.read_depth,
        _free("mae_over_gt", _metres_apart, "published", chance=_guessed(_metres_apart)),
        Metric("accuracy", _same_rounded, chance=_guessed(_same_rounded), binary=True),
    ),
)
AS_REPLIED = strict(_free("anls", _same_text, "strict"), _free("anls_05", _same_text_05, "strict"))
TEXT_PROTOCOLS = _both(
    replace(
        strict(_free("anls", _nearest(anls), "strict"), _free("anls_05", _nearest(anls_05), "strict")),
        read=read_text,
        threshold=AGREEMENT_ANLS,
        tolerance=f"with a text similarity (ANLS) of at least {AGREEMENT_ANLS:g}",
    ),
    _published(
        released.read_whole_text,
        _free("anls_05", _same_text_05, "published", worst=0.0),
        _free("anls", _same_text, "published", worst=0.0),
        unreadable="worst",
    )
    | {"as-replied": replace(AS_REPLIED, name="as-replied")},
)
"""The first metric under `published` is that of Table 5; for OCR it has the threshold of the script, which Eq. 3 lacks,
so `strict` and `as-replied` give both with `anls` first."""
