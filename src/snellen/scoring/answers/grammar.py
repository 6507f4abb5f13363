"""What a kind of answer must be able to say for the reader of replies to read it."""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Mention:
    """A place in a text that names an answer.

    `value` None: it stands where an answer would, but gives none that counts. `label`: it is a letter or number that
    stands for an option, so that a dot behind it need not end the sentence.
    """

    start: int
    end: int
    value: Any | None
    label: bool = False


class Grammar(typing.Protocol):
    """How answers of a kind look."""

    @property
    def reaches_on(self) -> bool:
        """Whether an answer may run over several lines."""

    @property
    def counts(self) -> bool:
        """Whether answers are numbers, which sentences also hold that are no answers."""

    def within(self, text: str) -> Grammar:
        """The grammar as far as it concerns this text."""

    def alone(self, passage: str) -> Any | None:
        """The answer that this piece of text consists of, or None."""

    def mentions(self, passage: str, declared: bool) -> list[Mention]:
        """Every answer named in the piece and not denied there, in order.

        In a `declared` piece, which begins where a declaration says that the answer follows, more forms count at its
        beginning.
        """

    def stated(self, sentence: str) -> Any | None:
        """The one answer that a sentence states, or None: hedged, denied, several."""

    def judged(self, sentence: str) -> Any | None:
        """What `stated` gives, where the sentence also shows that it answers, and does not only describe."""

    def listed(self, line: str) -> Any | None:
        """The answer or number with which a line begins that is an item of a list: "(B) the right one", "2. look"."""

    def truth(self, right: bool) -> Any | None:
        """The answer that calls a statement right or wrong, where these are the answers."""
