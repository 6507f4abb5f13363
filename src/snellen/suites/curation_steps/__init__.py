"""What subjects are asked while benchmarks are built or scored: one task a kind of work, no benchmark of its own.

A recipe that needs a caption or a box, and a protocol that needs a verdict, write items of these tasks; whoever answers
them, a model or people, does so in an ordinary run. No other code calls a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from snellen.core.condition import Condition, Value
from snellen.core.item import AnswerKind, Item, Part, View
from snellen.core.score import Metric, Protocol
from snellen.core.storage.media import MediaFolder
from snellen.core.subject import SubjectCard
from snellen.core.suite import Method, Suite, Task, Transform, ViewContext, read_suite_card
from snellen.presentation.methods import OneByOne
from snellen.presentation.presenters import plain
from snellen.scoring.answers import read_answer
from snellen.scoring.protocols import by_item

ANSWER_KINDS: Mapping[str, AnswerKind] = {
    "judgement": "integer",
    "reading": "text",
    "screening": "text",
    "caption": "description",
    "detection": "text",
    "log-probability": "number",
    "answer-pair": "text",
    "look-alike": "choice",
    "decision": "choice",
}
"""Tasks and the kind of answer each asks for.

`look-alike`: which example is nearest to the image asked about. `decision`: one of the words given as options, whose
texts say what they mean; so are ratings on a scale.
"""


def _answered(item: Item, prediction: Any) -> float:
    return 1.0


ANSWERED = Metric("answered", _answered, chance=lambda item: 1.0)
"""Share of readable answers, 0 to 1: there is nothing right or wrong here."""


def _nothing(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return ()


@dataclass(frozen=True)
class NamedByKey:
    """Options are called by their keys, and their texts only say what they mean: `keep`, not its explanation."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with these names."""
        keys = tuple((option.key, option.key) for option in view.options)
        return replace(view, reply=replace(view.reply, keys=keys))


def _named_by_key(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return (NamedByKey(),)


def _as_it_stands(view: View) -> tuple[Part, ...]:
    """Images and wording; the wording says itself what may be answered."""
    return (*view.query, view.question)


def _bare(condition: Condition) -> Method:
    return OneByOne(_as_it_stands)


def _with_examples(condition: Condition) -> Method:
    return OneByOne(plain)


def _resolve(condition: Condition, card: SubjectCard) -> Mapping[str, Value]:
    return {}


TASKS = {
    name: Task(
        id=name,
        kind=kind,
        axes=(),
        transforms=_named_by_key if name == "decision" else _nothing,
        method=_with_examples if kind == "choice" else _bare,
        protocols={"strict": Protocol("strict", read_answer, (ANSWERED,), by_item)},
    )
    for name, kind in ANSWER_KINDS.items()
}
CARD = read_suite_card(__name__)
SUITE = Suite(CARD, (), TASKS, {}, _resolve)
