"""Questions to subjects while benchmarks are built or scored: one task per kind of work, not a separate benchmark.

A recipe that needs a caption or a box, and a protocol that needs a verdict, write items of these tasks. A model or
people answer them in an ordinary run. No other code calls a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from snellen.core.item import AnswerKind, Part, View
from snellen.core.score import Metric, Protocol
from snellen.core.storage.media import MediaFolder
from snellen.core.suite import Suite, Task, Transform, read_suite_card
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


@dataclass(frozen=True)
class NamedByKey:
    """Options are named by their keys, and their texts only explain them: `keep`, not its explanation."""

    version: int = 1

    def __call__(self, view: View, media: MediaFolder, rng: np.random.Generator) -> View:
        """The view with these names."""
        keys = tuple((option.key, option.key) for option in view.options)
        return replace(view, reply=replace(view.reply, keys=keys))


def _query_and_question(view: View) -> tuple[Part, ...]:
    """The images and the question, which itself lists the possible answers."""
    return (*view.query, view.question)


def _task(name: str, kind: AnswerKind) -> Task:
    """Choices are shown with their examples; decisions are named by their keys."""
    method = OneByOne(plain if kind == "choice" else _query_and_question)
    transforms: tuple[Transform, ...] = (NamedByKey(),) if name == "decision" else ()
    return Task(
        id=name,
        kind=kind,
        axes=(),
        transforms=lambda item, context: transforms,
        method=lambda condition: method,
        protocols={"strict": Protocol("strict", read_answer, (ANSWERED,), by_item)},
    )


TASKS = {name: _task(name, kind) for name, kind in ANSWER_KINDS.items()}
CARD = read_suite_card(__name__)
SUITE = Suite(CARD, (), TASKS, {})
