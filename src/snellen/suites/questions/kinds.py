"""The tasks of an item set, one set of protocols per kind of answer, and the axes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from snellen.core.condition import Axis, Condition
from snellen.core.grouping import lists_by_key
from snellen.core.item import Item, Part, View
from snellen.core.score import Metric, Protocol
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import Method, Task, Transform, ViewContext, read_suite_card
from snellen.presentation.controls import FRAMES, IMAGES, ORDER, Lettered, control, order_transforms
from snellen.presentation.methods import OneByOne
from snellen.scoring.answers.texts import key_forms, read_text
from snellen.scoring.metrics import anls, exact_match, peers
from snellen.scoring.protocols import ACCURACY, all_right, correct, strict
from snellen.stimuli.transforms.frames import Frames
from snellen.suites.questions.lists import options_in
from snellen.suites.questions.prompts import PLACEHOLDER, for_people, lists_options, placed, words
from snellen.suites.questions.sizes import is_reduced, reduced_protocol, schedule

CARD = read_suite_card("snellen.suites.questions")
SUITE, VERSION = CARD.name, CARD.version
METHOD = Axis("method", ("direct", "reasoning", "verbatim"), "the form of the answer asked for, with reasons, or not")
AXES = (METHOD, ORDER, FRAMES, IMAGES)
SAME, NEAR = 1e-6, 0.05
"""Greatest error of a right number, as a share of the right one: of `accuracy`, and of `relaxed_accuracy`."""


def _subsets(item: Item) -> int:
    return int(2 ** len(item.options)) - 1


def jaccard(item: Item, prediction: Sequence[str]) -> float:
    """Options in both sets over options in either, 0 to 1; higher is better. Both sets hold keys, and are not empty."""
    right, given = set(item.answer), set(prediction)
    return len(right & given) / len(right | given)


def expected_jaccard(item: Item) -> float:
    """The mean `jaccard` of all subsets of the options that are not empty."""
    right, wrong = len(item.answer), len(item.options) - len(item.answer)
    total = sum(
        math.comb(right, both) * math.comb(wrong, other) * both / (right + other)
        for both in range(right + 1)
        for other in range(wrong + 1)
    )
    return total / _subsets(item)


def _within(share: float, item: Item, prediction: float) -> float:
    """1.0 if the number differs from the answer by at most this share of it, else 0.0."""
    return float(abs(prediction - item.answer) <= share * abs(item.answer))


def _accepted(item: Item) -> set[str]:
    texts = item.answer if isinstance(item.answer, tuple) else (item.answer,)
    return {form for text in texts for form in key_forms(text)}


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".")


def same_text(item: Item, prediction: str) -> float:
    """1.0 if the text is one of those accepted, regardless of case, spaces and a final full stop, else 0.0."""
    return max(exact_match(_plain(text), _plain(prediction)) for text in _accepted(item))


def nearest_text(item: Item, prediction: str) -> float:
    """The greatest ANLS with a text that is accepted, 0 to 1; higher is better."""
    return max(anls(text, prediction) for text in _accepted(item))


def _metric(name: str, score: Callable[..., float], binary: bool = True) -> Metric:
    """A metric of free answers; its chance is stored with the item (`with_chance`)."""
    chance: Callable[[Item], float] = lambda item: item.measures.get(f"chance_{name}", math.nan)  # noqa: E731
    return Metric(name, score, chance=chance, binary=binary)


PROTOCOLS: Mapping[str, Protocol] = {
    "choice": strict(ACCURACY),
    "true_false": strict(ACCURACY),
    "choices": strict(
        Metric("accuracy", correct, chance=lambda item: 1 / _subsets(item), binary=True),
        Metric("jaccard", jaccard, chance=expected_jaccard),
    ),
    "integer": strict(_metric("accuracy", correct)),
    "number": strict(_metric("accuracy", partial(_within, SAME)), _metric("relaxed_accuracy", partial(_within, NEAR))),
    "text": replace(
        strict(_metric("anls", nearest_text, binary=False), _metric("accuracy", same_text)),
        read=read_text,
        agrees=lambda item, prediction: same_text(item, prediction) == 1,
    ),
}
"""`strict` by kind of answer. Several options: all of them and no other (`accuracy`), and their overlap."""


SHORT, MOST_COMPARED = 50, 10**8
"""Characters that take as long as a comparison without any, and pairs of characters compared for the chance of an item:
about 0.1 seconds."""


def with_chance(items: Sequence[Item]) -> list[Item]:
    """The items, with the chance of free answers as measures: the mean score of other items' answers.

    Long texts hardly ever resemble each other, so that fewer of them are compared; if none is, the chance is 0.
    """
    by_task = lists_by_key((item.task, item) for item in items if item.split == "test" and not item.options)
    measures: dict[str, Mapping[str, float]] = {}
    for task_items in by_task.values():
        for index, item in enumerate(task_items):
            others = [task_items[n].answer for n in peers(index, len(task_items))]
            answers = [other[0] if isinstance(other, tuple) else other for other in others]
            if item.answer_kind == "text":
                size = sum(len(text) + SHORT for text in _accepted(item)) * (max(map(len, answers), default=0) + SHORT)
                answers = answers[: MOST_COMPARED // size]
            measures[item.item_id] = {
                f"chance_{metric.name}": sum(metric.score(item, answer) for answer in answers) / max(1, len(answers))
                for metric in PROTOCOLS[item.answer_kind].metrics
                if others
            }
    return [replace(item, measures=measures[item.item_id]) if item.item_id in measures else item for item in items]


@dataclass(frozen=True)
class Named:
    """Names the options: by the letters of a question that lists them, by their words, or by A, B, C .. as listed."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with these names; the text of an option names it too."""
        if view.options and len(view.options) <= 26 and lists_options(view, _embedded(view.question)):
            return Lettered()(view, media, rng)
        keys: list[tuple[str, str]] = []
        is_named = view.reply.kind in ("choice", "choices") and len(view.options) <= 26
        for option in view.options:
            is_letter = len(option.text) == 1 and option.text.isalpha()
            texts = [option.key] * is_named + [option.text] * (not is_named or not is_letter)
            keys += [(name, option.key) for name in texts if name]
        return replace(view, reply=replace(view.reply, keys=tuple(keys)))


def _embedded(question: str) -> tuple[str, ...]:
    return tuple(key for key, _ in options_in(question))


def _transforms(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    condition = context.condition
    frames = () if condition["frames"] == "native" or not _has_video(item) else (Frames(str(condition["frames"])),)
    return (*order_transforms(condition["order"]), Named(), *frames, *control(condition["images"], context))


def _has_video(item: Item) -> bool:
    return any(media.kind == "video" for media in item.query)


def _asks(item: Item, condition: Condition) -> bool:
    """True unless the options are to be shuffled and the prompt does not list them."""
    return condition["order"] == "stored" or lists_options(item.view(), _embedded(item.question))


def _method(condition: Condition) -> Method:
    method = str(condition["method"])

    def present(view: View) -> tuple[Part, ...]:
        return placed(words(view, method, _embedded(view.question)), view.query)

    return OneByOne(present)


def tasks_of(items: Sequence[Item]) -> dict[str, Task]:
    """The tasks of an item set by name: kind of answer, factors, training items and groups are those of its items.

    If some items share a group, the protocol `all-right` counts groups of which all items are right.
    """
    by_task = lists_by_key((item.task, item) for item in items if item.answer_kind in PROTOCOLS)  # no others
    tasks = {}
    for name, of_task in by_task.items():
        kind = of_task[0].answer_kind
        protocols = {"strict": PROTOCOLS[kind]}
        has_image_options = any(PLACEHOLDER.search(option.text) for item in of_task for option in item.options)
        if has_levels := is_reduced(of_task[0]):
            protocols = {"strict": reduced_protocol(PROTOCOLS[kind])}
        elif max(Counter(item.group_id for item in of_task).values()) > 1:
            accuracy = tuple(metric for metric in PROTOCOLS[kind].metrics if metric.binary)[:1]
            protocols["all-right"] = replace(PROTOCOLS[kind], name="all-right", metrics=accuracy, units=all_right)
        tasks[name] = Task(
            id=name,
            kind=kind,
            axes=tuple(axis.name for axis in AXES if axis != FRAMES or any(map(_has_video, of_task))),
            transforms=_transforms,
            method=_method,
            protocols=protocols,
            train_split="train" if any(item.split == "train" for item in of_task) else None,
            asks=_asks,
            question_for_people=None if has_image_options else for_people,
            split_by=() if has_levels else tuple(of_task[0].factors),
            schedule=schedule if has_levels else None,
        )
    return tasks
