"""Questions to subjects while benchmarks are built or scored: one task per kind of work, not a separate benchmark.

A recipe that needs a caption or a box, and a protocol that needs a verdict, write items of these tasks. A model or
people answer them in an ordinary run. No other code calls a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from snellen.core.condition import Condition
from snellen.core.item import AnswerKind, Item, Part, View
from snellen.core.score import Metric, Protocol
from snellen.core.storage.media import MediaFolder
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
"""The kind of answer of each task.

`look-alike`: the example nearest to the query image. `decision`: one of the words given as options, with texts that
explain them; ratings on a scale are decisions too.
"""


ANSWERED = Metric("answered", lambda item, prediction: 1.0, chance=lambda item: 1.0)
"""Share of readable answers, 0 to 1; no answer is right or wrong."""


def _nothing(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return ()


@dataclass(frozen=True)
class NamedByKey:
    """Options are named by their keys, and their texts only explain them: `keep`, not its explanation."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with these names."""
        keys = tuple((option.key, option.key) for option in view.options)
        return replace(view, reply=replace(view.reply, keys=keys))


def _named_by_key(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return (NamedByKey(),)


def _query_and_question(view: View) -> tuple[Part, ...]:
    """The images and the question, which itself lists the possible answers."""
    return (*view.query, view.question)


def _bare(condition: Condition) -> Method:
    return OneByOne(_query_and_question)


def _with_examples(condition: Condition) -> Method:
    return OneByOne(plain)


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
SUITE = Suite(CARD, (), TASKS, {})
