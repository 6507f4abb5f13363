"""Answers that are numbers: digits, or English words up to a hundred."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from snellen.scoring.answers import markers
from snellen.scoring.answers.grammar import Mention

ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORDS = {word: number for number, word in enumerate(ONES.split())}
WORDS |= {word: 10 * number for number, word in enumerate(TENS.split(), 2)}
WORDS |= {f"{ten} {word}": WORDS[ten] + WORDS[word] for ten in TENS.split() for word in ONES.split()[1:10]}
WORDS |= {"hundred": 100, "a hundred": 100, "one hundred": 100}
_WORD = "|".join(sorted((word.replace(" ", "[ -]") for word in WORDS), key=len, reverse=True))
DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d{1,3}(?!\w))?"
NUMBER = re.compile(
    rf"(?i)(?:(?<![\w)\]])(?P<sign>[+-])\s?|\b(?P<minus>minus|negative)\s)?"
    rf"(?:(?<![\w.])(?P<digits>{DIGITS})|(?<![\w-])(?P<word>{_WORD})(?!\w))"
)
UNIT = re.compile(r"\s?(?:mm|cm|m|km|px|kg|g|s|deg|degrees|°)(?!\w)")
ORDINAL = re.compile(r"(?i)(?:st|nd|rd|th)\b|-?\w*[^\W\d_]")
MANY = re.compile(r"(?i)\s(?:hundred|thousand|million|billion|dozen|score)s?\b|\s?[k%‰]\b|\s?%")
BOUND = re.compile(
    r"(?i)(?:\b(?:at least|at most|more than|less than|fewer than|greater than|over|under|above|below|up to|nearly"
    r"|almost|minimum of|maximum of)|[<>≥≤±])\s?$"
)
MORE = re.compile(r"(?i)\+|\.\d| (?:or|and) (?:more|less|fewer|above|below|over|under)\b")
SURE = re.compile(r"(?i)\b(?:is|are|exactly|only|just|total of|count of|see|contains|has|have|answer|:)\s$")
LARGEST = 10**15
"""Beyond it numbers are no longer told apart as floats, and nobody counts that far."""
TRIMMINGS = " \t\n\"'()[]{}.,:;!?#~="


@dataclass(frozen=True)
class Numbers:
    """Numbers, or only whole ones."""

    integers: bool
    reaches_on: bool = False

    def alone(self, piece: str) -> int | float | None:
        """The number that the piece consists of, with a unit perhaps, or written twice: "2 (two)"."""
        stripped = piece.strip()
        if len(stripped) > 400:
            return None
        matches = list(NUMBER.finditer(stripped))
        if not matches or len(matches) > 2:
            return None
        rest = [stripped[: matches[0].start()], *(stripped[a.end() : b.start()] for a, b in pairwise(matches))]
        rest += [stripped[matches[-1].end() :]]
        last = UNIT.sub("", rest.pop(), count=1) if not self.integers else rest.pop()
        if rest[0].strip(" \t\n\"'([{#=") or last.strip(TRIMMINGS) or any(part.strip(" (=") for part in rest[1:]):
            return None
        if len(matches) == 2 and not any(mark in rest[1] for mark in "(="):
            return None
        values = {self._value(match) for match in matches}
        return values.pop() if len(values) == 1 else None

    def mentions(self, piece: str, declared: bool) -> list[Mention]:
        """Every number in the piece; without value where it is a bound, a part of a larger number, or not whole."""
        return list(self._mentions(piece, declared))

    def _mentions(self, piece: str, declared: bool) -> Iterator[Mention]:
        aside = _asides(piece) if declared else []
        for match in NUMBER.finditer(piece):
            start, end = match.span()
            lead, rest = piece[max(0, start - 30) : start], piece[end : end + 20]
            if any(low < start < high for low, high in aside) or _is_part(lead, rest, self.integers):
                continue
            if markers.DENIED_BEFORE.search(lead):
                continue
            value = self._value(match)
            counts = SURE.search(lead) or (declared and not lead.strip())
            if BOUND.search(lead) or MANY.match(rest) or MORE.match(rest) or _is_fraction(lead, rest):
                value = None
            elif (match["word"] or "").lower() == "one" and (not counts or rest.startswith(" of")):
                # "the left one", "one of these": no count
                value = None
            yield Mention(start, end, value)

    def _value(self, match: re.Match[str]) -> int | float | None:
        if match["digits"]:
            number = float(match["digits"].replace(",", ""))
        else:
            number = float(WORDS[re.sub(r"[ -]", " ", match["word"].lower())])
        if match["sign"] == "-" or match["minus"]:
            number = -number
        if not self.integers:
            return number if math.isfinite(number) else None
        return int(number) if abs(number) < LARGEST and number == int(number) else None


def _asides(piece: str) -> list[tuple[int, int]]:
    """Parentheses that hold more than one number: "5 (3 red, 2 blue)", but not "2 (two)"."""
    return [
        match.span() for match in re.finditer(r"\([^()\n]*\)", piece) if not NUMBER.fullmatch(match[0][1:-1].strip())
    ]


def _is_part(lead: str, rest: str, integers: bool) -> bool:
    """Whether the number belongs to a name or a word: "2nd", "3D", "COVID-19", "three-sided"."""
    if re.search(r"[^\W\d]-$|#$", lead):
        return True
    return bool(ORDINAL.match(rest)) and not UNIT.match(rest)


def _is_fraction(lead: str, rest: str) -> bool:
    return bool(re.search(r"\d\s?/\s?$", lead) or re.match(r"\s?/\s?\d", rest))
