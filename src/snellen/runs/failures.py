"""When calls fail so often that no more of them are made."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from snellen.core.errors import CallFailed

MAX_ALIKE = 3
"""Lasting failures alike, with no reply between them, that end the arms of a subject."""
WINDOW, MAX_RATE = 50, 0.5
"""Of so many latest calls of an arm, more than this share may not fail."""
MAX_KINDS = 5
"""Kinds of failures that a summary names."""


def failure_kind(reason: str) -> str:
    """What failures alike have in common: status and class of the error, without the words of the moment."""
    return re.sub(r" \(attempt \d+\)$", "", reason.partition(":")[0])


def summarize_failures(reasons: Iterable[str]) -> list[str]:
    """Each kind of failure with its count and its first text, the most frequent ones first."""
    reasons = list(reasons)
    first: dict[str, str] = {}
    for reason in reasons:
        first.setdefault(failure_kind(reason), " ".join(reason.split()))
    kinds = Counter(map(failure_kind, reasons)).most_common()
    lines = [f"{count} × {first[kind]}" for kind, count in kinds[:MAX_KINDS]]
    rest = sum(count for _, count in kinds[MAX_KINDS:])
    return lines + ([f"{rest} × {len(kinds) - MAX_KINDS} other reasons"] if rest else [])


@dataclass
class LastingFailures:
    """A subject's latest failures that will not pass by themselves. `end` says why it is asked no more, once it is."""

    kind: str = ""
    count: int = 0
    end: str = ""

    def observe(self, failure: CallFailed | None) -> None:
        """A call ended, with this failure or (None) with a reply. What may pass neither counts nor clears."""
        if failure is None:
            self.kind, self.count = "", 0
        elif failure.is_lasting:
            kind = failure_kind(str(failure))
            self.count = self.count + 1 if kind == self.kind else 1
            self.kind = kind
            if self.count >= MAX_ALIKE and not self.end:
                self.end = f"{self.count} calls failed alike: {failure}"


@dataclass
class FailureRate:
    """How an arm's latest calls ended. `end` says why it is asked no more, once it is."""

    is_bounded: bool = True
    failures: deque[str] = field(default_factory=lambda: deque(maxlen=WINDOW))
    end: str = ""

    def observe(self, failure: CallFailed | None) -> None:
        """A call ended, with this failure or (None) with a reply."""
        self.failures.append("" if failure is None else str(failure) or type(failure).__name__)
        if failure is None:
            return
        failed = [reason for reason in self.failures if reason]
        if self.is_bounded and not self.end and len(self.failures) == WINDOW and len(failed) > MAX_RATE * WINDOW:
            self.end = (
                f"{len(failed)} of the latest {WINDOW} calls failed ({'; '.join(summarize_failures(failed))}); "
                f"--keep-going asks on"
            )
