"""Answers of several numbers: boxes and colours."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from snellen.core.item import Box
from snellen.scoring.answers.grammar import Mention

N = r"([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][+-]?\d{1,3})?)"
SEP = r"\s{0,9}[,;\s]\s{0,9}"
Colour = tuple[int, int, int]
LARGEST = 1e9
"""Coordinates beyond it are no place in a picture."""


def _keyed(*names: str) -> str:
    """Numbers under their names: "x1": 3, "y1": 4 and so on, or x1=3, y1=4."""
    pairs = (rf"[\"']?\b{name}\b[\"']?\s{{0,9}}[:=]\s{{0,9}}{N}" for name in names)
    return r"\s{0,9}[,;\s]\s{0,9}".join(pairs)


def _row(count: int) -> str:
    return SEP.join([N] * count)


PAIR = rf"[\[(]\s{{0,9}}{_row(2)}\s{{0,9}}[\])]"
BOXES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\[\s{{0,9}}{_row(4)}\s{{0,9}}\]",
        rf"\(\s{{0,9}}{_row(4)}\s{{0,9}}\)",
        # Two corners; three or more points are a polygon.
        rf"(?<![\])])(?<![\])],)(?<![\])], ){PAIR}\s{{0,9}}(?:,|to|and|-)?\s{{0,9}}{PAIR}(?!\s{{0,9}},?\s{{0,9}}[\[(])",
        _keyed("x1", "y1", "x2", "y2"),
        _keyed("x_?min", "y_?min", "x_?max", "y_?max"),
        _keyed("left", "top", "right", "bottom"),
    )
)
COLOURS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\[\s{{0,9}}{_row(3)}\s{{0,9}}\]",
        rf"\(\s{{0,9}}{_row(3)}\s{{0,9}}\)",
        _keyed("r(?:ed)?", "g(?:reen)?", "b(?:lue)?"),
    )
)
BARE = re.compile(rf"(?<![\w.+-]){N}(?:{SEP}{N})*(?![\w%])".replace("([", "(?:["))
OTHER_SYSTEM = re.compile(r"(?i)\b(?:hs[lvbi]|hsluv|cie\w*|lab|lch|xyz|yuv|cmyk?|bgr)\W{0,3}$")
HEX = re.compile(r"(?<![\w&])#([0-9a-f]{6})(?!\w)", re.I)


@dataclass(frozen=True)
class Boxes:
    """[x1, y1, x2, y2] in the numbers of the reply. A box whose corners are exchanged is none."""

    reaches_on: bool = True

    def alone(self, piece: str) -> Box | None:
        """A piece is never more than what it mentions."""
        return None

    def mentions(self, piece: str, declared: bool) -> list[Mention]:
        """Every set of four numbers in the piece: bracketed or named ones if there are any, else bare ones."""
        return _mentions(piece, BOXES, 4, _box)


@dataclass(frozen=True)
class Colours:
    """(red, green, blue), whole numbers 0..255."""

    reaches_on: bool = True

    def alone(self, piece: str) -> Colour | None:
        """A piece is never more than what it mentions."""
        return None

    def mentions(self, piece: str, declared: bool) -> list[Mention]:
        """Every #rrggbb and every set of three numbers in the piece."""
        coded = [Mention(*match.span(), _from_hex(match[1])) for match in HEX.finditer(piece)]
        mentions = _mentions(piece, COLOURS, 0 if coded else 3, _colour)
        mentions = [
            mention
            for mention in mentions
            if not OTHER_SYSTEM.search(piece[max(0, mention.start - 12) : mention.start])
        ]
        return sorted(coded + mentions, key=lambda mention: mention.start)


def _mentions(
    piece: str,
    patterns: tuple[re.Pattern[str], ...],
    bare: int,
    value: Callable[[tuple[str, ...]], Box | Colour | None],
) -> list[Mention]:
    """The mentions of all patterns; where there are none, rows of just so many `bare` numbers. In order."""
    mentions = [
        Mention(*match.span(), value(match.groups())) for pattern in patterns for match in pattern.finditer(piece)
    ]
    if not mentions and bare:
        rows = ((match, tuple(re.findall(N, match[0]))) for match in BARE.finditer(piece))
        mentions = [Mention(*match.span(), value(numbers)) for match, numbers in rows if len(numbers) == bare]
    return sorted(mentions, key=lambda mention: mention.start)


def _box(numbers: tuple[str, ...]) -> Box | None:
    x1, y1, x2, y2 = map(float, numbers)
    within = all(math.isfinite(number) and abs(number) <= LARGEST for number in (x1, y1, x2, y2))
    return (x1, y1, x2, y2) if within and x1 <= x2 and y1 <= y2 else None


def _colour(numbers: tuple[str, ...]) -> Colour | None:
    if not all(re.fullmatch(r"\d{1,3}", number) and int(number) <= 255 for number in numbers):
        return None
    red, green, blue = map(int, numbers)
    return red, green, blue


def _from_hex(code: str) -> Colour:
    return int(code[:2], 16), int(code[2:4], 16), int(code[4:], 16)
