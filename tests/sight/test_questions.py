"""Every question of the checks, what follows from each kind of reply, and whole examinations, as goldens."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Iterator
from functools import cache
from itertools import groupby
from typing import Any

import pytest
from PIL import Image

from snellen.core.hashing import sha256
from snellen_sight import drawing, resolution
from snellen_sight.asking import Sighting, stream
from snellen_sight.checks import CHECKS, pointing
from snellen_sight.completions import ChatReply
from snellen_sight.drawing import SightFile
from snellen_sight.frames import SENT
from snellen_sight.likelihood import FINE, SightQuestion
from snellen_sight.resolution import SIDES, Charts
from snellen_sight.retry import Trouble
from tests.goldens.golden import assert_golden


def described(file: SightFile) -> str:
    """An image by its format, size, orientation and pixels, which JPEG does not keep."""
    image = Image.open(io.BytesIO(file.raw))
    pixels = sha256(image.tobytes())[:10] if file.format == "png" else image.getexif()[drawing.ORIENTATION]
    assert image.size == file.size
    return f"{file.format} {image.mode} {image.width} x {image.height} {pixels}"


def question_lines(question: SightQuestion) -> Iterator[str]:
    """The words of a question, its images and earlier turns, and what each explanation expects."""
    yield f"{question.group}: {question.text}"
    yield from (f"  {described(file)}" for file in question.images)
    yield from (f"  earlier {described(file)}: {text} {reply}" for file, text, reply in question.earlier)
    for name, answers in question.expected.items():
        yield f"  {name}: {'; '.join(' or '.join(sorted(answer)) for answer in answers)}"
    yield f"  {question.side} {[round(gap, 6) for gap in question.gaps]} {question.trial}"


@cache
def question_of(name: str, number: int) -> SightQuestion:
    """The question of a check with this number, drawn once for all tests."""
    return CHECKS[name].draw(stream("golden", number), number)


def test_questions_of_every_check_are_drawn_as_they_were() -> None:
    lines = list[str]()
    for name, check in CHECKS.items():
        lines.append(f"== {name}: {check.check}, {check.base} to {check.most}, {check.topic}, {check.needs_colours}")
        for number in range(check.most):
            lines += question_lines(question_of(name, number))
    for number in range(14):
        unit = (pointing.SHARES, SENT)[number % 2]
        lines += question_lines(pointing.question(number, stream("golden", number), unit))
    for side in SIDES:
        lines += question_lines(Charts().draw(side, stream("golden", side)))
    assert_golden("sight/questions.txt", "\n".join(lines) + "\n")


def replies_to(name: str, explanation: str) -> list[tuple[SightQuestion, str]]:
    """The replies of an observer of what an explanation says; where several answers fit, each in turn."""
    questions = [question_of(name, number) for number in range(CHECKS[name].most)]
    return [
        (question, ", ".join(sorted(answer)[number % len(answer)] for answer in question.expected[explanation]))
        for number, question in enumerate(questions)
    ]


def test_replies_by_each_explanation_lead_to_its_line() -> None:
    lines = list[str]()
    for name, check in CHECKS.items():
        for explanation in check.explanations or (FINE,):
            replies = replies_to(name, explanation)
            decided = [count for count in range(1, check.most + 1) if check.is_decided(replies[:count])]
            lines.append(f"{name}, {explanation}: {check.line(replies)}, decided by {decided}")
        habit = [(question, question.answers[0]) for question, _ in replies_to(name, FINE)]
        lines.append(f"{name}, a habit: {check.line(habit)}")
        mixed = [*replies_to(name, FINE)[: check.most // 2], *habit[check.most // 2 :]]
        lines.append(f"{name}, half a habit: {check.line(mixed)}")
    assert_golden("sight/lines.txt", "\n".join(lines) + "\n")


def right(question: SightQuestion) -> str:
    return ", ".join(question.right)


def small(question: SightQuestion) -> str:
    """As if images had no side above 512 px: gaps are named down to 2 px, and others are called right."""
    scale = min(1.0, 512 / question.side) if question.side else 1.0
    gaps = question.gaps or (9.0,) * len(question.right)
    return ", ".join(answer if gap * scale > 2 else "right" for answer, gap in zip(question.right, gaps, strict=True))


def inverted(question: SightQuestion) -> str:
    (colour,) = question.expected["inverted"][0] if question.group == "colours" else question.expected[FINE][0]
    return colour


def torn(question: SightQuestion) -> str:
    """The gap of a ring that is larger than a tile is named wrongly."""
    is_torn = question.group == "whole" and question.images[0].size[0] > 1000
    return {"right": "left"}.get(right(question), "right") if is_torn else right(question)


Reply = Callable[[SightQuestion], str]
EXAMINATIONS: dict[str, tuple[Reply, dict[str, Any]]] = {
    "all is right": (right, {}),
    "images are made small": (small, {"seed": 2}),
    "colours are inverted": (inverted, {"sides": (), "asks_points": False}),
    "tiles": (torn, {
        "checks": tuple(CHECKS[name] for name in ("whole", "order")), "most_calls": 36, "asks_points": False,
    }),
    "few calls": (right, {"most_calls": 40, "at_once": 3}),
    "turns are declined": (right, {"declines": lambda question: "no turns" * bool(question.earlier), "sides": ()}),
    "two canvases": (right, {"sides": (448, 2048), "checks": (), "most_calls": 12, "asks_points": False}),
    "it always says red": (lambda question: "red", {}),
}  # fmt: skip
UNNEEDED = ("filled", "letter", "framed", "transparent", "bands", "ellipse", "striped", "gradients")
"""What is not drawn, because only questions and replies count."""


@pytest.mark.parametrize("name", EXAMINATIONS)
def test_whole_examinations_ask_and_conclude_as_they_did(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, names in ((drawing, UNNEEDED), (resolution, ("chart",)), (pointing, ("target_image",))):
        for each in names:
            monkeypatch.setattr(module, each, lambda *arguments: Image.new("RGB", (8, 8)))
    monkeypatch.setattr(drawing, "ring", lambda side, *more: Image.new("L", (side, 8)))
    reply, settings = EXAMINATIONS[name]
    under_way, counts = [0], list[int]()

    async def ask(question: SightQuestion, number: int) -> ChatReply | Trouble:
        under_way[0] += 1
        counts.append(under_way[0])
        await asyncio.sleep(0)
        under_way[0] -= 1
        if number % 23 == 22:
            return Trouble("busy", again=True)
        return ChatReply(reply(question), tokens_in=50 + question.side // 4)

    done = list[int]()
    examination = Sighting(ask, after_call=done.append, **settings)
    asyncio.run(examination.ask_all())
    assert sorted(done) == list(range(1, len(done) + 1))
    groups = [(group, len([*calls])) for group, calls in groupby(question.group for question, _ in examination.calls)]
    failed = [number for number, (_, call) in enumerate(examination.calls) if call.reply is None]
    lines = [f"{group} x {count}" for group, count in groups]
    lines += [f"at most {max(counts)} at once; {failed} without a reply; declined: {examination.declined}"]
    lines += [f"{line.check} | {line.verdict} | {line.text}" for line in examination.lines()]
    scales = {side: [round(number, 3) for number in scale] for side, scale in examination.scales().items()}
    lines += [f"scales {scales}", str(examination.calls[-1][1])]
    assert_golden(f"sight/examination-{name.replace(' ', '-')}.txt", "\n".join(lines) + "\n")
