"""Which explanation the replies to forced choices support.

An explanation names the answers that an attentive observer would give. A reply follows it, except for lapses, in which
any answer is as likely as any other; the rate of lapses is unknown and integrated out. "unable" explains replies that
have nothing to do with the images.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from snellen_sight.drawing import SightFile
from snellen_sight.frames import PointTrial

FINE, UNABLE = "fine", "unable"
"""The explanation that images arrive unchanged, and that replies do not depend on them."""
LAPSES = (0.01, 0.04, 0.1, 0.2, 0.4)
"""Equally likely rates of lapses."""
SOUND, FAULTY = math.log(20), math.log(200)
"""By how much an explanation must be more likely than any other: the usual 20 to 1, and more to accuse a server."""


@dataclass(frozen=True)
class SightQuestion:
    """One call of a check: images, then a question with its possible `answers`.

    `expected` has, by explanation, the answers that are right at each place of the reply. A choice has one place, a
    list several. `side` is that of a chart with rings, whose gaps in pixels are `gaps`. `trial` has the target of a
    question about a point. `earlier` are turns before the question, each an image, a question and its reply.
    """

    group: str
    images: tuple[SightFile, ...]
    text: str
    answers: tuple[str, ...]
    expected: Mapping[str, tuple[frozenset[str], ...]]
    side: int = 0
    gaps: tuple[float, ...] = ()
    trial: PointTrial | None = None
    earlier: tuple[tuple[SightFile, str, str], ...] = ()

    @property
    def right(self) -> tuple[str, ...]:
        """The right answer at each place."""
        return tuple(min(answers) for answers in self.expected[FINE])


SYNONYMS = {"gray": "grey", "purple": "magenta", "pink": "magenta", "up": "top", "down": "bottom"}
_SIDES = re.compile(r"\b(top|bottom|upper|lower)[\s-]*(left|right)\b")


def read_answers(reply: str, question: SightQuestion) -> tuple[str, ...]:
    """The answers in a reply, in order; the last one alone for a choice. Empty if there are none."""
    text = reply if all(len(answer) == 1 for answer in question.answers) else reply.lower()
    if text != reply:
        text = _SIDES.sub(lambda m: f"{ {'top': 'upper', 'bottom': 'lower'}.get(m[1], m[1]) } {m[2]}", text)
        for word, answer in SYNONYMS.items():
            text = re.sub(rf"\b{word}\b", answer, text)
    words = "|".join(re.escape(answer) for answer in sorted(question.answers, key=len, reverse=True))
    answers = re.findall(rf"(?<!\w)(?:{words})(?!\w)", text)
    return tuple(answers[-1:] if len(question.expected[FINE]) == 1 else answers)


def sees_no_image(reply: str) -> bool:
    """True for a reply that says that there is no image."""
    return bool(
        re.search(r"\b(image|pictur|photo|attachment|visual)", reply, re.IGNORECASE)
        and re.search(r"\b(no|not|any|unable|without|cannot)\b|n['’]t\b", reply, re.IGNORECASE)
    )


def log_likelihoods(replies: Iterable[tuple[SightQuestion, str]], explanations: Sequence[str]) -> dict[str, float]:
    """The logarithm of the likelihood of all replies under each explanation and under `UNABLE`.

    Replies in which no answer can be read say nothing, except that those which see no image support `UNABLE`.
    """
    answered = [(question, read_answers(reply, question), reply) for question, reply in replies]
    logs = {}
    for explanation in (*explanations, UNABLE):
        by_lapse = [
            sum(_log_likelihood(question, answers, reply, explanation, lapse) for question, answers, reply in answered)
            for lapse in LAPSES
        ]
        top = max(by_lapse)
        logs[explanation] = top + math.log(sum(math.exp(log - top) for log in by_lapse) / len(LAPSES))
    return logs


def _log_likelihood(
    question: SightQuestion, answers: Sequence[str], reply: str, explanation: str, lapse: float
) -> float:
    alternatives = len(question.answers)
    if not answers:
        return math.log(lapse / 4 if explanation != UNABLE else 0.25) if sees_no_image(reply) else 0.0
    guessed = -len(answers) * math.log(alternatives)
    if explanation == UNABLE:
        return guessed
    places = question.expected[explanation]
    if len(places) != len(answers):
        return math.log(lapse) + guessed
    return sum(
        math.log((1 - lapse) / len(place) * (answer in place) + lapse / alternatives)
        for place, answer in zip(places, answers, strict=True)
    )


def best(likelihoods: Mapping[str, float]) -> str | None:
    """By log likelihoods, the explanation that is likely enough compared with all others, or None."""
    first, second = sorted(likelihoods, key=lambda name: -likelihoods[name])[:2]
    least = SOUND if first == FINE else FAULTY
    return first if likelihoods[first] - likelihoods[second] >= least - 1e-9 else None
