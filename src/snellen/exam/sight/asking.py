"""`sight`: the checks of `snellen_sight` for subjects, with those of encoders and videos."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from snellen.compute.event_loop import run_to_end
from snellen.core.errors import CallFailed, SnellenError
from snellen.core.item import Media, MediaKind
from snellen.core.plain_text import MIN_KEY, secret_texts, short_reason, without_secrets
from snellen.core.prompt import Prompt, Turn
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.sight import SightCard, keep_sight, write_sight
from snellen.core.subject import Subject
from snellen.exam.sight.encoders import encoder_lines
from snellen.exam.sight.videos import VIDEO
from snellen.runs.asking.preflight import make_subjects
from snellen.subjects.encoders.subject import EncoderSubject
from snellen.subjects.from_callable import AnswerFunction, wrap
from snellen_sight.asking import AT_ONCE, NothingAsked, Sighting
from snellen_sight.checks import CHECKS
from snellen_sight.checks.pointing import SHARES
from snellen_sight.completions import ChatReply
from snellen_sight.drawing import SightFile
from snellen_sight.frames import SENT
from snellen_sight.likelihood import SightQuestion
from snellen_sight.results import SightCall
from snellen_sight.retry import Trouble

BOX_UNITS_OF_FRAMES = {
    SENT: "pixels", SHARES: "fractions", "hundredths of width and height": "percent",
    "thousandths of width and height": "thousandths",
    "thousandths of width and height, y first": "thousandths-y-first",
    "1024ths of width and height, y first": "1024ths-y-first",
}  # fmt: skip
"""The units of boxes (`core.box_units`) by the frames of points."""


def sight(
    subject: str | AnswerFunction | Subject,
    out: str | Path | None = None,
    *,
    seed: int = 0,
    after_call: Callable[[int], None] | None = None,
) -> SightCard:
    """Check what of an image reaches a subject, in at most 90 calls and without an item set.

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
    calls, box_unit = tuple[SightCall, ...](), ""
    if isinstance(subject, EncoderSubject):
        lines, scales = encoder_lines(subject.encoder)
    else:
        asked = AskedSubject(subject, MediaFolder(out / "media"), seed)
        checks = (*CHECKS.values(), *([VIDEO] if "video" in subject.card.accepts else []))
        examination = Sighting(
            asked.ask, seed, checks, at_once=min(AT_ONCE, subject.card.max_concurrency), declines=asked.declines,
            after_call=after_call or (lambda count: None),
        )  # fmt: skip
        try:
            run_to_end(examination.ask_all())
        except NothingAsked as error:
            raise SnellenError(f"{subject.card.name}: {short_reason(str(error))}") from error
        lines, scales = examination.lines(), examination.scales()
        calls = tuple(call for _, call in examination.calls)
        box_unit = BOX_UNITS_OF_FRAMES.get(examination.pointing().frame, "")
    card = SightCard(
        subject=subject.card.name,
        fingerprint=subject.card.fingerprint(),
        seed=seed,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        lines=tuple(lines),
        scales=scales,
        calls=calls,
        box_unit=box_unit,
        address=subject.card.address,
    )
    write_sight(out / SightCard.file, card)
    keep_sight(card)
    return card


@dataclass(frozen=True)
class AskedSubject:
    """A subject that is asked questions of checks; their images are stored in `media`."""

    subject: Subject
    media: MediaFolder
    seed: int

    def declines(self, question: SightQuestion) -> str:
        """Why the subject cannot be asked, or an empty text."""
        reason = self.subject.declines(self._prompt(question))
        return f"the subject {reason}" if reason else ""

    async def ask(self, question: SightQuestion, number: int) -> ChatReply | Trouble:
        """The reply to the question, which is the n-th call, or the trouble that prevented it."""
        try:
            rng = stream("sight call", self.seed, number)
            reply = await self.subject.answer(self._prompt(question), self.media, rng)
        except CallFailed as failure:
            return Trouble(str(failure), again=False, is_lasting=failure.is_lasting)
        text = without_secrets(reply.text, secret_texts(os.environ, MIN_KEY))  # a service may echo its key
        return ChatReply(text, tokens_in=reply.tokens_in)

    def _prompt(self, question: SightQuestion) -> Prompt:
        history = tuple(Turn((self._stored(file), text), reply) for file, text, reply in question.earlier)
        return Prompt((*map(self._stored, question.images), question.text), (), history)

    def _stored(self, file: SightFile) -> Media:
        kind: MediaKind = "video" if file.seconds else "image"
        return self.media.add(file.raw, kind, file.format, file.size, file.seconds)
