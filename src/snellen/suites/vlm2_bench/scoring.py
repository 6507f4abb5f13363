"""Scoring of VLM2-Bench: `strict`, `published` (as the authors' scripts) and `vlmevalkit`.

The last two follow the released scripts (vlm2-bench/VLM2-Bench, May 2025; open-compass/VLMEvalKit, class VLM2Bench)
even if they differ from the paper; `suite.yaml` lists the differences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial, wraps
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from snellen.core.item import Item, Option, ReplySpec
from snellen.core.response import Response
from snellen.core.score import Metric, Protocol
from snellen.curation.steps import step_item
from snellen.scoring.answers import read_exactly
from snellen.scoring.answers.plain import without_thoughts
from snellen.scoring.answers.vocabulary import ONES, TENS
from snellen.scoring.metrics import ACC_NUM_EXPONENT, ACC_NUM_LONGEST, acc_num, expected_acc_num
from snellen.scoring.protocols import ACCURACY, all_right, by_item, correct, guess, strict
from snellen.suites.vlm2_bench import prompts

# Readers of the released scripts. Each maps a reply and its spec to an answer in the item's terms.

_TRUTHS = {"T": "true", "F": "false"}
_TRUTH_WORD = re.compile(r"\b(t|f|true|false)\b", re.IGNORECASE)
_WORDS = {word: number for number, word in enumerate(ONES.split())}
_WORDS |= {word: 10 * number for number, word in enumerate(TENS.split(), 2)} | {"hundred": 100, "thousand": 1000}
_NUMBER_WORD = re.compile(rf"\b({'|'.join(_WORDS)})\b")
_BEYOND = 10**9
"""Represents numbers of more than nine digits, which no count reaches."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERED = re.compile(r"\([A-Z]\)")


def read_bare_truth(text: str, spec: ReplySpec) -> str | None:
    """Read exactly `T` or `F`, letter for letter (the authors' script for GC)."""
    return _TRUTHS.get(text.strip())


def read_one_truth(text: str, spec: ReplySpec) -> str | None:
    """The only t, f, true or false that is a separate word, in any case; None for none or several.

    The authors' script for OC and PC, and VLMEvalKit's for all statements.
    """
    words = _TRUTH_WORD.findall(text)
    return _TRUTHS[words[0][0].upper()] if len(words) == 1 else None


def read_one_number(text: str, spec: ReplySpec) -> int | None:
    """The only number of a text; None for none or several.

    Every run of digits is a number (signs and points are ignored). All English number words of the text together form
    one more number, ignored if it is 0.
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
    """The option whose letter alone precedes the first `)`; None if several `(A)` are named.

    Letters follow the order of the options. `A) 1 and 3` and `A` name the first; `(A)`, `a` and `The answer is A)` name
    none.
    """
    if len(_LETTERED.findall(text)) > 1:
        return None
    return dict(zip(_LETTERS, spec.offered, strict=False)).get(text.split(")")[0].strip())


_FIRST_SCORE = re.compile(r"Score:\s*(\d+)")
_ANY_SCORE = re.compile(r"\bscore[\s*_\"'`]{0,9}[:=][\s*_\"'`]{0,9}([+-]?\d{1,20}(?:[.,]\d{1,20})?)", re.IGNORECASE)


def read_first_score(text: str, spec: ReplySpec) -> int | None:
    """The first whole number directly after `Score:` in a judge's reply, in any range (the authors' script)."""
    match = _FIRST_SCORE.search(text)
    return (int(match[1]) if len(match[1]) < 10 else _BEYOND) if match else None


def read_last_score(text: str, spec: ReplySpec) -> int | None:
    """The last `Score: n` of a judge's reply, or a reply that consists of n alone; None unless n is offered.

    The last one, since judges often repeat what `Score: 0` means before they decide.
    """
    reply = without_thoughts(text)
    scores = _ANY_SCORE.findall(reply)
    number = scores[-1] if scores else read_exactly(reply, spec)
    return int(number) if number in spec.offered else None


# Metrics


def _images(item: Item) -> int:
    return len(item.query)


def kit_acc_num(answer: int, prediction: int, length: int) -> float:
    """`acc_num` of VLMEvalKit, 0 to 1, higher is better, which does not check that 1 <= prediction <= length.

    1 - 4 / length (|prediction - answer| / max(answer - 1, length - answer))^0.1, at least 0: for four images with
    answer 1, a count of 0 scores as much as a count of 2.
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
"""The best possible score of a description, by the pattern of its video."""


PAIR_ACCURACY = Metric("pair_accuracy", correct, chance=guess, binary=True)
"""Equation 2: share of pairs of statements with both answers right, 0 to 1. Chance is that of independent guesses, 1/4;
the paper prints 1/2 for Cpr, since it lets one guess decide both statements."""
ALIKE_PAIRS = Metric(
    "alike_pairs",
    correct,
    worst=math.nan,
    higher_is_better=False,
    binary=True,
    title="pairs answered alike",
    remark="pairs answered alike: {value}",
)
"""Share of pairs with the same answer twice, 0 to 1, among pairs with two readable answers. Perfect answers score 0,
but so does any rule that answers oppositely: it has no chance level, and is not graded."""
OPPOSITE_PAIR_ACCURACY = Metric(
    "opposite_pair_accuracy",
    correct,
    worst=math.nan,
    chance=guess,
    binary=True,
    title="right among pairs answered oppositely",
    remark="oppositely: {value} of {n} right",
)
"""Share of pairs with both answers right, 0 to 1, among those with different keys and different answers. Chance is 1/2,
whatever the bias of the guesser."""
COUNT_CLOSENESS = "closeness of the count"
ACC_NUM = Metric("acc_num", _near, chance=_guessed_count, title=COUNT_CLOSENESS)
"""Equations 3 and 4, 0 to 1. A count outside 1..L and a reply without a count get 0."""
PUBLISHED_ACC_NUM = Metric("acc_num", _near_if_possible, worst=math.nan, chance=_guessed_count, title=COUNT_CLOSENESS)
"""The same, but unreadable counts and those outside 1..L are left out of the mean; `accuracy` counts them as wrong."""
KIT_ACC_NUM = Metric("acc_num", _kit_near, chance=_guessed_count, title=COUNT_CLOSENESS)
JUDGE_SCORE = Metric("judge_score", lambda item, prediction: prediction / TOP[item.factors["pattern"]])
"""The judge's score divided by the best possible one (`TOP`), 0 to 1. Its chance level is unknown."""
PUBLISHED_JUDGE_SCORE = replace(JUDGE_SCORE, bounds=None)
"""The same for any number that the judge wrote."""


# Units: score rows of one metric and repeat -> one row per scored unit. A pair with an unscored item is left out.


def _by_group(score_group: Callable[[pd.DataFrame], tuple[float, float]]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Make a function of all score rows, with one row per group, of one from a group's rows to (value, chance)."""

    @wraps(score_group)
    def by_group(scores: pd.DataFrame) -> pd.DataFrame:
        rows = {
            str(name): (group["cluster_id"].iloc[0], *score_group(group))
            for name, group in scores.groupby("group_id", sort=False)
        }
        units = pd.DataFrame(list(rows.values()), columns=["cluster_id", "value", "chance"], dtype=object)
        units.index = pd.Index(list(rows), name="group_id")
        return units.astype({"value": float, "chance": float})

    return by_group


@_by_group
def any_of_each(scores: pd.DataFrame) -> tuple[float, float]:
    """The authors' GC pairs: a `q_id` is right if ANY of its true statements and ANY of its false ones is right."""
    sides = [scores[scores["truth"] == f'"{truth}"'] for truth in _TRUTHS.values()]
    chance = math.prod(1 - math.prod(1 - side["chance"]) for side in sides)
    if scores["value"].isna().any():
        return math.nan, chance
    return min(float(side["value"].max()) if len(side) else 0.0 for side in sides), chance


@_by_group
def last_of_each(scores: pd.DataFrame) -> tuple[float, float]:
    """The authors' Cpr pairs: the last positive and the last negative statement of an id; without both, no unit.

    Item ids of Cpr end in `-p` or `-n` for the wording, which the question shows anyway; this is not the answer.
    """
    marks = scores["item_id"].str[-2:]
    last = scores[marks.isin(["-p", "-n"]) & ~marks.duplicated(keep="last")]
    return (math.prod(last["value"]), math.prod(last["chance"])) if len(last) == 2 else (math.nan, math.nan)


@_by_group
def all_of_two(scores: pd.DataFrame) -> tuple[float, float]:
    """VLMEvalKit's pairs: all records of a group must be right; a group of one is counted as wrong."""
    if len(scores) < 2:
        return 0.0, 0.0
    return math.prod(scores["value"]), math.prod(scores["chance"])


def _true_counts(scores: pd.DataFrame) -> tuple[Any, Any]:
    """Numbers of true keys and of answers "true" by group; NaN for answers if one is unread, or if it is no pair."""
    groups, values = pd.factorize(scores["group_id"])[0], scores["value"].to_numpy(float)
    keys = (scores["truth"] == '"true"').to_numpy(bool)
    answers = np.bincount(groups, np.where(np.isnan(values), math.nan, (values == 1.0) == keys))
    return np.bincount(groups, keys), np.where(np.bincount(groups) == 2, answers, math.nan)


def opposite_pairs(scores: pd.DataFrame) -> pd.DataFrame:
    """Pairs with different keys and different answers, of which both are right or neither; others have no value."""
    keys, answers = _true_counts(scores)
    units = all_right(scores)
    return units.assign(value=units["value"].where((keys == 1) & (answers == 1)), chance=0.5)


def alike_pairs(scores: pd.DataFrame) -> pd.DataFrame:
    """Pairs with two readable answers: 1 if these are the same.

    Scores of blind rules have no column `prediction`. They get no value: with a blind baseline it would be graded.
    """
    answers = _true_counts(scores)[1]
    known = ~np.isnan(answers) & ("prediction" in scores)
    return all_right(scores).assign(value=np.where(known, answers != 1, math.nan), chance=math.nan)


def pairs_or_items(scores: pd.DataFrame, pair_units: Callable[[pd.DataFrame], pd.DataFrame]) -> pd.DataFrame:
    """The scored units of one metric: single records for `accuracy`, pairs for the others."""
    units = {ACCURACY.name: by_item, ALIKE_PAIRS.name: alike_pairs, OPPOSITE_PAIR_ACCURACY.name: opposite_pairs}
    return units.get(next(iter(scores["metric"]), ""), pair_units)(scores)


def patterns_alike(scores: pd.DataFrame) -> pd.DataFrame:
    """One unit per video, weighted so that the plain mean is the mean of the two patterns' means.

    Score rows lack the pattern of the video; it is the end of the group id (`-PQ` or `-PQP`), which is never shown. If
    both patterns have equally many scored videos, all weights are 1.
    """
    units = by_item(scores).copy()
    pattern = scores["group_id"].str.extract(r"-(PQP?)$")[0].fillna("")
    answered = units["value"].notna()
    each = pattern[answered].value_counts()
    weight = pattern.map(answered.sum() / (len(each) * each)) if len(each) else 1.0
    return units.assign(value=units["value"] * weight, chance=units["chance"] * weight, weight=weight)


# The judge of descriptions


def judgement(item: Item, response: Response) -> Item:
    """The judge's item about a description (Tables 14 and 15), text only: the video is not shown.

    It belongs to no task of a suite; its id is that of the response, so that the verdict can be matched to it.
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


# Protocols by kind of question


def _named(*protocols: Protocol) -> Mapping[str, Protocol]:
    return MappingProxyType({protocol.name: protocol for protocol in protocols})


def _pairs(
    name: str, read: Callable[[str, ReplySpec], Any], pair_units: Callable[[pd.DataFrame], pd.DataFrame]
) -> Protocol:
    return Protocol(name, read, PAIR_METRICS, partial(pairs_or_items, pair_units=pair_units))


PAIR_METRICS = PAIR_ACCURACY, ACCURACY, ALIKE_PAIRS, OPPOSITE_PAIR_ACCURACY
STRICT_PAIRS = strict(*PAIR_METRICS, units=partial(pairs_or_items, pair_units=all_right))
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
"""`published` also leaves out videos without a description, which the script would have judged."""
