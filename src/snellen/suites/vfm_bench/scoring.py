"""Scoring of VFM Bench: `strict`, and `published`, which scores replies as the released code does.

The code (xiaoyuanzi914/VisualFastMappingBenchmark, `run_evalset.py`, May 2025) is more generous than the exact match of
the paper's section 3.3; `suite.yaml` describes the difference. `shot_curves` has the statistics of accuracies.
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core.item import Item, ReplySpec
from snellen.core.score import Metric, Protocol
from snellen.scoring.protocols import by_item, guess, strict

ERRORS = ("Error", "error")
"""The released code treats a reply that contains one of these, even in its thoughts, as a failed call."""
NO_IMAGE = "provide"
"""The released code treats an answer that contains this as a complaint about a missing image."""
ANSWER, FINAL, THOUGHTS = "<answer>", "Final Answer", ("</thinking>", "</think>")


def answer_part(part: str) -> str:
    """The part of a reply in which the released code looks for the class.

    The text between the first `<answer>` and the next one, after the last end of thoughts in it.
    """
    if ANSWER in part:
        part = part.split(ANSWER)[1]
    for end in THOUGHTS:
        part = part.rpartition(end)[2]
    return part


def read_named(text: str, spec: ReplySpec) -> tuple[str, ...] | None:
    """The keys of all offered classes whose shown name is in the answer, letter for letter, even within a word.

    Only the text after `Final Answer`, if present, is read (as in one of the code's routes to models). None for what
    the code treats as an error; a reply that names no class is not an error, but wrong.
    """
    reply = text.rpartition(FINAL)[2]
    part = answer_part(reply)
    if any(error in reply for error in ERRORS) or NO_IMAGE in part:
        return None
    return tuple(key for key in spec.offered if spec.name(key) in part)


def named(item: Item, prediction: tuple[str, ...]) -> float:
    """1.0 if the true class is among those named, whatever others are, else 0.0."""
    return float(item.answer in prediction)


NAMED = Metric("accuracy", named, chance=guess, binary=True)
"""Share of replies that name the true class, 0 to 1, higher is better. Chance is one over the number of classes: that
of a guesser that names one class, if no name is part of another. A reply that names every class is always right."""

STRICT = strict()
PUBLISHED = Protocol("published", read_named, (NAMED,), by_item, "left out")
PROTOCOLS: Mapping[str, Protocol] = {protocol.name: protocol for protocol in (STRICT, PUBLISHED)}
