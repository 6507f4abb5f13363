"""Answers that need little sight: from a thumbnail and a histogram, or from the coordinates of drawn boxes.

Forests learn from the training examples of the set that they are examined on, as encoders with a readout do. Items that
show solved examples are answered by the nearest of these. Images are taken as stored, without drawn boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.analysis.blind.attacks import Answer, applied, choices, labels, portable
from snellen.core.grouping import lists_by_key
from snellen.core.item import Item, Media
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder

Features: TypeAlias = Callable[[Item], NDArray[np.float32]]
TREES = 100
MIN_ALIKE = 24
"""Training items with the same question from which on the question has a forest of its own."""
MAX_TRAIN = 2000
"""Training items per task: more hardly change a forest, and their images take long to read."""
THUMBNAIL_PX, CROP_PX, BINS = 8, 4, 16
MAX_FEATURES = 20_000
"""Features of images that are remembered, each about 1 kB: a set that grows, and its report, need them again."""
OPEN_IMAGES = 64
"""Images that are kept open, since several tasks ask about the same ones."""

_FEATURES: dict[tuple[Media, tuple[tuple[float, ...], ...]], NDArray[np.float32]] = {}


def box_features(names: Sequence[str]) -> Features:
    """Function from an item to the boxes of these regions: edges, sides, area and aspect, as shares of the image."""

    def features(item: Item) -> NDArray[np.float32]:
        width, height = item.query[0].width, item.query[0].height
        rows = np.array([item.regions.get(name, (0, 0, 0, 0)) for name in names], np.float32)
        edges = rows / np.array([width, height, width, height], np.float32)
        sides = edges[:, 2:] - edges[:, :2]
        area, aspect = sides.prod(axis=1), np.arctan2(sides[:, 1], sides[:, 0])
        return np.concatenate([edges.ravel(), sides.ravel(), area, aspect])

    return features


def image_features(media: MediaFolder) -> Callable[[Sequence[str], Item], NDArray[np.float32]]:
    """Function from names of regions and an item to what little its first image gives.

    These are an 8x8 thumbnail, a histogram of 16 bins per channel, the mean gradient in both directions, the size of
    the file, and a 4x4 thumbnail of the inside of each of these regions.
    """
    from PIL import Image

    def shrunk(image: Image.Image, side: int) -> NDArray[np.float32]:
        return np.asarray(image.resize((side, side), Image.Resampling.BOX), np.float32).ravel()

    @lru_cache(OPEN_IMAGES)
    def opened(query: Media) -> Image.Image:
        return media.open(query).convert("RGB")

    @cache
    def whole(query: Media) -> NDArray[np.float32]:
        image = opened(query)
        histogram = np.reshape(image.histogram(), (3 * BINS, 256 // BINS)).sum(axis=1) / (image.width * image.height)
        grey = np.asarray(image.convert("L"), np.int16)
        gradients = [np.abs(np.diff(grey, axis=axis)).mean() for axis in (0, 1)]
        size = [media.find(query).stat().st_size]
        return np.concatenate([shrunk(image, THUMBNAIL_PX), histogram, gradients, size]).astype(np.float32)

    def features(names: Sequence[str], item: Item) -> NDArray[np.float32]:
        query, boxes = item.query[0], tuple(tuple(item.regions.get(name) or ()) for name in names)
        if (query, boxes) not in _FEATURES:
            if len(_FEATURES) >= MAX_FEATURES:
                _FEATURES.clear()
            crops = [shrunk(_crop(opened(query), box), CROP_PX) for box in boxes]
            _FEATURES[query, boxes] = np.concatenate([whole(query), *crops])
        return _FEATURES[query, boxes]

    return features


def _crop(image: Any, box: Sequence[float]) -> Any:
    if not box:
        return image
    x1, y1, x2, y2 = (int(edge) for edge in box)
    return image.crop((x1, y1, max(x2, x1 + 1), max(y2, y1 + 1)))


def forest_answers(train: Sequence[Item], test: Sequence[Item], features: Features, metric: Metric) -> list[Answer]:
    """The answers of forests to the test items, all of one task; None where nothing is learnt (texts).

    A question with enough training items has a forest of its own; all others share one.
    """
    if len(train) > MAX_TRAIN:
        order = stream("cheap sight sample", train[0].task, len(train)).permutation(len(train))
        train = [train[int(n)] for n in order[:MAX_TRAIN]]
    by_question = lists_by_key((item.question, item) for item in train)
    alone = {question: items for question, items in by_question.items() if len(items) >= MIN_ALIKE}
    vectors = {item.item_id: features(item) for item in (*train, *test)}
    answers: dict[str, Answer] = {}
    for question in (*alone, None):
        items = [item for item in test if (item.question if item.question in alone else None) == question]
        if items:
            examples = train if question is None else alone[question]
            answers |= zip((item.item_id for item in items), _answers(examples, items, vectors, metric), strict=True)
    return [answers[item.item_id] for item in test]


def nearest_answers(test: Sequence[Item], features: Features) -> list[Answer]:
    """The option whose solved examples have the nearest mean, for items that show solved examples.

    Features have the scale of their standard deviation over all examples; the distance is the sum of differences.
    """
    means, targets = [], []
    for item in test:
        by_option = lists_by_key((demo.answer, features(replace(item, query=demo.media))) for demo in item.support)
        means.append({key: np.mean(vectors, axis=0) for key, vectors in by_option.items()})
        targets.append(features(item))
    every_mean = [mean for of_item in means for mean in of_item.values()]
    scale = np.std(every_mean, axis=0) + 1e-6 if every_mean else 1.0
    return [
        min(of_item, key=lambda key: float(np.abs((of_item[key] - target) / scale).sum()), default=None)
        for of_item, target in zip(means, targets, strict=True)
    ]


def _answers(
    train: Sequence[Item], test: Sequence[Item], vectors: Mapping[str, NDArray[np.float32]], metric: Metric
) -> list[Answer]:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind, truths = train[0].answer_kind, [portable(item) for item in train]
    if kind in ("text", "description"):
        return [None] * len(test)
    train_vectors, test_vectors = (np.stack([vectors[item.item_id] for item in items]) for items in (train, test))
    seed = int(stream("cheap sight", train[0].task, len(train)).integers(2**31))
    classes = sorted(set(truths), key=str)
    if kind in ("box", "point", "colour", "number") or (kind == "integer" and len(classes) > len(train) / 2):
        regressor = ExtraTreesRegressor(TREES, random_state=seed).fit(train_vectors, np.array(truths, np.float64))
        numbers = np.reshape(regressor.predict(test_vectors), (len(test), -1))
        return [_as_answer(tuple(map(float, row)), item) for row, item in zip(numbers, test, strict=True)]
    targets = [classes.index(truth) for truth in truths]
    likely = ExtraTreesClassifier(TREES, random_state=seed).fit(train_vectors, targets).predict_proba(test_vectors)
    if not choices(train[0]):
        examples = [train[targets.index(n)] for n in range(len(classes))]
        worth = np.array([[metric.score(example, answer) for answer in classes] for example in examples])
        return [classes[n] for n in np.argmax(metric.sign * likely @ worth, axis=1)]
    rows = [dict(zip(classes, row, strict=True)) for row in likely]
    both = zip(test, rows, strict=True)
    return [max(labels(item).items(), key=lambda pair: row.get(pair[1], 0.0))[0] for item, row in both]


def _as_answer(numbers: tuple[float, ...], item: Item) -> Answer:
    if item.answer_kind == "colour":
        return tuple(round(number) for number in numbers)
    if item.answer_kind in ("box", "point"):
        return applied(numbers, item)
    return round(numbers[0]) if item.answer_kind == "integer" else numbers[0]
