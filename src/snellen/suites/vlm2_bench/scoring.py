"""How VLM2-Bench is scored: `strict`, `published` (what the authors' scripts do) and `vlmevalkit`.

Both scripts were read as released (vlm2-bench/VLM2-Bench, May 2025; open-compass/VLMEvalKit, class VLM2Bench). Where
they are stranger than the paper they are followed here all the same, and `suite.yaml` says so.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd

from snellen.core.item import Item, Option, ReplySpec
from snellen.core.response import Response
from snellen.core.score import Metric, Protocol
from snellen.curation.steps import step_item
from snellen.scoring.answers import read_exactly
from snellen.scoring.answers.numbers import ONES, TENS
from snellen.scoring.answers.plain import without_thoughts
from snellen.scoring.metrics import ACC_NUM_EXPONENT, ACC_NUM_LONGEST, acc_num, expected_acc_num
from snellen.scoring.protocols import ACCURACY, all_right, by_item, correct, guess, strict
from snellen.suites.vlm2_bench import prompts

# Reading, as the released scripts do it. Each leads from a reply and its spec to an answer in the item's own terms.

_TRUTHS = {"T": "true", "F": "false"}
_TRUTH_WORD = re.compile(r"\b(t|f|true|false)\b", re.IGNORECASE)
_WORDS = {word: number for number, word in enumerate(ONES.split())}
_WORDS |= {word: 10 * number for number, word in enumerate(TENS.split(), 2)} | {"hundred": 100, "thousand": 1000}
_NUMBER_WORD = re.compile(rf"\b({'|'.join(_WORDS)})\b")
_BEYOND = 10**9
"""Stands for numbers of more than nine digits, which no count reaches."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERED = re.compile(r"\([A-Z]\)")


def read_bare_truth(text: str, spec: ReplySpec) -> str | None:
    """`T` or `F` and nothing else, letter for letter (the authors' script for GC)."""
    return _TRUTHS.get(text.strip())


def read_one_truth(text: str, spec: ReplySpec) -> str | None:
    """The only t, f, true or false that stands as a word of its own, in any case; None for none or several.

    The authors' script for OC and PC, and VLMEvalKit's for all statements.
    """
    words = _TRUTH_WORD.findall(text)
    return _TRUTHS[words[0][0].upper()] if len(words) == 1 else None


def read_one_number(text: str, spec: ReplySpec) -> int | None:
    """The only number of a text; None for none or several.

    Every run of digits is a number (signs and points do not count). All English number words of the text together are
    one more, which is none if it comes to 0.
    """
    small = text.lower()
    numbers = [int(run) if len(run) < 10 else _BEYOND for run in re.findall(r"\d+", small)]
    if spoken := _spoken(_NUMBER_WORD.findall(small)):
        numbers.append(spoken)
    return numbers[0] if len(numbers) == 1 else None


def _spoken(words: list[str]) -> int:
    total = current = 0
    for worth in map(_WORDS.__getitem__, words):
        if worth in (100, 1000):
            total, current = total + max(current, 1) * worth, 0
        else:
            current += worth
    return min(total + current, _BEYOND)


def read_letter_before_bracket(text: str, spec: ReplySpec) -> str | None:
    """The option whose letter is all that stands before the first `)`; None if several `(A)` are named.

    Letters run in the order of what is offered. `A) 1 and 3` and `A` name the first; `(A)`, `a` and `The answer is A)`
    name none.
    """
    if len(_LETTERED.findall(text)) > 1:
        return None
    return dict(zip(_LETTERS, spec.offered, strict=False)).get(text.split(")")[0].strip())


_FIRST_SCORE = re.compile(r"Score:\s*(\d+)")
_ANY_SCORE = re.compile(r"\bscore[\s*_\"'`]{0,9}[:=][\s*_\"'`]{0,9}([+-]?\d{1,20}(?:[.,]\d{1,20})?)", re.IGNORECASE)


def read_first_score(text: str, spec: ReplySpec) -> int | None:
    """The first whole number right behind `Score:` in a judge's reply, whatever it is (the authors' script)."""
    match = _FIRST_SCORE.search(text)
    return (int(match[1]) if len(match[1]) < 10 else _BEYOND) if match else None


def read_last_score(text: str, spec: ReplySpec) -> int | None:
    """The last `Score: n` of a judge's reply, or a reply that is nothing but n; None unless n is offered.

    The last one, because judges like to repeat what `Score: 0` means before they decide.
    """
    reply = without_thoughts(text)
    scores = _ANY_SCORE.findall(reply)
    number = scores[-1] if scores else read_exactly(reply, spec)
    return int(number) if number in spec.offered else None


# Metrics


def _images(item: Item) -> int:
    return len(item.query)


def kit_acc_num(answer: int, prediction: int, length: int) -> float:
    """`acc_num` as VLMEvalKit has it, 0 to 1, higher is better: without a look at whether 1 <= said <= length.

    1 - 4 / length (|said - answer| / max(answer - 1, length - answer))^0.1, at least 0: of four images a count of 0
    for 1 earns as much as a count of 2.
    """
    if prediction == answer:
        return 1.0
    share = abs(prediction - answer) / max(answer - 1, length - answer, 1)
    return max(0.0, 1.0 - ACC_NUM_LONGEST / length * float(share**ACC_NUM_EXPONENT))


def _near(item: Item, prediction: int) -> float:
    return acc_num(int(item.answer), prediction, _images(item))


def _near_if_possible(item: Item, prediction: int) -> float:
    return _near(item, prediction) if 1 <= prediction <= _images(item) else math.nan


def _kit_near(item: Item, prediction: int) -> float:
    return kit_acc_num(int(item.answer), prediction, _images(item))


def _guessed_count(item: Item) -> float:
    return expected_acc_num(_images(item))


TOP = {"PQ": 1, "PQP": 2}
"""The best score a description can get, by the pattern of its video."""


def _of_top(item: Item, prediction: int) -> float:
    return prediction / TOP[item.factors["pattern"]]


PAIR_ACCURACY = Metric("pair_accuracy", correct, chance=guess, binary=True)
"""Equation 2: share of pairs of statements that are both answered right, 0 to 1. Chance is that of independent guesses,
1/4; the paper prints 1/2 for Cpr, where it lets one guess decide both statements."""
ACC_NUM = Metric("acc_num", _near, chance=_guessed_count)
"""Equations 3 and 4, 0 to 1. A count outside 1..L and a reply without one get 0."""
PUBLISHED_ACC_NUM = Metric("acc_num", _near_if_possible, worst=math.nan, chance=_guessed_count)
"""The same, but what cannot be read, or lies outside 1..L, is left out of the mean; `accuracy` counts it as wrong."""
KIT_ACC_NUM = Metric("acc_num", _kit_near, chance=_guessed_count)
JUDGE_SCORE = Metric("judge_score", _of_top)
"""The judge's score over the best one there is (`TOP`), 0 to 1. What blind guessing gets is not known."""
PUBLISHED_JUDGE_SCORE = replace(JUDGE_SCORE, bounds=None)
"""The same of whatever number the judge wrote."""


# Units: score rows of one metric and repeat -> one row a scored unit. A pair with an unheard item is none.


def _by_group(scores: pd.DataFrame, score_group: Callable[[pd.DataFrame], tuple[float, float]]) -> pd.DataFrame:
    """One row a group; `score_group` leads from its rows to (value, chance)."""
    rows = {
        str(name): (group["cluster_id"].iloc[0], *score_group(group))
        for name, group in scores.groupby("group_id", sort=False)
    }
    units = pd.DataFrame(list(rows.values()), columns=["cluster_id", "value", "chance"], dtype=object)
    units.index = pd.Index(list(rows), name="group_id")
    return units.astype({"value": float, "chance": float})


def _any_of_each(scores: pd.DataFrame) -> tuple[float, float]:
    sides = [scores[scores["truth"] == f'"{truth}"'] for truth in _TRUTHS.values()]
    chance = math.prod(1 - math.prod(1 - side["chance"]) for side in sides)
    if scores["value"].isna().any():
        return math.nan, chance
    return min(float(side["value"].max()) if len(side) else 0.0 for side in sides), chance


def any_of_each(scores: pd.DataFrame) -> pd.DataFrame:
    """The authors' GC pairs: a `q_id` is right if ANY of its true statements and ANY of its false ones is."""
    return _by_group(scores, _any_of_each)


def _last_of_each(scores: pd.DataFrame) -> tuple[float, float]:
    marks = scores["item_id"].str[-2:]
    last = scores[marks.isin(["-p", "-n"]) & ~marks.duplicated(keep="last")]
    return (math.prod(last["value"]), math.prod(last["chance"])) if len(last) == 2 else (math.nan, math.nan)


def last_of_each(scores: pd.DataFrame) -> pd.DataFrame:
    """The authors' Cpr pairs: the last positive and the last negative statement of an id; without both, no unit.

    Item ids of Cpr end in `-p` or `-n`: the wording, which the question shows anyway, not the answer.
    """
    return _by_group(scores, _last_of_each)


def _all_of_two(scores: pd.DataFrame) -> tuple[float, float]:
    if len(scores) < 2:
        return 0.0, 0.0
    return math.prod(scores["value"]), math.prod(scores["chance"])


def all_of_two(scores: pd.DataFrame) -> pd.DataFrame:
    """VLMEvalKit's pairs: all records of a group must be right; a group of one counts and is never right."""
    return _by_group(scores, _all_of_two)


def pairs_or_items(scores: pd.DataFrame, pair_units: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """Pairs for `pair_accuracy`, single records for `accuracy`."""
    return pair_units(scores) if (scores["metric"] == PAIR_ACCURACY.name).all() else by_item(scores)


def patterns_alike(scores: pd.DataFrame) -> pd.DataFrame:
    """Every video is a unit, weighed so that the plain mean is the mean of the two patterns' means.

    A score row does not hold the pattern of its video; the group does, whose id ends in `-PQ` or `-PQP` and is never
    shown. With as many heard videos of either pattern every weight is 1, and values stay as they are.
    """
    units = by_item(scores).copy()
    pattern = scores["group_id"].str.extract(r"-(PQP?)$")[0].fillna("")
    answered = units["value"].notna()
    each = pattern[answered].value_counts()
    weight = pattern.map(answered.sum() / (len(each) * each)) if len(each) else 1.0
    return units.assign(value=units["value"] * weight, chance=units["chance"] * weight, weight=weight)


# The judge of descriptions


def judgement(item: Item, response: Response) -> Item:
    """What a judge is asked about a description (Tables 14 and 15): words alone, the video is not shown.

    The item belongs to no suite's tasks; its id is that of the response, by which the verdict is found again.
    """
    pattern = item.factors["pattern"]
    wording = prompts.JUDGE_THREE_PARTS if pattern == "PQP" else prompts.JUDGE_TWO_PARTS
    return step_item(
        "judgement",
        response.response_id,
        wording.format(description=response.text or "", **prompts.JUDGED_NOUNS[item.task]),
        (),
        "integer",
        item.cluster_id,
        options=tuple(Option(str(score)) for score in range(TOP[pattern] + 1)),
        provenance={"suite": item.suite, "task": item.task},
    )


# Protocols by what is asked


def _named(*protocols: Protocol) -> Mapping[str, Protocol]:
    return MappingProxyType({protocol.name: protocol for protocol in protocols})


def _pairs(
    name: str, read: Callable[[str, ReplySpec], Any], pair_units: Callable[[pd.DataFrame], pd.DataFrame]
) -> Protocol:
    return Protocol(name, read, (PAIR_ACCURACY, ACCURACY), partial(pairs_or_items, pair_units=pair_units))


STRICT_PAIRS = strict(PAIR_ACCURACY, ACCURACY, units=partial(pairs_or_items, pair_units=all_right))
KIT_PAIRS = _pairs("vlmevalkit", read_one_truth, all_of_two)
CUES = _named(STRICT_PAIRS, _pairs("published", read_bare_truth, any_of_each), KIT_PAIRS)
COMPARISONS = _named(STRICT_PAIRS, _pairs("published", read_one_truth, last_of_each), KIT_PAIRS)
COUNTING = _named(
    strict(ACC_NUM, ACCURACY),
    Protocol("published", read_one_number, (PUBLISHED_ACC_NUM, ACCURACY), by_item),
    Protocol("vlmevalkit", read_one_number, (KIT_ACC_NUM, ACCURACY), by_item),
)
GROUPING = _named(
    strict(),
    Protocol("published", read_letter_before_bracket, (ACCURACY,), by_item),
    Protocol("vlmevalkit", read_letter_before_bracket, (ACCURACY,), by_item),
)
DESCRIBING = _named(
    Protocol("strict", read_last_score, (JUDGE_SCORE,), patterns_alike, judge=judgement),
    Protocol("published", read_first_score, (PUBLISHED_JUDGE_SCORE,), patterns_alike, "left out", judgement),
)
"""Under `published` a video without a description is left out as well, where the script would have it judged."""
