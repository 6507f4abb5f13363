"""The result: one line per check, with every question and reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["fine", "not so", "cannot tell"]
FINE_CODE, NOTHING_CODE, FAULT_CODE = 0, 1, 4
"""Exit codes: no fault, nothing could be told, a fault was found."""
MARKS = {"fine": "fine", "not so": "NOT SO", "cannot tell": "cannot tell"}
"""The verdicts as they are printed."""


@dataclass(frozen=True)
class SightLine:
    """The outcome of one check. `text` says what reaches the subject, or why that is not known."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012  # of the main package's files

    check: str
    verdict: Verdict
    text: str


@dataclass(frozen=True)
class SightCall:
    """One call: the group of questions that it belongs to, the right answer, and the reply (None: the call failed)."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    group: str
    question: str
    images: tuple[str, ...]
    right: str
    reply: str | None
    tokens_in: int = 0


@dataclass(frozen=True)
class SightResult:
    """The result on a model. `scales` are (median, low, high) of the effective scale by canvas side in px."""

    model: str
    date: str
    lines: tuple[SightLine, ...]
    scales: Mapping[int, tuple[float, float, float]] = field(default_factory=dict)
    calls: tuple[SightCall, ...] = ()

    def faults(self) -> list[str]:
        """The texts of the checks that found a fault."""
        return faults_of(self.lines)

    @property
    def exit_code(self) -> int:
        """4 if there is a fault, 1 if no check says anything, otherwise 0."""
        if self.faults():
            return FAULT_CODE
        return FINE_CODE if any(line.verdict == "fine" for line in self.lines) else NOTHING_CODE


def faults_of(lines: Sequence[SightLine]) -> list[str]:
    """The texts of the lines that found a fault."""
    return [line.text for line in lines if line.verdict == "not so"]
