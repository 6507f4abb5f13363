"""Attackers that look at nothing: each learns from solved items, then answers others without their images.

They see an item as it is stored: its question, its options in order, its solved examples, the sizes of its images.
What is drawn into an image (marked boxes) is not seen. Which came first: Brown and others 2025, "Benchmark designers
should train on the test set" (TsT, arXiv 2511.04655), who attack with a learner on everything but pixels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.item import Item
from snellen.core.score import Metric
from snellen.core.seeds import stream

Answer: TypeAlias = Any
"""An answer in the item's own terms: an option key, a truth, a number, a box in pixels, a colour, a text."""
Attacker: TypeAlias = Callable[[Sequence[Item]], list[Answer]]
MAX_TRUTHS, MAX_SCORED = 60, 150
"""How many training truths are tried as answers, on how many training items: a truth each would be too slow."""
DRAWS = 100
"""Random weights of words that are tried, and as many others at most."""
MIN_ALIKE = 8
"""Training items of one question below which the whole task is gone by."""


class Attack(NamedTuple):
    """A way to answer without the images. `fit` leads from solved items and the metric to answers of other items."""

    name: str
    fit: Callable[[Sequence[Item], Metric], Attacker]


def choices(item: Item) -> tuple[str, ...]:
    """What may be answered, in the order shown; empty for free answers."""
    return ("true", "false") if item.answer_kind == "true_false" else tuple(option.key for option in item.options)


def label(item: Item, key: str) -> str:
    """What an option is called: its text; options that are images are called by their place."""
    texts = {option.key: option.text for option in item.options}
    return texts.get(key, "") or (key if not item.options else f"image {choices(item).index(key) + 1}")


def portable(item: Item) -> Answer:
    """The truth in terms that carry over to another item: boxes as shares of the image, options by their label."""
    if item.answer_kind == "box":
        width, height = item.query[0].width, item.query[0].height
        x1, y1, x2, y2 = item.answer
        return (x1 / width, y1 / height, x2 / width, y2 / height)
    if choices(item):
        return label(item, str(item.answer))
    return tuple(item.answer) if isinstance(item.answer, list | tuple) else item.answer


def applied(answer: Answer, item: Item) -> Answer:
    """A portable answer in the terms of this item; None for an option that it does not offer."""
    if item.answer_kind == "box":
        width, height = item.query[0].width, item.query[0].height
        return tuple(share * side for share, side in zip(answer, (width, height, width, height), strict=True))
    if choices(item):
        return next((key for key in choices(item) if label(item, key) == answer), None)
    return answer


def _by_worth(items: Sequence[Item], metric: Metric) -> list[Answer]:
    """The truths of some items as answers to all of them, the one that is worth most first.

    An option is worth the share of times that it is right where it is offered, half a time right and half wrong added.
    """
    truths = Counter(_hashable(portable(item)) for item in items)
    if choices(items[0]):
        offered = Counter(label(item, key) for item in items for key in choices(item))
        return sorted(offered, key=lambda answer: (-(truths[answer] + 0.5) / (offered[answer] + 1), answer))
    candidates = [truth for truth, _ in truths.most_common(MAX_TRUTHS)]
    order = stream("blind worth", len(items)).permutation(len(items))
    some = [items[int(n)] for n in order[:MAX_SCORED]]
    worth = {truth: sum(metric.score(item, applied(truth, item)) for item in some) for truth in candidates}
    return sorted(candidates, key=lambda truth: -metric.sign * worth[truth])


def _hashable(answer: Answer) -> Hashable:
    return tuple(answer) if isinstance(answer, list | tuple) else answer


def _first_offered(ranked: Sequence[Answer], item: Item) -> Answer:
    """The best answer that the item offers; its first option where none is known."""
    answers = (applied(answer, item) for answer in ranked)
    return next((answer for answer in answers if answer is not None), (choices(item) or (None,))[0])


def best_answer(train: Sequence[Item], metric: Metric) -> Attacker:
    """One ranking of answers for all items: the best answer that an item offers."""
    ranked = _by_worth(train, metric)
    return lambda items: [_first_offered(ranked, item) for item in items]


def best_answer_by_question(train: Sequence[Item], metric: Metric) -> Attacker:
    """A ranking of answers for each question word by word, and one for questions that are rare."""
    items_by_question: dict[str, list[Item]] = defaultdict(list)
    for item in train:
        items_by_question[item.question].append(item)
    ranked = _by_worth(train, metric)
    ranked_by_question = {
        question: _by_worth(alike, metric)
        for question, alike in items_by_question.items()
        if len(alike) >= MIN_ALIKE and len(items_by_question) > 1
    }
    return lambda items: [_first_offered(ranked_by_question.get(item.question, ranked), item) for item in items]


def best_position(train: Sequence[Item], metric: Metric) -> Attacker:
    """The option at the place where the right one stood most often, by the number of options."""
    places: dict[int, Counter[int]] = defaultdict(Counter)
    for item in train:
        if choices(item):
            places[len(choices(item))][choices(item).index(str(item.answer))] += 1

    def answer(item: Item) -> Answer:
        counts = places.get(len(choices(item)))
        return choices(item)[counts.most_common(1)[0][0]] if counts else _first_offered([], item)

    return lambda items: [answer(item) for item in items]


def odd_one(train: Sequence[Item], metric: Metric) -> Attacker:
    """The option whose words are least, or most, like those of the others: whichever was right more often."""

    def ranked(item: Item) -> list[str]:
        words = {key: set(label(item, key).lower().split()) for key in choices(item)}
        shared = {key: sum(len(words[key] & words[other]) for other in words if other != key) for key in words}
        return sorted(words, key=lambda key: (shared[key], len(label(item, key)), key))

    rights = np.zeros(2)
    for item in train:
        if order := ranked(item):
            rights += [order[0] == item.answer, order[-1] == item.answer]
    end = 0 if rights[0] >= rights[1] else -1
    return lambda items: [order[end] if (order := ranked(item)) else None for item in items]


def word_weights(train: Sequence[Item], metric: Metric) -> Attacker:
    """Statements are true where their words weigh more than the median, by the best of many weights.

    Tried are random weights, and those by which statements of one group differ most. Best is what gets the most groups
    right as a whole: where both of a pair must be right, whoever answers the two differently beats whoever guesses,
    without knowing which is true. Other questions: the best position.
    """
    if train[0].answer_kind != "true_false":
        return best_position(train, metric)
    columns = {word: n for n, word in enumerate(sorted({word for item in train for word in _words(item)}))}
    counts = _word_counts(train, columns)
    _, groups = np.unique([item.group_id for item in train], return_inverse=True)
    means = _sums(counts, groups) / np.bincount(groups)[:, None]
    # The directions in which statements of one group differ most, next to random ones.
    _, _, directions = np.linalg.svd(counts - means[groups], full_matrices=False)
    draws = stream("blind words", len(train), len(columns)).normal(size=(len(columns), DRAWS))
    weights = np.hstack([draws, directions[:DRAWS].T, -directions[:DRAWS].T])
    sums = counts @ weights
    medians = np.median(sums, axis=0)
    truths = np.array([item.answer == "true" for item in train])
    wrong = _sums((sums > medians) != truths[:, None], groups)
    best = int(np.argmax((wrong == 0).mean(axis=0)))

    def answers(items: Sequence[Item]) -> list[Answer]:
        above = _word_counts(items, columns) @ weights[:, best] > medians[best]
        return ["true" if is_above else "false" for is_above in above]

    return answers


def _sums(rows: NDArray[Any], group_numbers: NDArray[np.intp]) -> NDArray[np.float64]:
    """Of the rows of each group: (groups, columns)."""
    sums = np.zeros((group_numbers.max() + 1, rows.shape[1]))
    np.add.at(sums, group_numbers, rows)
    return sums


def _words(item: Item) -> list[str]:
    return item.question.lower().split()


def _word_counts(items: Sequence[Item], columns: Mapping[str, int]) -> NDArray[np.float64]:
    """How often each word stands in each question: (items, words)."""
    counts = np.zeros((len(items), len(columns)))
    for row, item in enumerate(items):
        for word in _words(item):
            if word in columns:
                counts[row, columns[word]] += 1
    return counts
