"""What a check is: questions of one kind, and the line that follows from the replies."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from snellen_sight.drawing import SightFile
from snellen_sight.likelihood import FINE, SightQuestion, best, log_likelihoods, read_answers
from snellen_sight.results import SightLine, Verdict

COLOUR_ALONE = "Reply with the colour alone."
MOST_WRONG = 0.2
"""The share of wrong answers that lapses may explain."""
Draw = Callable[[np.random.Generator, int], SightQuestion]
Logs = Mapping[str, float]


@dataclass(frozen=True)
class SightCheck:
    """Questions of one kind, from which the line `check` follows: `draw` makes the n-th one.

    `base` are asked, and up to `most` if these decide nothing. `texts` are the lines by explanation, `weak` the
    reasons of further ones that decide nothing, and `topic` begins the line if nothing is decided. `needs_colours`: it
    cannot be asked if colours arrive inverted. `conclude` makes the line from the replies in place of explanations.
    """

    check: str
    draw: Draw
    base: int
    most: int
    topic: str
    texts: Mapping[str, str]
    weak: Mapping[str, str] = field(default_factory=dict)
    needs_colours: bool = False
    conclude: Callable[[Sequence[tuple[SightQuestion, str]]], SightLine] | None = None

    @property
    def explanations(self) -> tuple[str, ...]:
        """All explanations, without `UNABLE`."""
        return (*self.texts, *self.weak)

    def line(self, replies: Sequence[tuple[SightQuestion, str]]) -> SightLine:
        """The line that follows from the replies."""
        if self.conclude is not None:
            return self.conclude(replies)
        explanation = self._explanation(replies)
        if explanation is not None and explanation in self.texts:
            verdict: Verdict = "fine" if explanation == FINE else "not so"
            return SightLine(check=self.check, verdict=verdict, text=self.texts[explanation])
        reason = "the replies fit no explanation well"
        if explanation is not None:
            reason = self.weak.get(explanation, "the replies do not depend on the images")
        return SightLine(check=self.check, verdict="cannot tell", text=f"{self.topic}: {reason}")

    def is_decided(self, replies: Sequence[tuple[SightQuestion, str]]) -> bool:
        """True if further questions are not needed."""
        if self.conclude is not None:
            return self.conclude(replies).verdict != "cannot tell"
        return self._explanation(replies) is not None

    def _explanation(self, replies: Sequence[tuple[SightQuestion, str]]) -> str | None:
        """The explanation that is likely enough; `FINE` only if at most `MOST_WRONG` of the answers are wrong."""
        explanation = best(self._likelihoods(replies))
        return None if explanation == FINE and share_wrong(replies) > MOST_WRONG else explanation

    def _likelihoods(self, replies: Sequence[tuple[SightQuestion, str]]) -> dict[str, float]:
        """The log likelihoods of the explanations that the questions asked tell from images that arrive unchanged."""
        tested = [
            name for name in self.explanations
            if name == FINE or any(question.expected[name] != question.expected[FINE] for question, _ in replies)
        ]  # fmt: skip
        return by_text(self, log_likelihoods(replies, tested))


def share_wrong(replies: Sequence[tuple[SightQuestion, str]]) -> float:
    """The share of the answers that are not right; all of a list of another length are wrong."""
    wrong = count = 0
    for question, reply in replies:
        places = question.expected[FINE]
        if answers := read_answers(reply, question):
            count += len(places)
            is_list = len(answers) == len(places)
            wrong += sum(a not in p for a, p in zip(answers, places, strict=True)) if is_list else len(places)
    return wrong / max(1, count)


def by_text(check: SightCheck, likelihoods: Logs) -> dict[str, float]:
    """The log likelihoods of explanations; of those with the same text the first has that of the best."""
    firsts: dict[str, str] = {}
    merged: dict[str, float] = {}
    for name, log in likelihoods.items():
        first = firsts.setdefault(check.texts.get(name, name), name)
        merged[first] = max(log, merged.get(first, -math.inf))
    return merged


def choice(group: str, file: SightFile, text: str, answers: Sequence[str], **expected: str) -> SightQuestion:
    """A question about one image with one answer, which each explanation expects."""
    places = {name: (frozenset({answer}),) for name, answer in expected.items()}
    return SightQuestion(group, (file,), text, tuple(answers), places)


def listed(answers: Sequence[str]) -> str:
    """The answers as a question lists them."""
    return f"{', '.join(answers[:-1])} or {answers[-1]}"
