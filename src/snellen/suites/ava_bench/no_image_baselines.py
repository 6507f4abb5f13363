"""What is had without any picture: by one and the same answer to everything, and by the words of the questions alone.

Whoever is no better than two who see nothing need not have seen anything: one gives the answer that is worth most on
average, the other has learnt which answers go with which words. Both learn on training items alone, and are scored on
test items by a task's first metric under `strict`. The former is the chance of answers that no options are offered for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.item import Affine, Item
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.suites.ava_bench.abilities import ABILITIES, ability_named
from snellen.suites.ava_bench.items import SUITE
from snellen.suites.ava_bench.scoring import measured
from snellen.suites.ava_bench.transforms import padding

MAX_TRIED, MAX_TRIED_A_QUESTION = 200, 40
"""How many training items of a task, or of one question, are drawn where each truth is tried on each item."""
PEERS = 24
"""How many other items' truths the chance of a free answer is taken over, where there are no training items."""
ENOUGH = 8
"""Training items of a question below which it is not known which free answer, or which depth, suits it best."""
DECIMALS = 4
Answers: TypeAlias = tuple[Any, ...]
"""Answers, the one that is worth most first."""


def blind(items: Iterable[Item]) -> dict[str, dict[str, float]]:
    """By task `best_single`, `words_alone` and `chance`: means over the test items, rounded to `DECIMALS`.

    `best_single` is the answer that is worth most on the training items, given to every test item. `words_alone`
    gives each test item what is worth most on the training items with its question and its options, else on those
    with its question, else on all; where options are offered, the best of these. For accuracy that is the most
    frequent answer. For other metrics it is the best of at most `MAX_TRIED` truths (`MAX_TRIED_A_QUESTION` a
    question) by their mean score on the items that they were drawn from, and a question with fewer than `ENOUGH`
    training items is not gone by. Boxes are shares of the padded square, as they are answered. Items must have been
    given chances (`with_chance`); a task without any, as with a single test item, has no `chance`. A task without
    training items or without test items is left out.
    """
    items_by_split: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        items_by_split.setdefault((item.task, item.split), []).append(item)
    tasks = [task for task in ABILITIES if (task, "train") in items_by_split and (task, "test") in items_by_split]
    return {task: _baselines(task, items_by_split[task, "train"], items_by_split[task, "test"]) for task in tasks}


def _baselines(task: str, train: Sequence[Item], test: Sequence[Item]) -> dict[str, float]:
    metric = ability_named(task).protocols["strict"].metrics[0]
    learnt = _Learnt(task, metric, [_as_answered(item) for item in train])
    test_items = [_as_answered(item) for item in test]
    best_answer = learnt.overall[0]
    scores = {
        "best_single": _mean(metric, [(item, best_answer) for item in test_items]),
        "words_alone": _mean(metric, [(item, learnt.answer(item)) for item in test_items]),
        "chance": fmean(metric.chance(item) for item in test),
    }
    return {name: round(value, DECIMALS) for name, value in scores.items() if not np.isnan(value)}


def _as_answered(item: Item) -> Item:
    """The item with its answer as it is given: boxes in shares of the padded square."""
    if item.answer_kind != "box":
        return item
    return replace(item, answer=_to_shares(item).box(item.answer))


def _to_shares(item: Item) -> Affine:
    """From pixels of the stored picture to shares of the padded square."""
    width, height = item.query[0].width, item.query[0].height
    share = 1 / max(width, height)
    return padding(width, height).then(Affine(share, 0, 0, 0, share, 0))


def with_chance(items: Sequence[Item]) -> list[Item]:
    """The items; test items of tasks without options with what is had there without seeing. Recipes call it once.

    That is the best single answer (`blind`) where there are training items: a subject that has learnt nothing but what
    answers are like says it, and a mere guess is worth less. Without training items it is a guess: the truth of another
    test item of the task, the mean over up to `PEERS` of them, evenly spread in the order given; an only child has no
    chance. Answers are read under each protocol; what they are worth becomes a measure (`scoring.measured`).
    """
    items_by_split: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        if not ability_named(item.task).has_options:
            items_by_split.setdefault((item.task, item.split), []).append(item)
    items_with_chance: dict[str, Item] = {}
    for (task, split), alike in items_by_split.items():
        if split != "test":
            continue
        train = [_as_answered(item) for item in items_by_split.get((task, "train"), ())]
        single = _Learnt(task, ability_named(task).protocols["strict"].metrics[0], train).overall[:1] if train else ()
        truths = [_as_answered(item).answer for item in alike]
        for index, item in enumerate(alike):
            answers = single or [truths[n] for n in _others(index, len(alike))]
            if answers:
                items_with_chance[item.item_id] = replace(item, measures={**item.measures, **_chances(item, answers)})
    return [items_with_chance.get(item.item_id, item) for item in items]


def _others(index: int, count: int) -> list[int]:
    """The indices of up to `PEERS` others, evenly spread."""
    some = min(PEERS, count - 1)
    return [(index + 1 + n * (count - 1) // some) % count for n in range(some)]


def _chances(item: Item, answers: Sequence[Any]) -> dict[str, float]:
    """The mean score of some answers, boxes in shares of the padded square, under every protocol and metric."""
    spec = item.view().reply
    if item.answer_kind == "box":
        back = _to_shares(item).inverse()
        answers = [back.box(answer) for answer in answers]
    chances: dict[str, float] = {}
    for name, protocol in ability_named(item.task).protocols.items():
        predictions = [protocol.read(spec.write(answer), spec) for answer in answers]
        for metric in protocol.metrics:
            each = [
                metric.worst if prediction is None else metric.score(item, prediction) for prediction in predictions
            ]
            chances[measured(metric.name, name)] = sum(each) / len(each)
    return chances


@dataclass(frozen=True)
class _Learnt:
    """What training items tell whoever does not see them."""

    task: str
    metric: Metric
    train: Sequence[Item]

    @cached_property
    def overall(self) -> Answers:
        return self._best(self.train)

    @cached_property
    def _groups(self) -> Mapping[Hashable, Sequence[Item]]:
        groups: dict[Hashable, list[Item]] = {}
        for item in self.train:
            for words in _words(item):
                groups.setdefault(words, []).append(item)
        return groups

    @cached_property
    def _by_words(self) -> dict[Hashable, Answers]:
        return {}

    def answer(self, item: Item) -> Any:
        """What the words of an item make one say; None where none of its options was ever right."""
        offered = _offered(item)
        for answers in (*map(self._answers_for, _words(item)), self.overall):
            for answer in answers:
                if not offered or answer in offered:
                    return answer
        return None

    def _answers_for(self, key: Hashable) -> Answers:
        if key not in self._by_words:
            group = self._groups.get(key, ())
            few = len(group) < (1 if self.metric.binary else ENOUGH)
            is_everything = len(group) == len(self.train)
            self._by_words[key] = self.overall if is_everything else () if few else self._best(group, group[0].question)
        return self._by_words[key]

    def _best(self, items: Sequence[Item], *question: str) -> Answers:
        """The answers of some items, of all or of one question, best first; of equally frequent ones the task's."""
        if self.metric.binary:
            counts = Counter(item.answer for item in items)
            return tuple(sorted(counts, key=lambda answer: (-counts[answer], -self._counts[answer], answer)))
        max_items = MAX_TRIED_A_QUESTION if question else MAX_TRIED
        if len(items) > max_items:
            rng = stream(SUITE, "blind", self.task, *question)
            items = [items[n] for n in np.sort(rng.choice(len(items), max_items, replace=False))]
        truths = list({_hashed(item.answer): item.answer for item in items}.values())
        mean = _worth(self.metric, items, truths).mean(axis=0)
        order = np.argsort(-mean if self.metric.higher_is_better else mean, kind="stable")
        return tuple(truths[n] for n in order)

    @cached_property
    def _counts(self) -> Mapping[str, int]:
        return Counter(item.answer for item in self.train)


def _words(item: Item) -> Iterator[Hashable]:
    """What may be known of an item's words: question and options, then the question alone."""
    if offered := _offered(item):
        yield item.question, offered
    yield item.question


def _offered(item: Item) -> frozenset[str]:
    return frozenset(option.key for option in item.options)


def _hashed(answer: Any) -> Hashable:
    return tuple(answer) if isinstance(answer, list | tuple) else answer


def _mean(metric: Metric, answered_items: Sequence[tuple[Item, Any]]) -> float:
    """The mean score of answers to items, each worth a guess where it is None."""
    alike: dict[Hashable, list[Item]] = {}
    for item, answer in answered_items:
        alike.setdefault(_hashed(answer), []).append(item)
    total = 0.0
    for answer, items in alike.items():
        total += sum(map(metric.chance, items)) if answer is None else float(_worth(metric, items, [answer]).sum())
    return total / len(answered_items)


def _worth(metric: Metric, items: Sequence[Item], answers: Sequence[Any]) -> NDArray[np.float64]:
    """What each answer is worth for each item, shape (items, answers); the worst where it is not offered."""
    if metric.name == "ciede2000":
        return np.minimum(_colours_apart([item.answer for item in items], answers), metric.worst)
    scores = np.empty((len(items), len(answers)))
    for row, item in zip(scores, items, strict=True):
        offered = _offered(item)
        row[:] = [
            metric.score(item, answer) if not offered or answer in offered else metric.worst for answer in answers
        ]
    return scores


def _colours_apart(truths: Sequence[Any], predictions: Sequence[Any]) -> NDArray[np.float64]:
    """`metrics.ciede2000` of every pair at once: one by one, hundreds of thousands of them take minutes."""
    from skimage.color import deltaE_ciede2000, rgb2lab

    true, predicted = (rgb2lab(np.array(colours, np.float64) / 255.0) for colours in (truths, predictions))
    return np.asarray(deltaE_ciede2000(true[:, None], predicted[None]), np.float64)  # type: ignore[no-untyped-call]
