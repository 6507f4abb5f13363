"""Blind attackers: each learns from solved items, then answers others without their images.

They know an item as stored: its question, its options in order, its solved examples, the sizes of its images, but
nothing that is drawn into an image (marked boxes). The idea is from Brown and others 2025, "Benchmark designers should
train on the test set" (TsT, arXiv 2511.04655), who attack with a learner on everything but pixels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.grouping import lists_by_key
from snellen.core.item import Item
from snellen.core.score import Metric
from snellen.core.seeds import stream

Answer: TypeAlias = Any
"""An answer in the item's own terms: an option key, a truth, a number, a box in pixels, a colour, a text."""
Attacker: TypeAlias = Callable[[Sequence[Item]], list[Answer]]
MAX_TRUTHS, MAX_SCORED = 60, 150
"""Training truths that are tried as answers, and training items they are tried on: trying all would be too slow."""
DRAWS = 100
"""Random word weights that are tried; at most as many others are added."""
MAX_PLACES = 8
"""Words from either end of a question whose places are known to the learner."""
MAX_WORDS = 50_000
"""Words, and pairs of words, that are weighed, the most frequent ones; each takes some kilobytes."""
MIN_ALIKE = 8
"""Training items per question below which the ranking of the whole task is used."""


class Attack(NamedTuple):
    """A method of answering without the images. `fit` takes solved items and the metric and returns an attacker."""

    name: str
    fit: Callable[[Sequence[Item], Metric], Attacker]


def choices(item: Item) -> tuple[str, ...]:
    """The possible answers in the order shown; empty for free answers, and if several options may be right."""
    if item.answer_kind == "choices":
        return ()
    return ("true", "false") if item.answer_kind == "true_false" else tuple(option.key for option in item.options)


def labels(item: Item) -> Mapping[str, str]:
    """The names of `choices` by their keys: an option's text, or its place if it is an image."""
    if not item.options or item.answer_kind == "choices":
        return {key: key for key in choices(item)}
    return {option.key: option.text or f"image {place}" for place, option in enumerate(item.options, 1)}


def portable(item: Item) -> Answer:
    """The truth in terms that apply to other items: boxes and points as shares of the image, options by their label."""
    if item.answer_kind == "box":
        width, height = item.query[0].width, item.query[0].height
        x1, y1, x2, y2 = item.answer
        return (x1 / width, y1 / height, x2 / width, y2 / height)
    if item.answer_kind == "point":
        return item.answer[0] / item.query[0].width, item.answer[1] / item.query[0].height
    if choices(item):
        return labels(item)[str(item.answer)]
    if item.answer_kind == "text" and isinstance(item.answer, tuple):  # the first of the texts that are accepted
        return item.answer[0]
    return tuple(item.answer) if isinstance(item.answer, list | tuple) else item.answer


def applied(answer: Answer, item: Item) -> Answer:
    """A portable answer in the terms of this item; None for an option that it does not offer."""
    if item.answer_kind == "box":
        width, height = item.query[0].width, item.query[0].height
        return tuple(share * side for share, side in zip(answer, (width, height, width, height), strict=True))
    if item.answer_kind == "point":
        return answer[0] * item.query[0].width, answer[1] * item.query[0].height
    if choices(item):
        return next((key for key, name in labels(item).items() if name == answer), None)
    if item.answer_kind == "choices" and not {option.key for option in item.options}.issuperset(answer):
        return None
    return answer


def _by_worth(items: Sequence[Item], metric: Metric) -> list[Answer]:
    """The truths of some items as answers to all of them, the best-scoring one first.

    An option's value is the share of its offers in which it is right, with half a right and half a wrong one added.
    """
    truths = Counter(portable(item) for item in items)
    if choices(items[0]):
        offered = Counter(name for item in items for name in labels(item).values())
        return sorted(offered, key=lambda answer: (-(truths[answer] + 0.5) / (offered[answer] + 1), answer))
    candidates = [truth for truth, _ in truths.most_common(MAX_TRUTHS)]
    order = stream("blind worth", len(items)).permutation(len(items))
    some = [items[int(n)] for n in order[:MAX_SCORED]]
    worth = {truth: sum(metric.score(item, applied(truth, item)) for item in some) for truth in candidates}
    return sorted(candidates, key=lambda truth: -metric.sign * worth[truth])


def _first_offered(ranked: Sequence[Answer], item: Item) -> Answer:
    """The best answer that the item offers; its first option if none is known."""
    if choices(item):
        keys = {name: key for key, name in list(labels(item).items())[::-1]}  # of equal names the first counts
        return next((keys[answer] for answer in ranked if answer in keys), choices(item)[0])
    answers = (applied(answer, item) for answer in ranked)
    return next((answer for answer in answers if answer is not None), None)


def best_answer(train: Sequence[Item], metric: Metric) -> Attacker:
    """Attacker with one ranking of answers for all items: it gives the best answer that an item offers."""
    ranked = _by_worth(train, metric)
    return lambda items: [_first_offered(ranked, item) for item in items]


def _question_and_options(item: Item) -> Hashable:
    return item.question, tuple(sorted(labels(item).values()))


def best_answer_by_question(train: Sequence[Item], metric: Metric, min_alike: int = MIN_ALIKE) -> Attacker:
    """Attacker with one ranking of answers per question text and set of options, and one for rare questions."""
    items_by_question = lists_by_key((_question_and_options(item), item) for item in train)
    ranked = _by_worth(train, metric)
    ranked_by_question = {
        question: _by_worth(alike, metric)
        for question, alike in items_by_question.items()
        if len(alike) >= min_alike and len(items_by_question) > 1
    }
    return lambda items: [
        _first_offered(ranked_by_question.get(_question_and_options(item), ranked), item) for item in items
    ]


def best_position(train: Sequence[Item], metric: Metric) -> Attacker:
    """Attacker that gives the option at the most frequent place of the right one, by the number of options."""
    places: dict[int, Counter[int]] = defaultdict(Counter)
    for item in train:
        if choices(item):
            places[len(choices(item))][choices(item).index(str(item.answer))] += 1

    def answer(item: Item) -> Answer:
        counts = places.get(len(choices(item)))
        return choices(item)[counts.most_common(1)[0][0]] if counts else _first_offered([], item)

    return lambda items: [answer(item) for item in items]


def odd_one(train: Sequence[Item], metric: Metric) -> Attacker:
    """Attacker that gives the option least, or most, like the others in words: whichever was right more often."""

    def ranked(item: Item) -> list[str]:
        names = labels(item)
        words = {key: set(name.lower().split()) for key, name in names.items()}
        counts = Counter(word for of_key in words.values() for word in of_key)
        shared = {key: sum(counts[word] - 1 for word in words[key]) for key in words}
        return sorted(words, key=lambda key: (shared[key], len(names[key]), key))

    rights = np.zeros(2)
    for item in train:
        if order := ranked(item):
            rights += [order[0] == item.answer, order[-1] == item.answer]
    end = 0 if rights[0] >= rights[1] else -1
    return lambda items: [order[end] if (order := ranked(item)) else None for item in items]


def word_weights(train: Sequence[Item], metric: Metric) -> Attacker:
    """Attacker that calls statements true if their words weigh more than the median, by the best of many weights.

    It tries random weights and those by which statements of one group differ most, and keeps those that get the most
    whole groups right: if both of a pair must be right, answering the two differently beats guessing, without knowing
    which is true. For other questions it is `best_position`.
    """
    if train[0].answer_kind != "true_false":
        return best_position(train, metric)
    frequent = Counter(word for item in train for word in words_in_order(item.question)).most_common(MAX_WORDS)
    columns = {word: n for n, word in enumerate(sorted(word for word, _ in frequent))}
    counts = _word_counts(train, columns)
    _, groups = np.unique([item.group_id for item in train], return_inverse=True)
    means = _sums(counts, groups) / np.bincount(groups)[:, None]
    # Random directions, and those in which statements of one group differ most.
    apart = counts - means[groups]
    # What svd gives for zeros (every group is one item), without its time.
    directions = np.linalg.svd(apart, full_matrices=False)[2] if apart.any() else np.eye(min(apart.shape), len(columns))
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
    """Sums of the rows of each group: (groups, columns)."""
    sums = np.zeros((group_numbers.max() + 1, rows.shape[1]))
    np.add.at(sums, group_numbers, rows)
    return sums


def words_in_order(text: str) -> list[str]:
    """The words of a text, and every two that follow each other: `A into B` and `B into A` differ."""
    words = text.lower().split()
    return [*words, *map(" ".join, pairwise(words))]


def words_at_places(text: str) -> list[str]:
    """The first and the last words of a text, each with its place from the start or from the end."""
    words = text.lower().split()
    first = [f"{place} {word}" for place, word in enumerate(words[:MAX_PLACES])]
    return first + [f"-{place} {word}" for place, word in enumerate(reversed(words[-MAX_PLACES:]), 1)]


def _word_counts(items: Sequence[Item], columns: Mapping[str, int]) -> NDArray[np.float64]:
    """Word counts of each question: (items, words)."""
    counts = np.zeros((len(items), len(columns)))
    for row, item in enumerate(items):
        for word in words_in_order(item.question):
            if word in columns:
                counts[row, columns[word]] += 1
    return counts
