"""Limits on failed calls, after which a subject or an arm is no longer asked."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from snellen.core.errors import CallFailed

MAX_ALIKE = 3
"""Equal lasting failures, without a reply between them, that end the arms of a subject."""
WINDOW, MAX_RATE = 50, 0.5
"""Latest calls of an arm that are considered, and the greatest share of them that may fail."""
MAX_KINDS = 5
"""Kinds of failures that a summary names."""


def failure_kind(reason: str) -> str:
    """The kind of a failure: status and class of the error, without its details."""
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
    """Counter of a subject's equal lasting failures. `end` is the reason why it is no longer asked, once it is not."""

    kind: str = ""
    count: int = 0
    end: str = ""

    def observe(self, failure: CallFailed | None) -> None:
        """Note the end of a call, by this failure or (None) a reply. Transient failures neither count nor reset."""
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
    """The outcomes of an arm's latest calls. `end` is the reason why it is no longer asked, once it is not."""

    is_bounded: bool = True
    failures: deque[str] = field(default_factory=lambda: deque(maxlen=WINDOW))
    end: str = ""

    def observe(self, failure: CallFailed | None) -> None:
        """Note the end of a call, by this failure or (None) a reply."""
        self.failures.append("" if failure is None else str(failure) or type(failure).__name__)
        if failure is None:
            return
        failed = [reason for reason in self.failures if reason]
        if self.is_bounded and not self.end and len(self.failures) == WINDOW and len(failed) > MAX_RATE * WINDOW:
            self.end = (
                f"{len(failed)} of the latest {WINDOW} calls failed ({'; '.join(summarize_failures(failed))}); "
                f"--keep-going continues"
            )
