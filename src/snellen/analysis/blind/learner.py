"""A learner on everything but pixels: words and their order, options, places, solved examples, sizes of images.

With options, it learns for each option of each item whether it is right (logistic regression over hashed features).
With few different answers, such as counts, it does the same over all answers that occur, then gives the answer with
the best expected score. Boxes, colours and numbers are learnt by ridge regression. Texts of many kinds are not learnt.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from snellen.analysis.blind.attacks import (
    Answer,
    Attacker,
    applied,
    best_answer,
    choices,
    labels,
    portable,
    words_at_places,
    words_in_order,
)
from snellen.core.item import Item
from snellen.core.score import Metric
from snellen.core.seeds import stream

FEATURES = 2**14
"""Columns of hashed features."""
MAX_ANSWERS = 24
"""Different answers up to which free answers are classes."""
MAX_TRAIN = 1000
"""Training items per fit: more hardly change it and take long."""
VECTORS = ("box", "point", "colour", "number")
Clues: TypeAlias = Callable[..., Iterator[str]]
"""Features of an item, or of an option of it, as words."""


def learner(train: Sequence[Item], metric: Metric, clues: Clues | None = None) -> Attacker:
    """Attacker that learns from solved items, or from `clues` to them; `best_answer` if nothing can be learnt."""
    from threadpoolctl import threadpool_limits

    if len(train) > MAX_TRAIN:
        order = stream("blind learner", train[0].task, len(train)).permutation(len(train))
        train = [train[int(n)] for n in order[:MAX_TRAIN]]
    with threadpool_limits(1):  # for so few numbers, synchronising threads costs six times the work
        if choices(train[0]):
            return _fit_choices(train, clues or option_features)
        if train[0].answer_kind in VECTORS:
            return _fit_vectors(train)
        if 1 < len({portable(item) for item in train}) <= MAX_ANSWERS:
            return _fit_classes(train, metric, clues or item_features)
        return best_answer(train, metric)


def item_features(item: Item) -> Iterator[str]:
    """The features of an item that are known without its pixels."""
    yield f"question={item.question}"
    yield from (f"word={word}" for word in words_in_order(item.question))
    yield from (f"at={word}" for word in words_at_places(item.question))
    yield f"images={len(item.query)}"
    for media in item.query[:1]:
        yield f"size={media.width}x{media.height}"
        yield f"shape={round(4 * np.log2(media.width / media.height))}"
        yield f"seconds={round(media.seconds or 0)}"
    yield f"options={len(item.options)}"
    yield f"examples={len(item.support)}"


def option_features(item: Item, key: str) -> Iterator[str]:
    """The features of an option among the others: words, place, length, examples of it, its image's size."""
    keys, names = choices(item), labels(item)
    text, place = names[key], keys.index(key)
    yield f"label={text}"
    yield f"place={place}/{len(keys)}"
    yield f"question={item.question}/label={text}"
    yield f"question={item.question}/place={place}"
    words, question_words = text.lower().split(), set(item.question.lower().split())
    yield from (f"word={word}" for word in words)
    yield from (f"asked={word}/label={text}" for word in set(words_in_order(item.question)))
    yield from (f"at={word}/label={text}" for word in words_at_places(item.question))
    yield "offered=" + "/".join(sorted(names.values())) + f"/label={text}"
    yield f"in question={len(question_words & set(words))}"
    lengths = sorted(map(len, names.values()))
    yield f"length={lengths.index(len(text))}/{len(keys)}"
    examples = [demo.answer for demo in item.support]
    yield f"examples={examples.count(key)}"
    yield f"last example={bool(examples) and examples[-1] == key}"
    yield from _media_features(item, key)


def _media_features(item: Item, key: str) -> Iterator[str]:
    """An option's image: whether it is byte for byte one of the question's, and the rank of its size."""
    media = {option.key: option.media for option in item.options}
    own = media.get(key, ())
    if own:
        yield f"same file={any(image in item.query for image in own)}"
        areas = sorted(m[0].width * m[0].height for m in media.values() if m)
        yield f"area={areas.index(own[0].width * own[0].height)}/{len(areas)}"


def _matrix(features: Sequence[Iterator[str]]) -> Any:
    from sklearn.feature_extraction import FeatureHasher

    return FeatureHasher(FEATURES, input_type="string", alternate_sign=False).transform(features)


def _fit_choices(train: Sequence[Item], features: Clues) -> Attacker:
    from sklearn.linear_model import LogisticRegression

    rows = [features(item, key) for item in train for key in choices(item)]
    targets = np.array([key == str(item.answer) for item in train for key in choices(item)])
    if targets.all() or not targets.any():
        return lambda items: [choices(item)[0] for item in items]
    model = LogisticRegression(C=0.3, tol=1e-2, max_iter=100).fit(_matrix(rows), targets)

    def answers(items: Sequence[Item]) -> list[Answer]:
        rows = [features(item, key) for item in items for key in choices(item)]
        scores = iter(model.decision_function(_matrix(rows)))
        return [max(choices(item), key=lambda _: next(scores)) for item in items]

    return answers


def _fit_classes(train: Sequence[Item], metric: Metric, features: Clues) -> Attacker:
    """Attacker for few answers: their probabilities given the words, then the answer with the best expected score."""
    from sklearn.linear_model import LogisticRegression

    truths = [portable(item) for item in train]
    classes = sorted(set(truths), key=str)
    targets = [classes.index(truth) for truth in truths]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes")  # of which most may occur once
        rows = _matrix([features(item) for item in train])
        model = LogisticRegression(C=0.3, tol=1e-2, max_iter=100).fit(rows, targets)
    # worth[truth, answer]: the metric of an answer on an item with that truth.
    examples = [train[targets.index(n)] for n in range(len(classes))]
    worth = np.array([[metric.score(example, applied(answer, example)) for answer in classes] for example in examples])

    def answers(items: Sequence[Item]) -> list[Answer]:
        likely = model.predict_proba(_matrix([features(item) for item in items]))
        best = np.argmax(metric.sign * likely @ worth, axis=1)
        return [applied(classes[n], item) for n, item in zip(best, items, strict=True)]

    return answers


def _fit_vectors(train: Sequence[Item]) -> Attacker:
    from sklearn.linear_model import Ridge

    targets = np.array([np.atleast_1d(portable(item)) for item in train], np.float64)
    model = Ridge(alpha=10.0).fit(_matrix([item_features(item) for item in train]), targets)

    def answers(items: Sequence[Item]) -> list[Answer]:
        vectors = model.predict(_matrix([item_features(item) for item in items]))
        numbers = [tuple(map(float, np.ravel(vector))) for vector in vectors]
        return [_as_answer(vector, item) for vector, item in zip(numbers, items, strict=True)]

    return answers


def _as_answer(numbers: tuple[float, ...], item: Item) -> Answer:
    if item.answer_kind == "colour":
        return tuple(round(min(max(number, 0.0), 255.0)) for number in numbers)
    return applied(numbers, item) if item.answer_kind in ("box", "point") else numbers[0]
