"""`sight`: asks the questions of the checks, at most `MOST_CALLS`, and draws the conclusions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from snellen.compute.event_loop import run_to_end
from snellen.core.errors import CallFailed, SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.prompt import Prompt
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.sight import SightCall, SightCard, SightLine, keep_sight, write_sight
from snellen.core.subject import Subject
from snellen.exam.sight.checks import CHECKS, STABLE_CHECKS, by_text, image_line, token_line
from snellen.exam.sight.encoders import encoder_lines
from snellen.exam.sight.likelihood import SightQuestion, best, log_likelihoods
from snellen.exam.sight.resolution import SHARES, SIDES, Charts, resolution_line
from snellen.runs.asking.preflight import make_subjects
from snellen.subjects.encoders.subject import EncoderSubject
from snellen.subjects.from_callable import AnswerFunction, wrap

MOST_CALLS = 60
CHARTS = 12
"""Charts that are kept for resolution; calls that are not needed elsewhere are added."""
BATCH = 4
"""Charts that are asked before the next ones are chosen."""
AT_ONCE = 8


def sight(
    subject: str | AnswerFunction | Subject,
    out: str | Path | None = None,
    *,
    seed: int = 0,
    after_call: Callable[[int], None] | None = None,
) -> SightCard:
    """Check what of an image reaches a subject, in at most 60 calls and without an item set.

    Chat models and callables are asked questions about images that a server may change; of encoders, features of images
    are compared. The result is also kept for later runs of the subject, whose reports show it.

    Args:
        subject: A name such as `chat:openai/gpt-4o`, a callable from parts (texts and images) to text, or a subject.
        out: Folder for `sight.json`, with every question and reply, and for the images. Default: `sight/NAME`.
        seed: Seed of the questions.
        after_call: Called after each call with the number of calls so far; it may end the check by an error.

    Returns:
        The result: `lines` with a verdict and a text each, and `faults()`.

    Raises:
        SnellenError: For unknown names, missing keys, or a subject that cannot be asked.

    >>> sight(lambda parts: "red").faults()  # doctest: +SKIP

    """
    checked = the_subject(subject)
    return check(checked, Path(out) if out is not None else default_folder(checked), seed, after_call)


def the_subject(subject: str | AnswerFunction | Subject) -> Subject:
    """The subject of a name or a callable. Raises SnellenError for one that reads the items, or several."""
    if not isinstance(subject, str):
        return cast("Subject", subject) if hasattr(subject, "answer") else wrap(subject)
    subjects = make_subjects([subject])
    if len(subjects) != 1 or isinstance(subjects[0], str) or subjects[0].card.source == "recorded":
        raise SnellenError(f"{subject}: cannot be checked; give a model, an encoder or a callable (py:MODULE:FACTORY)")
    return subjects[0]


def default_folder(subject: Subject) -> Path:
    """`sight/NAME` with the characters that any file system takes."""
    name = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in subject.card.name)
    return Path("sight") / name[:80]


def check(subject: Subject, out: Path, seed: int, after_call: Callable[[int], None] | None) -> SightCard:
    """Check a subject, and write the result and the images into the folder `out`."""
    calls: tuple[SightCall, ...] = ()
    if isinstance(subject, EncoderSubject):
        lines, scales = encoder_lines(subject.encoder)
    else:
        examination = _Examination(subject, MediaFolder(out / "media"), seed, after_call or (lambda count: None))
        run_to_end(examination.ask_all())
        lines, scales = examination.lines(), examination.charts.estimates() if examination.charts.is_readable else {}
        calls = tuple(call for _, call in examination.calls)
    card = SightCard(
        subject=subject.card.name,
        fingerprint=subject.card.fingerprint(),
        seed=seed,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        lines=tuple(lines),
        scales=scales,
        calls=calls,
    )
    write_sight(out / SightCard.file, card)
    keep_sight(card)
    return card


@dataclass
class _Examination:
    """The questions asked of one subject so far, and the replies."""

    subject: Subject
    media: MediaFolder
    seed: int
    after_call: Callable[[int], None]
    calls: list[tuple[SightQuestion, SightCall]] = field(default_factory=list)
    charts: Charts = field(default_factory=Charts)
    declined: dict[str, str] = field(default_factory=dict)

    async def ask_all(self) -> None:
        """Ask the base questions, then more of the groups that decide nothing, then charts."""
        groups = [name for name in CHECKS if name != "video" or "video" in self.subject.card.accepts]
        colours = CHECKS["colours"]
        await self._ask([self._draw("colours", number) for number in range(colours.base)])
        while self._image_line().verdict == "cannot tell" and self._count("colours") < colours.most:
            await self._ask([self._draw("colours", self._count("colours"))])
        if self._image_line().verdict == "not so":
            return
        await self._ask([self._draw(name, n) for name in groups if name != "colours" for n in range(CHECKS[name].base)])
        while (more := self._undecided(groups)) and len(self.calls) + len(more) <= MOST_CALLS - CHARTS:
            await self._ask([self._draw(name, self._count(name)) for name in more])
        for side in SIDES:
            await self._ask([self._chart(side)])
        while (rest := MOST_CALLS - len(self.calls)) > 0 and self.charts.is_readable:
            sides = [self._next_side(number) for number in range(min(BATCH, rest))]
            await self._ask([self._chart(side) for side in sides])

    def lines(self) -> list[SightLine]:
        """The conclusions."""
        lines = [self._image_line()]
        if lines[0].verdict == "not so":
            return lines
        is_inverted = best(self._logs("colours")) == "inverted"
        for name, check in CHECKS.items():
            reason = f"the subject {self.declined[name]}" if name in self.declined else ""
            if name in STABLE_CHECKS and is_inverted:
                reason = "colours arrive inverted"
            if name == "video" and "video" not in self.subject.card.accepts:
                continue
            text = f"{check.topic}: {reason}"
            lines.append(
                SightLine(check=name, verdict="cannot tell", text=text) if reason else check.line(self._logs(name))
            )
        sides = {f"chart {side}": side for side in SIDES}
        resolution = resolution_line(self.charts)
        if any(line.check == "whole" and line.verdict == "not so" for line in lines):
            text = "resolution: figures that span several tiles are not recognised, whatever their size"
            resolution = SightLine(check="resolution", verdict="cannot tell", text=text)
        return [*lines, resolution, token_line([call for _, call in self.calls], sides)]

    def _logs(self, name: str) -> Mapping[str, float]:
        """The log likelihoods of the explanations of a group."""
        replies = [
            (question, call.reply) for question, call in self.calls if question.group == name and call.reply is not None
        ]
        return log_likelihoods(replies, CHECKS[name].explanations)

    def _image_line(self) -> SightLine:
        return image_line(self._logs("colours"))

    def _undecided(self, groups: Iterable[str]) -> list[str]:
        """The groups that decide nothing and may still get more questions."""
        return [
            name for name in groups
            if name not in self.declined and self._count(name) < CHECKS[name].most
            and best(by_text(CHECKS[name], self._logs(name))) is None
        ]  # fmt: skip

    def _count(self, group: str) -> int:
        return sum(question.group == group for question, _ in self.calls)

    def _draw(self, group: str, number: int) -> SightQuestion:
        return CHECKS[group].draw(self.media, stream("sight", self.seed, group, number), number)

    def _chart(self, side: int) -> SightQuestion:
        return self.charts.draw(
            side, self.media, stream("sight", self.seed, "chart", side, self._count(f"chart {side}"))
        )

    def _next_side(self, ahead: int) -> int:
        """The canvas of a later chart; `ahead` are chosen in this batch. Each has its turns by its share."""
        order = [side for side, share in zip(SIDES, SHARES, strict=True) for _ in range(share)]
        total = sum(self._count(f"chart {side}") for side in SIDES) + ahead
        return order[(total * 5 + 1) % len(order)]

    async def _ask(self, questions: Sequence[SightQuestion]) -> None:
        """Ask these questions, at most as many at once as the subject takes."""
        gate = asyncio.Semaphore(min(AT_ONCE, self.subject.card.max_concurrency))
        numbered = [(len(self.calls) + number, question) for number, question in enumerate(questions)]
        for question, call in zip(
            questions, await asyncio.gather(*(self._call(*n, gate) for n in numbered)), strict=True
        ):
            self.calls.append((question, call))
            if question.side and call.reply is not None:
                self.charts.add(question, call.reply)

    async def _call(self, number: int, question: SightQuestion, gate: asyncio.Semaphore) -> SightCall:
        prompt = Prompt((*question.images, question.text), ())
        right = ", ".join(question.right)
        call = SightCall(
            group=question.group, question=question.text, images=tuple(image.path for image in question.images),
            right=right, reply=None,
        )  # fmt: skip
        if reason := self.subject.declines(prompt):
            self.declined.setdefault(question.group, reason)
            return call
        async with gate:
            try:
                reply = await self.subject.answer(prompt, self.media, stream("sight call", self.seed, number))
            except CallFailed as failure:
                if failure.is_lasting or not self.calls:
                    raise SnellenError(f"{self.subject.card.name}: {short_reason(str(failure))}") from failure
                return call
            finally:
                self.after_call(number + 1)
        return call.model_copy(update={"reply": reply.text, "tokens_in": reply.tokens_in})
