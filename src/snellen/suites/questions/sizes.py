"""Sets whose questions are about images at levels from full size down: threshold, size kept, and who asks what.

The main metric is the size kept: the least level that keeps 95 % of what is right at full size (`scoring.kept_size`).
First every question is asked about a grey image, with the options in several orders, and struck if it is right more
often than guessing explains. Then QUEST+ chooses the level of each question. At last 40 questions are asked at full
size and at the next level above the size kept, and at higher ones while the loss is above zero; only then does the note
give advice, with the loss in these pairs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from statistics import median
from typing import NamedTuple

import numpy as np

from snellen.core.hashing import digest
from snellen.core.item import Item
from snellen.core.score import BELOW, MEASURED, NOT_UNDERSTOOD, Measurement, Metric, Protocol
from snellen.core.suite import Schedule, Trial
from snellen.scoring.kept_size import (
    Loss,
    Reduction,
    ReductionGrid,
    is_blind,
    next_levels,
    paired_loss,
    posterior_of_images,
    reduction,
    reduction_grid,
)
from snellen.scoring.protocols import guess
from snellen.subjects.chat.limits import image_tokens
from snellen_sight.psychometric import CREDIBLE, Floats

LEVELS = tuple(2.0 ** (-step / 3) for step in range(13))
"""Levels from full size to 1/16, in equal ratios. What they mean for other reductions: `reduced.recipe`."""
ANSWERS, ANSWERS_OF_TWO, BATCH = 60, 120, 8
"""Answers in search of the threshold, with two options, and between two choices of levels."""
PAIRS = 40
"""Paired questions before advice is given."""
LEAST_SEEN = 0.2
"""The share right at full size above guessing below which there is no size kept."""
MOST_GUESSED = 0.5
PRICED = ("claude", "gpt-4o")
"""Models by whose published rules tokens are given: those of other models differ."""


class Reading(NamedTuple):
    """The fit of a subject's answers, and the pairs: by question, whether it is right at full size and at the level."""

    fit: Reduction
    struck: frozenset[str]
    guess: float
    pair_level: int
    pairs: Mapping[str, tuple[bool, bool]]

    @property
    def loss(self) -> Loss:
        """The share right that is lost in the pairs. There must be pairs."""
        return paired_loss(*zip(*self.pairs.values(), strict=True))


def is_reduced(item: Item) -> bool:
    """True for items of a set with levels."""
    return "sent_level" in item.measures


def key_text(item: Item) -> str:
    """The right answer in words: yes or no for a statement, else the text of the right option."""
    if isinstance(item.answer, bool):
        return "yes" if item.answer else "no"
    return next((option.text for option in item.options if option.key == item.answer), str(item.answer))


def level_of(item: Item) -> int:
    """The index of an item's level; -1 if its image is grey."""
    return round(item.measures["sent_level"])


def guess_of(items: Sequence[Item]) -> float:
    """The mean share right by guessing, at most `MOST_GUESSED`; of free answers by other items' answers."""
    shares = [guess(item) for item in items]
    shares = [
        item.measures.get("chance_accuracy", 0.0) if math.isnan(g) else g for item, g in zip(items, shares, strict=True)
    ]
    return min(MOST_GUESSED, sum(shares) / len(shares)) if shares else 0.0


@cache
def grid_at(guess_percent: int) -> ReductionGrid:
    """The grid for a share right by guessing, in percent."""
    return reduction_grid(np.log10(LEVELS).tolist(), guess_percent / 100)


def struck_questions(items: Sequence[Item], errors: Mapping[str, float]) -> frozenset[str]:
    """The questions whose answers are right without their image more often than guessing explains."""
    by_question: dict[str, list[Item]] = {}
    for item in items:
        if level_of(item) < 0 and not math.isnan(errors.get(item.item_id, math.nan)):
            by_question.setdefault(item.group_id, []).append(item)
    return frozenset(
        question
        for question, blind in by_question.items()
        if is_blind([errors[item.item_id] < 0.5 for item in blind], guess_of(blind))
    )


def weights_of(
    reductions: ReductionGrid, items: Sequence[Item], errors: Mapping[str, float], struck: frozenset[str]
) -> Floats:
    """The posterior of the grid after the answers to items with images whose questions are not struck."""
    scored = [
        i
        for i in items
        if level_of(i) >= 0 and i.group_id not in struck and not math.isnan(errors.get(i.item_id, math.nan))
    ]
    numbers: dict[str, int] = {}
    images = np.array([numbers.setdefault(item.group_id, len(numbers)) for item in scored], np.int64)
    levels = np.array([level_of(item) for item in scored], np.int64)
    right = np.array([errors[item.item_id] < 0.5 for item in scored], np.int64)
    return posterior_of_images(reductions, levels, right, images)


def read(items: Sequence[Item], errors: Mapping[str, float]) -> Reading:
    """The fit to the answers of one subject to one task; `errors` by item id, NaN without an answer."""
    struck, share = struck_questions(items, errors), guess_of(items)
    reductions = grid_at(round(100 * share))
    fit = reduction(reductions, weights_of(reductions, items, errors, struck))
    right: dict[str, dict[int, bool]] = {}
    for item in items:
        value = errors.get(item.item_id, math.nan)
        if level_of(item) >= 0 and item.group_id not in struck and not math.isnan(value):
            right.setdefault(item.group_id, {})[level_of(item)] = value < 0.5
    both = Counter(level for of_question in right.values() if 0 in of_question for level in of_question if level)
    level = (
        max(both, key=lambda index: (both[index], -abs(index - next_level(fit.size)))) if both else next_level(fit.size)
    )
    pairs = {name: (of[0], of[level]) for name, of in right.items() if 0 in of and level in of}
    return Reading(fit, struck, share, level, pairs)


def next_level(size: float) -> int:
    """The index of the least level that is not below the size kept, but never that of full size."""
    return max(1, max(index for index, share in enumerate(LEVELS) if share >= size - 1e-9 or index == 0))


def bias(reading: Reading, items: Sequence[Item]) -> str:
    """Of questions with yes or no: how many "yes" and "no" are missed in the pairs; empty for other questions."""
    keys = {item.group_id: key_text(item).lower() for item in items}
    if not set(keys.values()) <= {"yes", "no"}:
        return ""
    words = ""
    for key in ("yes", "no"):
        of_key = [rights for name, rights in reading.pairs.items() if keys[name] == key]
        full, small = (sum(not rights[size] for rights in of_key) for size in (0, 1))
        words += f'; of {len(of_key)} "{key}" missed {full} at full size, {small} reduced'
    return words


def advice(reading: Reading, items: Sequence[Item]) -> str:
    """The advice in words, or what it lacks; of scaled images with pixels and tokens of one of middling size."""
    count, blind = len(reading.pairs), len(reading.struck)
    struck = f"; {blind} question{'s' * (blind > 1)} struck as blind" * bool(blind)
    if count < PAIRS:
        return f"no advice before {PAIRS} paired questions ({count} so far){struck}"
    loss, share = reading.loss, LEVELS[reading.pair_level]
    ends = (
        f"loss {100 * loss.value:.1f} points [{100 * loss.low:.1f}, {100 * loss.high:.1f}] in {count} paired questions"
        f"{bias(reading, items)}"
    )
    if loss.low > 0:
        return f"do not send at {share:.2f}: {ends}{struck}"
    if items[0].factors.get("reduction") != "scale":
        return f"level {share:.2f} keeps what is right: {ends}{struck}"
    full = sorted((i.query[0] for i in items if level_of(i) == 0), key=lambda image: image.width * image.height)
    middle = full[len(full) // 2]
    small = max(1, round(middle.width * share)), max(1, round(middle.height * share))
    cost = " or ".join(
        f"{image_tokens(model, *small):,} tokens instead of {image_tokens(model, middle.width, middle.height):,} by "
        f"the published rule of {model}"
        for model in PRICED
    )
    px = median(item.measures.get("thing_px", 0.0) for item in items)
    thing = f", the marked thing at {share * px:.0f} px" * bool(px)
    return f"send at {share:.2f} of its size{thing}: {100 * share**2:.0f} % of the pixels, {cost}; {ends}{struck}"


def estimate(name: str, items: Sequence[Item], errors: Sequence[float]) -> Measurement:
    """The `threshold`, or the size kept (`size_kept`), as a share of full size with a 95 % credible interval."""
    if not items:
        return Measurement(math.nan, math.nan, math.nan, "", "", "")
    reading = read(items, {item.item_id: value for item, value in zip(items, errors, strict=True)})
    fit = reading.fit
    if {item.group_id for item in items} <= reading.struck:
        return Measurement(
            math.nan, math.nan, math.nan, "", NOT_UNDERSTOOD, "all questions are right without the image"
        )
    if fit.curve[0] - reading.guess < LEAST_SEEN:
        note = f"{100 * fit.curve[0]:.0f} % right at full size, {100 * reading.guess:.0f} % by guessing"
        return Measurement(math.nan, math.nan, math.nan, "", NOT_UNDERSTOOD, note)
    value, low, high = fit[3:6] if name == "size_kept" else fit[:3]
    if value <= LEVELS[-1] * 1.01:
        return Measurement(LEVELS[-1], math.nan, math.nan, "", BELOW, "")
    return Measurement(value, low, high, CREDIBLE, MEASURED, advice(reading, items) if name == "size_kept" else "")


def reduced_protocol(protocol: Protocol) -> Protocol:
    """The protocol of a kind of answer, with the size kept and the threshold as its metrics."""
    accuracy = next(metric for metric in protocol.metrics if metric.name == "accuracy")
    kept = Metric(
        "size_kept",
        lambda item, prediction: 1.0 - accuracy.score(item, prediction),
        worst=1.0,
        higher_is_better=False,
        share=False,
        estimate=partial(estimate, "size_kept"),
        unit="of full size",
        title="size kept",
    )
    threshold = replace(kept, name="threshold", estimate=partial(estimate, "threshold"), title="threshold")
    return replace(protocol, metrics=(kept, threshold))


def schedule(items: Sequence[Item]) -> Schedule:
    """Blind items, then batches of questions at the levels that tell most, then pairs at full size and reduced.

    Questions come in an order that depends on their ids alone, each once before any comes again; the pairs are of those
    at the end of it, which the search reaches last.
    """
    by_id = {item.item_id: item for item in items}
    reductions = grid_at(round(100 * guess_of(items)))

    def order(trials: Sequence[Trial]) -> Generator[tuple[Trial, ...], dict[str, float], None]:
        by_level: dict[tuple[str, int], Trial] = {}
        blind, errors = [], dict[str, float]()
        for trial in trials:
            item = by_id[trial.views[0].item_id]
            if level_of(item) < 0:
                blind.append(trial)
            else:
                by_level[item.group_id, level_of(item)] = trial
        if blind:
            errors |= yield tuple(blind)
        struck = struck_questions(items, errors)
        names = sorted({name for name, _ in by_level} - struck, key=lambda name: digest([name]))
        queue, remaining = list(names), ANSWERS_OF_TWO if guess_of(items) > 0.4 else ANSWERS
        while remaining > 0 and names:
            weights = weights_of(reductions, items, errors, struck)
            available = [sum((name, level) in by_level for name in names) for level in range(len(LEVELS))]
            batch = []
            for level in next_levels(reductions, weights, available, min(BATCH, remaining)):
                name = next(name for name in queue if (name, level) in by_level)
                queue.remove(name)
                queue.append(name)
                batch.append(by_level.pop((name, level)))
            if not batch:
                break
            remaining -= len(batch)
            errors |= yield tuple(batch)
        level = next_level(read(items, errors).fit.size)
        while level:
            pairs = [by_level.pop((name, k)) for name in names[-PAIRS:] for k in (0, level) if (name, k) in by_level]
            if pairs:
                errors |= yield tuple(pairs)
            reading = read(items, errors)
            is_lossy = bool(reading.pairs) and reading.loss.low > 0
            level = min(level - 1, next_level(reading.fit.size)) if is_lossy else 0

    return order
