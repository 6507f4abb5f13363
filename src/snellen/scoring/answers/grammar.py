"""The interface of a kind of answer to the reader of replies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from snellen.scoring.answers.cues import CUES


@dataclass(frozen=True)
class Mention:
    """A place in a text that names an answer.

    `value` None: it is in the place of an answer, but not a valid one. `label`: it is a letter or number for an option,
    so that a dot after it need not end the sentence.
    """

    start: int
    end: int
    value: Any | None
    label: bool = False


def is_compared(text: str, mention: Mention) -> bool:
    """True if an option is only what the answer is compared with: "it is closer than the red cup"."""
    return bool(CUES["compared"].search(text[max(0, mention.start - 40) : mention.start]))


class Grammar:
    """The forms of answers of one kind. Unless it says otherwise, sentences and lists state no answer."""

    reaches_on: ClassVar[bool] = False
    """True if an answer may extend over several lines."""
    counts: ClassVar[bool] = False
    """True if answers are numbers, which also occur in sentences that are no answers."""

    def within(self, text: str) -> Grammar:
        """The grammar restricted to this text."""
        return self

    def alone(self, passage: str) -> Any | None:
        """The answer that this passage consists of, or None, also if `mentions` reads all forms."""

    def mentions(self, passage: str, declared: bool) -> list[Mention]:
        """Every answer named in the passage and not denied there, in order.

        In a `declared` passage, which follows a declaration, more forms count at its beginning.
        """
        raise NotImplementedError

    def stated(self, sentence: str) -> Any | None:
        """The one answer that a sentence states; None if it is hedged or denied, or there are several."""

    def judged(self, sentence: str) -> Any | None:
        """The result of `stated` if the sentence also shows that it answers and does not only describe, or None."""

    def listed(self, line: str) -> Any | None:
        """The answer or number at the beginning of a list item: "(B) the right one", "2. look"."""

    def truth(self, right: bool) -> Any | None:
        """The answer that calls a statement right or wrong, if these are the answers."""
