"""What failed calls and unreadable replies tell while a run asks, and limits after which a subject is left alone."""

from __future__ import annotations

import re
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from snellen.analysis.grading.grades import UNREAD
from snellen.core.errors import CallFailed, SnellenError
from snellen.core.plain_text import short_reason
from snellen.core.prompt import Reply

Entry = TypeVar("Entry")
Made = TypeVar("Made")
MAX_ALIKE = 3
"""Equal failures, without a reply between them, that end a subject (lasting ones) or an arm (refused requests)."""
WINDOW, MAX_RATE = 50, 0.5
"""Latest calls of an arm that are considered, and the greatest share of them that may fail."""
FIRST_REPLIES, MAX_CUT_OFF = 10, 3
"""First replies of an arm that are considered, and the number of them that end it if they were cut off."""
FIRST_READ, LAST_READ = 20, 100
"""Number of a task's replies after which too many unread ones are announced, and after which this is not checked."""
MAX_KINDS = 5
"""Kinds of failures that a summary names."""
_REFUSED_FORM = re.compile(r"(400|413|422) (?!.*(too long|context (length|window)|input tokens))", re.IGNORECASE)
"""Reasons of requests whose form is refused, but not for their length, which differs between prompts."""
_MAX_IMAGES = re.compile(r"(?:at most|maximum of|more than|up to) (\d{1,4}) image", re.IGNORECASE)

_SETTING = re.compile(r"\b(temperature|seed|max_tokens)\b")
"""Settings that are sent unless they are `none`, and that some services refuse."""


def failure_kind(reason: str) -> str:
    """The kind of a failure: status and class of the error, without its details."""
    return re.sub(r" \(attempt \d+\)$", "", reason.partition(":")[0])


def fault_of(error: Exception) -> str:
    """The reason why one item fails by an unexpected error, with its type and the line of code."""
    if isinstance(error, SnellenError):
        return f"bad item: {error}"
    line = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(line.filename).name}, line {line.lineno})"


def without_faults(
    make: Callable[[Entry], Made], entries: Mapping[str, Entry], faults: dict[str, str] | None
) -> dict[str, Made]:
    """What is made of each entry by id.

    One of which nothing can be made is left out, and `faults` gets the reason; without `faults` its error is raised.
    """
    made = {}
    for name, entry in entries.items():
        try:
            made[name] = make(entry)
        except Exception as error:  # code of suites may raise anything
            if faults is None:
                raise
            faults[name] = fault_of(error)
    return made


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
    """The outcomes of an arm's latest calls. `end` is the reason why it is no longer asked, once it is not.

    `refusals` are the texts, without numbers, of the latest refusals of a request's form: all alike, and without a
    reply between them, as from a server that takes one image per request.
    """

    is_bounded: bool = True
    failures: deque[str] = field(default_factory=lambda: deque(maxlen=WINDOW))
    refusals: list[str] = field(default_factory=list)
    end: str = ""

    def observe(self, failure: CallFailed | None) -> None:
        """Note the end of a call, by this failure or (None) a reply."""
        self.failures.append("" if failure is None else str(failure) or type(failure).__name__)
        if failure is None:
            self.refusals = []
            return
        self._observe_refusal(str(failure))
        failed = [reason for reason in self.failures if reason]
        if self.is_bounded and not self.end and len(self.failures) == WINDOW and len(failed) > MAX_RATE * WINDOW:
            self.end = (
                f"{len(failed)} of the latest {WINDOW} calls failed ({'; '.join(summarize_failures(failed))}); "
                f"--keep-going continues"
            )

    def _observe_refusal(self, reason: str) -> None:
        if not _REFUSED_FORM.match(reason):
            return
        text = re.sub(r"\d+", "", reason)
        self.refusals = [*self.refusals, text] if text in self.refusals else [text]
        if self.is_bounded and not self.end and len(self.refusals) >= MAX_ALIKE:
            limit = _MAX_IMAGES.search(reason)
            advice = f"?max_images={limit[1]} declines calls with more images; " if limit else ""
            if setting := _SETTING.search(reason):
                advice += f"?{setting[1]}=none leaves out {setting[1]}; "
            elif reason.startswith("413"):
                advice += "?max_px= sends smaller images; "
            self.end = f"{len(self.refusals)} requests were refused alike: {reason}; {advice}--keep-going continues"


@dataclass
class CutOffs:
    """Counter of an arm's first replies that were cut off. `end` is the reason why it is no longer asked, if so."""

    is_bounded: bool = True
    replies: int = 0
    count: int = 0
    end: str = ""
    is_announced: bool = False

    def observe(self, latest: Reply) -> None:
        """Note a reply, new or recorded."""
        self.replies += 1
        self.count += latest.is_cut_off and latest.token_limit > 0  # other limits cannot be raised
        if self.is_bounded and not self.end and self.replies <= FIRST_REPLIES and self.count >= MAX_CUT_OFF:
            self.end = (
                f"{self.count} of the first {self.replies} replies were cut off at the limit of {latest.token_limit} "
                f"tokens, which includes reasoning; raise it, as in ?max_tokens={4 * latest.token_limit} "
                f"(max_new_tokens for a local model), and only these replies are asked again; --keep-going continues"
            )

    def announce(self) -> str:
        """The reason, the first time that it is requested after the end; else an empty text."""
        is_news = bool(self.end) and not self.is_announced
        self.is_announced = self.is_announced or is_news
        return self.end if is_news else ""


@dataclass
class UnreadReplies:
    """Counter of an arm's replies to a task, and of those that cannot be read, of which `example` is the latest."""

    replies: int = 0
    unread: int = 0
    example: str = ""
    is_announced: bool = False

    def observe(self, text: str, *, is_read: bool) -> str:
        """Note a reply. Returns what to announce: once, if too many of the first replies cannot be read."""
        self.replies += 1
        self.unread += not is_read
        self.example = self.example if is_read else text or "(empty)"
        is_early = not self.is_announced and FIRST_READ <= self.replies <= LAST_READ
        if not is_early or self.unread <= UNREAD * self.replies:
            return ""
        self.is_announced = True
        example = short_reason(self.example, 100)
        return f"{self.unread} of {self.replies} replies cannot be read, such as {example!r}"
