"""One first question to subjects that cost money or time: what they refuse is told before anything is rendered."""

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
from snellen.core.subject import Subject
from snellen.subjects.registry import make_subject, needs_items

FIRST_PROMPT = Prompt(("Reply with the word yes.",), ())
"""What is asked; any reply will do."""
STEP = "preflight"
"""What stands in the key of such an exchange after the subject's fingerprint: no response is made of it."""


def make_subjects(subjects: Sequence[str | Subject]) -> list[str | Subject]:
    """The subjects that these name. A fake that looks at the items stays a name, which is checked.

    Raises SnellenError for one that cannot be made: an unknown name or setting, a package or a key that is missing.
    """
    made: list[str | Subject] = []
    for subject in subjects:
        if not isinstance(subject, str):
            made.append(subject)
        elif needs_items(subject):
            make_subject(subject)
            made.append(subject)
        else:
            made.append(make_subject(subject))
    return made


@dataclass
class Preflight:
    """Who was asked a first question by this command, and what came back until a run has recorded it.

    `keep_going`: who refuses it is examined all the same.
    """

    keep_going: bool = False
    fingerprints: set[str] = field(default_factory=set)
    exchanges: list[Exchange] = field(default_factory=list)

    def check(self, subjects: Iterable[str | Subject]) -> None:
        """Ask each remote subject that was not asked yet. Raises SnellenError naming all that would fail every call.

        A failure that may pass (a server that is busy) refuses nobody.
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
            raise SnellenError(f"{'; '.join(refusals)}; nothing was asked: mend that, or leave it out")

    def take(self, fingerprints: Iterable[str]) -> tuple[Exchange, ...]:
        """What these subjects replied, to be recorded by the run that this is called for; each is given once."""
        wanted = set(fingerprints)
        taken = tuple(exchange for exchange in self.exchanges if exchange.key.partition("/")[0] in wanted)
        self.exchanges = [exchange for exchange in self.exchanges if exchange not in taken]
        return taken

    async def _ask_all(self, subjects: Sequence[Subject]) -> list[str]:
        return [refusal for refusal in await asyncio.gather(*map(self._ask, subjects)) if refusal]

    async def _ask(self, subject: Subject) -> str:
        """Why the subject would refuse every call, or nothing."""
        key = f"{subject.card.fingerprint()}/{STEP}"
        try:
            reply = await subject.answer(FIRST_PROMPT, MediaFolder(Path()), stream("call", 0, key))
        except CallFailed as failure:
            return f"{subject.card.name}: {short_reason(str(failure))}" if failure.is_lasting else ""
        self.exchanges.append(Exchange(key, FIRST_PROMPT.digest(), reply))
        return ""
