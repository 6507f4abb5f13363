"""Errors: bad input, a failed call, an interruption."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

MAX_LISTED_PROBLEMS = 50
"""Most problems that one error lists."""


class SnellenError(ValueError):
    """Bad input: a wrong name, a damaged folder, a setting that does not exist.

    The message is one line: what is wrong, where, and how to fix it. Commands print it and exit with code 2.
    """


class SeveralProblems(SnellenError):
    """Bad input with several faults: the message is one line, and one more per fault."""


class CallFailed(Exception):
    """The subject could not be reached or broke off. This is not an answer: never scored, asked again.

    `is_lasting`: the next call would fail for the same reason (refused key, unknown model, no server).
    """

    def __init__(self, reason: str = "", *, is_lasting: bool = False) -> None:
        super().__init__(reason)
        self.is_lasting = is_lasting


class Interrupted(BaseException):
    """Stopped by SIGINT (Ctrl-C) or SIGTERM. The message says what is kept and how to continue.

    Not an Exception, so that code that continues after errors stops here.
    """

    def __init__(self, signal_number: int, message: str = "stopped; the same command continues from here") -> None:
        super().__init__(message)
        self.signal_number = signal_number

    @property
    def exit_code(self) -> int:
        """The exit code of a process ended by this signal: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + self.signal_number


def refuse_problems(location: Path, problems: Sequence[str], what: str, remedy: str) -> None:
    """Raise SeveralProblems if there are problems: their number, kind (`what`), the remedy, and the first ones."""
    if problems:
        more = len(problems) - MAX_LISTED_PROBLEMS
        lines = [*problems[:MAX_LISTED_PROBLEMS], *([f"… and {more} more"] if more > 0 else [])]
        raise SeveralProblems(f"{location}: {len(problems)} of {what}; {remedy}:\n" + "\n".join(lines))
