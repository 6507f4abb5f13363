"""The lines that do not follow from one check alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from snellen_sight.checks.check import Logs
from snellen_sight.likelihood import FINE, UNABLE, SightQuestion, best, read_answers
from snellen_sight.results import SightCall, SightLine


def image_line(colours: Logs, replies: Sequence[tuple[SightQuestion, str]]) -> SightLine:
    """Whether an image arrives at all: a model that names no colour of a whole image gets none of it.

    `replies` to these questions, of which `colours` are the log likelihoods, are quoted if all are the same.
    """
    answers = {answer for question, reply in replies for answer in read_answers(reply, question)}
    others = {name: colours[name] for name in (UNABLE, "previous")}
    sighted = {FINE: max(log for name, log in colours.items() if name not in others), **others}
    explanation = best(sighted)
    if explanation is None:
        return SightLine("image", "cannot tell", "whether an image arrives: the replies fit no explanation well")
    if explanation == FINE:
        return SightLine("image", "fine", "an image arrives")
    text = "no image reaches the model: its replies about the colour of the whole image do not depend on it"
    if explanation == "previous":
        text = "images are mixed up: each call gets the image of the call before it"
    elif len(answers) == 1:
        text = f"the model always answers “{answers.pop()}”, whatever colour fills the image"
    return SightLine("image", "not so", text)


def token_line(calls: Sequence[SightCall], sides: Mapping[str, int]) -> SightLine:
    """The server's own counts of tokens by the size of the image: evidence that does not depend on the replies."""
    counts: dict[int, list[int]] = {}
    for call in calls:
        if call.group in sides and call.tokens_in:
            counts.setdefault(sides[call.group], []).append(call.tokens_in)
    if len(counts) < 2:
        return SightLine(check="tokens", verdict="cannot tell", text="tokens: the server reports no counts for images")
    by_side = {side: round(median(numbers)) for side, numbers in sorted(counts.items())}
    numbers = ", ".join(f"{count} at {side} px" for side, count in by_side.items())
    smallest, largest = min(by_side.values()), max(by_side.values())
    if largest <= 1.02 * smallest:
        text = f"the server counts the same tokens for every size ({numbers}), as if all images had one size"
        return SightLine(check="tokens", verdict="cannot tell", text=text)
    return SightLine(check="tokens", verdict="fine", text=f"the server counts more tokens for larger images: {numbers}")
