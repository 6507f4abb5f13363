"""Made-up words in matplotlib's typefaces: text built from solids that knowledge of a language does not help to guess.

A capital is filled with rows of bars, as by a coarse printer, since rendered scenes have no textures with letters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

FACES: Mapping[str, str] = {
    "sans": "DejaVuSans-Bold.ttf",
    "serif": "DejaVuSerif-Bold.ttf",
    "mono": "DejaVuSansMono-Bold.ttf",
}
"""Typefaces and their files; bold ones, since thin strokes would vanish at the size of an image."""
ROWS = 14
"""Rows of bars in a capital, about as many as its height in pixels in an image."""
GAP = 0.16
"""The gap between two letters, in heights of a capital."""
SHORTEST, LONGEST = 3, 7
"""Letters per word: longer words would be too small to read at the size of an image."""
CONSONANTS, VOWELS = "BDFGHKLMNPRSTVZ", "AEIOU"
"""Letters whose shapes are not mistaken for each other."""
Bar = tuple[float, float, float, float]
"""Left, bottom, right and top in heights of a capital; y points up."""


@cache
def outlines(letter: str, face: str) -> tuple[NDArray[np.float64], ...]:
    """The closed outlines of a capital, [points, 2], its left edge and its foot at 0, in heights of a capital H."""
    from matplotlib import get_data_path
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(fname=f"{get_data_path()}/fonts/ttf/{FACES[face]}")
    height = TextPath((0, 0), "H", size=100, prop=font).get_extents().y1
    path = TextPath((0, 0), letter, size=100, prop=font)
    left = path.get_extents().x0
    return tuple((np.asarray(polygon) - (left, 0.0)) / height for polygon in path.to_polygons())


@cache
def bars(letter: str, face: str) -> tuple[Bar, ...]:
    """The bars that fill a capital: the spans within its outlines per row, with equal rows merged to one bar."""
    filled: list[Bar] = []
    begun: dict[tuple[float, float], int] = {}
    for row in range(ROWS + 1):
        spans = list(_within(outlines(letter, face), (row + 0.5) / ROWS)) if row < ROWS else []
        for span in [ended for ended in begun if ended not in spans]:
            filled.append((span[0], begun.pop(span) / ROWS, span[1], row / ROWS))
        for span in spans:
            begun.setdefault(span, row)
    return tuple(filled)


def _within(shapes: tuple[NDArray[np.float64], ...], y: float) -> Iterator[tuple[float, float]]:
    """The spans of a line at this height within the outlines, rounded to a thousandth."""
    crossed: list[float] = []
    for points in shapes:
        begin, end = points[:-1], points[1:]
        hit = (begin[:, 1] <= y) != (end[:, 1] <= y)
        share = (y - begin[hit, 1]) / (end[hit, 1] - begin[hit, 1])
        crossed += (begin[hit, 0] + share * (end[hit, 0] - begin[hit, 0])).tolist()
    crossed.sort()
    for left, right in zip(crossed[::2], crossed[1::2], strict=True):
        yield round(left, 3), round(right, 3)


def word_bars(word: str, face: str) -> tuple[tuple[Bar, ...], float]:
    """The bars of a word from its left end, and its width, in heights of a capital."""
    filled: list[Bar] = []
    offset = 0.0
    for letter in word:
        letter_bars = bars(letter, face)
        filled += [(offset + left, low, offset + right, high) for left, low, right, high in letter_bars]
        offset += max(right for _, _, right, _ in letter_bars) + GAP
    return tuple(filled), offset - GAP


def draw_word(length: int, rng: np.random.Generator) -> str:
    """A pronounceable word of `length` capitals: consonants and vowels by turns."""
    kinds = (CONSONANTS, VOWELS)
    first = int(rng.integers(2))
    return "".join(str(rng.choice(list(kinds[(first + n) % 2]))) for n in range(length))
