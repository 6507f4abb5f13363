"""The two ways things go wrong that a user must tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

MAX_LISTED_PROBLEMS = 50
"""Problems that an error lists."""


class SnellenError(ValueError):
    """Bad input: a wrong name, a damaged folder, a setting that does not exist.

    The message is one line: what is wrong, where, and how to mend it. Commands print it and exit with 2.
    """


class CallFailed(Exception):
    """A subject could not be reached, or broke off: not an answer, never scored, to be asked again.

    `is_lasting`: the next call would fail for the same reason, since the key is refused, the model unknown, or nobody
    listens.
    """

    def __init__(self, reason: str = "", *, is_lasting: bool = False) -> None:
        super().__init__(reason)
        self.is_lasting = is_lasting


class Interrupted(BaseException):
    """Stopped by a signal (SIGINT, which is Ctrl-C, or SIGTERM). The message says what is kept and how to go on.

    No Exception, so that whoever goes on after errors does not go on after this.
    """

    def __init__(self, signal_number: int, message: str = "stopped; the same command goes on from here") -> None:
        super().__init__(message)
        self.signal_number = signal_number

    @property
    def exit_code(self) -> int:
        """What a shell expects of who ended by this signal: 130 for SIGINT, 143 for SIGTERM."""
        return 128 + self.signal_number


def refuse_problems(location: Path, problems: Sequence[str], what: str, mend: str) -> None:
    """Raise SnellenError if there are problems: of what, how to mend it, and below it the first of them, one a line."""
    if problems:
        more = len(problems) - MAX_LISTED_PROBLEMS
        lines = [*problems[:MAX_LISTED_PROBLEMS], *([f"… and {more} more"] if more > 0 else [])]
        raise SnellenError(f"{location}: {len(problems)} of {what}; {mend}:\n" + "\n".join(lines))
