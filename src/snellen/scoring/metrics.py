"""Metrics: pure functions of the true answer and the prediction.

Every function takes the true answer first and the prediction second, both in the item's own terms, and returns a plain
float. Replies are read by `snellen.scoring.answers`; unreadable ones are scored by protocols. The chance level of a
free answer has no formula: it is the mean score of one item's truth given to another item of the task.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from snellen.core.colour import srgb_to_lab
from snellen.core.item import Box


def exact_match(answer: Any, prediction: Any) -> float:
    """1.0 if `prediction` is `answer`, else 0.0. Higher is better; chance is one over the number of options.

    Lists and tuples with equal elements are equal, since JSON turns tuples into lists.
    """
    return float(_plain(answer) == _plain(prediction))


def _plain(value: Any) -> Any:
    return tuple(_plain(part) for part in value) if isinstance(value, list | tuple) else value


def _area(box: Box) -> float:
    """The area of [x1, y1, x2, y2]; 0 if the corners are exchanged."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def _overlap(answer: Box, prediction: Box) -> tuple[float, float]:
    """Areas of the intersection and of the union."""
    (ax1, ay1, ax2, ay2), (bx1, by1, bx2, by2) = answer, prediction
    both = _area((max(ax1, bx1), max(ay1, by1), min(ax2, bx2), min(ay2, by2)))
    return both, _area(answer) + _area(prediction) - both


def iou(answer: Box, prediction: Box) -> float:
    """Intersection over union of two boxes [x1, y1, x2, y2] in the same pixels: 0 to 1, higher is better.

    Two boxes without area score 1 if they are equal, else 0.
    """
    both, either = _overlap(answer, prediction)
    if either <= 0:
        return exact_match(list(answer), list(prediction))
    return both / either


def giou(answer: Box, prediction: Box) -> float:
    """Generalised intersection over union (Rezatofighi et al. 2019): above -1 to 1, higher is better.

    It is the intersection over union minus the empty share of the smallest box around both, so that of two misses the
    nearer one scores higher. The worst score, given to a reply without a box, is -1.
    """
    hull = _area(
        (
            min(answer[0], prediction[0]),
            min(answer[1], prediction[1]),
            max(answer[2], prediction[2]),
            max(answer[3], prediction[3]),
        )
    )
    overlap = iou(answer, prediction)
    if hull <= 0:
        return overlap
    return overlap - (hull - _overlap(answer, prediction)[1]) / hull


def mae_over_gt(answer: float, prediction: float) -> float:
    """|prediction - answer| / answer: the error as a share of the truth, 0 to infinity, lower is better.

    Raises ValueError if the truth is not positive, since the share is then undefined.
    """
    if answer <= 0:
        raise ValueError(f"mae_over_gt needs a positive true value, not {answer}")
    return abs(prediction - answer) / answer


def ciede2000(answer: Sequence[float], prediction: Sequence[float]) -> float:
    """CIEDE2000 difference of two sRGB colours (three numbers 0..255 each): 0 to about 119.3, lower is better.

    sRGB is linearised, converted to CIE L*a*b* under D65 (2 degree observer) and compared with kL = kC = kH = 1. A
    difference of 1 is about the smallest that people see (Sharma, Wu and Dalal 2005, equations 2 to 22). The worst
    score, given to a reply without a colour, is that of the two most different sRGB colours.
    """
    (lightness, *_), (other_lightness, *_) = lab = srgb_to_lab([answer, prediction]).tolist()
    chroma, other_chroma, hue, other_hue = _chromas_and_hues(lab)
    mean_lightness, mean_chroma = (lightness + other_lightness) / 2, (chroma + other_chroma) / 2
    turn, mean_hue = other_hue - hue, (hue + other_hue) / 2
    if chroma * other_chroma == 0:  # grey has no hue: use that of the other colour
        turn, mean_hue = 0.0, hue + other_hue
    elif abs(turn) > 180:  # the short way round
        turn -= math.copysign(360, turn)
        mean_hue += 180 if mean_hue < 180 else -180
    from_middle = (mean_lightness - 50) ** 2
    hue_weight = (
        1
        - 0.17 * _cos(mean_hue - 30)
        + 0.24 * _cos(2 * mean_hue)
        + 0.32 * _cos(3 * mean_hue + 6)
        - 0.20 * _cos(4 * mean_hue - 63)
    )
    light_part = (other_lightness - lightness) / (1 + 0.015 * from_middle / math.sqrt(20 + from_middle))
    chroma_part = (other_chroma - chroma) / (1 + 0.045 * mean_chroma)
    hue_part = 2 * math.sqrt(chroma * other_chroma) * math.sin(math.radians(turn / 2))
    hue_part /= 1 + 0.015 * mean_chroma * hue_weight
    rotation = -2 * _saturation(mean_chroma) * math.sin(math.radians(60 * math.exp(-(((mean_hue - 275) / 25) ** 2))))
    squared = light_part**2 + chroma_part**2 + hue_part**2 + rotation * chroma_part * hue_part
    return math.sqrt(max(squared, 0.0))


def _chromas_and_hues(lab: list[list[float]]) -> tuple[float, float, float, float]:
    """C' and C', h' and h' (degrees, 0 to 360) of two colours, with a* stretched if both are pale."""
    chroma = sum(math.hypot(a, b) for _, a, b in lab) / 2
    stretch = 1.5 - 0.5 * _saturation(chroma)
    (a, b), (other_a, other_b) = ((stretch * a, b) for _, a, b in lab)
    hue, other_hue = (math.degrees(math.atan2(*point)) % 360 for point in ((b, a), (other_b, other_a)))
    return math.hypot(a, b), math.hypot(other_a, other_b), hue, other_hue


def _saturation(chroma: float) -> float:
    return math.sqrt(chroma**7 / (chroma**7 + 25**7))


def _cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))


def anls(answer: str, prediction: str) -> float:
    """1 - Levenshtein distance / length of the longer text: 0 to 1, higher is better.

    Case and the amount of white space between words do not count. Two empty texts score 1.0, for which the formula
    would divide zero by zero. Texts with over `MOST_CELLS` pairs of characters are compared block by block, which takes
    time proportional to their length and may give a lower score, never a higher one.
    """
    return _similarity(answer, prediction, 0.0)


def _similarity(answer: str, prediction: str, least: float) -> float:
    """`anls`, or 0 if the lengths alone show that it is at most `least`."""
    text, other = (" ".join(text.lower().split()) for text in (answer, prediction))
    shorter, longer = sorted((len(text), len(other)))
    if shorter <= least * longer:
        return float(longer == 0)
    block = BLOCK if shorter * longer > MOST_CELLS else longer
    parts = (slice(start, start + block) for start in range(0, longer, block))
    return 1.0 - sum(levenshtein(text[part], other[part]) for part in parts) / longer


MOST_CELLS, BLOCK = 4 * 10**9, 10_000
"""The greatest table of distances between two texts, and characters of the blocks of longer texts."""
WIDEST = 20_000
"""Characters of the longer text beyond which the bits stand for the shorter one."""


def levenshtein(text: str, other: str) -> int:
    """The number of insertions, deletions and replacements from one text to the other: 0 to the longer length.

    A column of the table of distances is stored as two bit rows, of its rises and its falls by one, so that every
    character of the shorter text (beyond `WIDEST`, of the longer one) costs a few integer operations (Myers 1999, in
    the form of Hyyrö 2003, figure 3).
    """
    text, other = sorted((text, other), key=len, reverse=max(len(text), len(other)) > WIDEST)
    if not text or not other:
        return max(len(text), len(other))
    places: dict[str, int] = {}
    for place, char in enumerate(other):
        places[char] = places.get(char, 0) | 1 << place
    every, last = (1 << len(other)) - 1, 1 << len(other) - 1
    rises, falls, distance = every, 0, len(other)
    for char in text:
        same = places.get(char, 0)
        level = (((same & rises) + rises) ^ rises) | same | falls
        rises_across, falls_across = falls | ~(level | rises), level & rises
        distance += bool(rises_across & last) - bool(falls_across & last)
        rises_across, falls_across = rises_across << 1 | 1, falls_across << 1
        rises, falls = (falls_across | ~(level | rises_across)) & every, rises_across & level & every
    return distance


def anls_05(answer: str, prediction: str) -> float:
    """`anls`, but 0 unless it is above one half (Biten et al. 2019): 0, or above 0.5 to 1; higher is better."""
    near = _similarity(answer, prediction, 0.5)
    return near if near > 0.5 else 0.0


ACC_NUM_LONGEST = 4
ACC_NUM_EXPONENT = 0.1


def acc_num(answer: int, prediction: int, length: int) -> float:
    """Closeness of a count (VLM2-Bench): 0 to 1, higher is better; chance is `expected_acc_num(length)`.

    1 for the right count. Else 1 - w eps^0.1, at least 0, with w = 4 / length and the error as a share of the largest
    possible one, eps = |prediction - answer| / max(answer - 1, length - answer). `length` is the number of images. The
    paper and its code write the same in percent. The paper prints neither the clamp at 0 nor the sign of the exponent
    in its released code, but its printed chance levels need both. A count outside 1..length gets 0, since the formula
    does not cover it. Raises ValueError for a true count outside 1..length.
    """
    if length < 1 or not 1 <= answer <= length:
        raise ValueError(f"acc_num needs a true count in 1..{length}, not {answer}")
    if prediction == answer:
        return 1.0
    if not 1 <= prediction <= length:
        return 0.0
    share = abs(prediction - answer) / max(answer - 1, length - answer)
    return max(0.0, 1.0 - ACC_NUM_LONGEST / length * float(share**ACC_NUM_EXPONENT))


def expected_acc_num(length: int) -> float:
    """The mean `acc_num` of a uniform guess in 1..length for a uniform truth: 0.5 for 2 images."""
    counts = range(1, length + 1)
    return sum(acc_num(answer, prediction, length) for answer in counts for prediction in counts) / length**2


PEERS = 24
"""The number of other items' answers over which the chance of a free answer is averaged."""


def peers(index: int, count: int) -> list[int]:
    """The indices of up to `PEERS` of `count` items other than the one at `index`, evenly spread; none for one item."""
    some = min(PEERS, count - 1)
    return [(index + 1 + n * (count - 1) // some) % count for n in range(some)]
