"""What subjects are asked while benchmarks are built or scored: one task a kind of work, no benchmark of its own.

A recipe that needs a caption or a box, and a protocol that needs a verdict, write items of these tasks; whoever answers
them does so in an ordinary run. No other code calls a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from snellen.core.condition import Condition, Value
from snellen.core.item import AnswerKind, Item, Part, View
from snellen.core.score import Metric, Protocol
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
}
"""Tasks and the kind of answer each asks for. `look-alike`: which example is nearest to the picture asked about."""


def _answered(item: Item, prediction: Any) -> float:
    return 1.0


ANSWERED = Metric("answered", _answered, chance=lambda item: 1.0)
"""Share of readable answers, 0 to 1: there is nothing right or wrong here."""


def _nothing(item: Item, context: ViewContext) -> tuple[Transform, ...]:
    return ()


def _as_it_stands(view: View) -> tuple[Part, ...]:
    """Pictures and wording; the wording says itself what may be answered."""
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
        transforms=_nothing,
        method=_with_examples if name == "look-alike" else _bare,
        protocols={"strict": Protocol("strict", read_answer, (ANSWERED,), by_item)},
    )
    for name, kind in ANSWER_KINDS.items()
}
CARD = read_suite_card(__name__)
SUITE = Suite(CARD, (), TASKS, {}, _resolve)
