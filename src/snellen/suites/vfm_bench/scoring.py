"""How VFM Bench is scored: `strict`, and `published`, which marks replies as the released code does.

The code (xiaoyuanzi914/VisualFastMappingBenchmark, `run_evalset.py`, May 2025) is more generous than the exact match of
the paper's section 3.3; `suite.yaml` says how. What is made of accuracies stands in `curves.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from snellen.core.item import Item, ReplySpec
from snellen.core.score import Metric, Protocol
from snellen.scoring.protocols import by_item, guess, strict

ERRORS = ("Error", "error")
"""A reply that holds one of these, thoughts included, is a failed call to the released code."""
NO_IMAGE = "provide"
"""A reply that holds this where the answer should be is taken for a complaint that no image came through."""
ANSWER, FINAL, THOUGHTS = "<answer>", "Final Answer", ("</thinking>", "</think>")


def answer_part(part: str) -> str:
    """The part of a reply that the released code looks for the class in.

    What stands between the first `<answer>` and the next, and of that what stands behind the last end of thoughts.
    """
    if ANSWER in part:
        part = part.split(ANSWER)[1]
    for end in THOUGHTS:
        part = part.rpartition(end)[2]
    return part


def read_named(text: str, spec: ReplySpec) -> tuple[str, ...] | None:
    """The keys of all offered classes whose shown name stands in the answer, letter for letter, even within a word.

    Of a reply with `Final Answer` only what stands behind it is looked at (the code does so on one of its routes to
    models). None for what the code takes for an error; a reply that names no class is none, it is read and wrong.
    """
    reply = text.rpartition(FINAL)[2]
    part = answer_part(reply)
    if any(error in reply for error in ERRORS) or NO_IMAGE in part:
        return None
    return tuple(key for key in spec.offered if spec.name(key) in part)


def named(item: Item, prediction: tuple[str, ...]) -> float:
    """1.0 where the true class is among those named, whatever else is, else 0.0."""
    return float(item.answer in prediction)


NAMED = Metric("accuracy", named, chance=guess, binary=True)
"""Share of replies that name the true class, 0 to 1, higher is better. Chance is one over the number of classes: that
of a guesser who names one, where no name is part of another. A reply that names every class is always right."""

STRICT = strict()
PUBLISHED = Protocol("published", read_named, (NAMED,), by_item, "left out")
PROTOCOLS: Mapping[str, Protocol] = MappingProxyType({protocol.name: protocol for protocol in (STRICT, PUBLISHED)})
