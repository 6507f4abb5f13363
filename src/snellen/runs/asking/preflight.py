"""A first question to remote subjects, so that lasting failures are reported before anything is rendered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from snellen.compute.event_loop import run_to_end
from snellen.core.errors import CallFailed, SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.prompt import Prompt
from snellen.core.response import Exchange
from snellen.core.seeds import stream
from snellen.core.storage.media import MediaFolder
from snellen.core.storage.runfolder import price_of
from snellen.core.subject import Subject
from snellen.subjects.registry import make_subject, needs_items, subjects_of

FIRST_PROMPT = Prompt(("Reply with the word yes.",), ())
"""The question; any reply will do."""
STEP = "preflight"
"""The part of such an exchange's key after the fingerprint; it yields no response."""


def make_subjects(subjects: Sequence[str | Subject]) -> list[str | Subject]:
    """The subjects of these names. A fake that needs the items stays a name, which is checked.

    Raises SnellenError for an unknown name or setting, and for a missing package or key.
    """
    made: list[str | Subject] = []
    for subject in subjects:
        if not isinstance(subject, str):
            made.append(subject)
        elif needs_items(subject):
            make_subject(subject)
            made.append(subject)
        else:
            made += subjects_of(subject)
    return made


def refuse_unpriced(subjects: Iterable[str | Subject], budget: float | None) -> None:
    """Raise SnellenError if a remote subject has no prices, without which a budget would not limit its calls."""
    cards = [subject.card for subject in subjects if not isinstance(subject, str)]
    unpriced = ", ".join(card.name for card in cards if card.is_remote and price_of(card.attributes) is None)
    if unpriced and budget is not None:
        raise SnellenError(f"{unpriced}: --budget needs prices: ?price_in=…&price_out=… (per million tokens)")


@dataclass
class Preflight:
    """Fingerprints of the subjects asked a first question by this command, and replies not yet recorded by a run.

    `keep_going`: subjects that refuse it are examined anyway.
    """

    keep_going: bool = False
    fingerprints: set[str] = field(default_factory=set)
    exchanges: list[Exchange] = field(default_factory=list)

    def check(self, subjects: Iterable[str | Subject]) -> None:
        """Ask each remote subject that was not asked yet. Raises SnellenError naming all with lasting failures.

        A transient failure, such as a busy server, is ignored.
        """
        remote = {
            subject.card.fingerprint(): subject
            for subject in subjects
            if not isinstance(subject, str)
            and subject.card.is_remote
            and subject.card.fingerprint() not in self.fingerprints
        }
        self.fingerprints |= set(remote)
        refusals = run_to_end(self._ask_all(list(remote.values()))) if remote else []
        if refusals and not self.keep_going:
            raise SnellenError(f"{'; '.join(refusals)}; nothing was asked: fix that, or leave it out")

    def take(self, fingerprints: Iterable[str]) -> tuple[Exchange, ...]:
        """Remove and return the replies of these subjects, for the run that records them."""
        subjects = set(fingerprints)
        taken = tuple(exchange for exchange in self.exchanges if exchange.key.partition("/")[0] in subjects)
        self.exchanges = [exchange for exchange in self.exchanges if exchange not in taken]
        return taken

    async def _ask_all(self, subjects: Sequence[Subject]) -> list[str]:
        return [refusal for refusal in await asyncio.gather(*map(self._ask, subjects)) if refusal]

    async def _ask(self, subject: Subject) -> str:
        """The subject's lasting failure, or an empty text."""
        key = f"{subject.card.fingerprint()}/{STEP}"
        try:
            reply = await subject.answer(FIRST_PROMPT, MediaFolder(Path()), stream("call", 0, key))
        except CallFailed as failure:
            return f"{subject.card.name}: {short_reason(str(failure))}" if failure.is_lasting else ""
        self.exchanges.append(Exchange(key, FIRST_PROMPT.digest(), reply))
        return ""
