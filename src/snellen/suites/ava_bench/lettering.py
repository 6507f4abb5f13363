"""Made-up words in straight strokes: text that can be built of solids, and that no language helps to guess."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

import numpy as np

WIDTH, HEIGHT, GAP = 4.0, 6.0, 1.7
"""Of a capital and of the room between two, in units of its grid; y points up."""
STROKE = 0.85
"""Width of a stroke in the same units."""
SHORTEST, LONGEST = 3, 7
"""Letters of a word: longer ones would be too small to read at the size of a picture."""
_PATHS: Mapping[str, str] = MappingProxyType(
    {
        "B": "00-06-35-34-03 03-42-41-00",
        "D": "00-06-26-44-42-20-00",
        "E": "40-00-06-46 03-33",
        "F": "00-06-46 03-33",
        "G": "46-06-00-40-43-23",
        "H": "00-06 40-46 03-43",
        "I": "20-26 10-30 16-36",
        "K": "00-06 46-03-40",
        "L": "06-00-40",
        "M": "00-06-23-46-40",
        "N": "00-06-40-46",
        "O": "00-06-46-40-00",
        "P": "00-06-46-43-03",
        "R": "00-06-46-43-03 23-40",
        "S": "46-06-03-43-40-00",
        "T": "06-46 20-26",
        "U": "06-00-40-46",
        "V": "06-20-46",
        "Z": "06-46-00-40",
    }
)
CONSONANTS, VOWELS = "BDFGHKLMNPRSTVZ", "AEIOU"
"""Letters whose shapes are not mistaken for each other."""


def strokes(letter: str) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    """The strokes of a capital, each from point to point of its grid. Raises KeyError for a letter there is not."""
    if letter == "A":
        return [((0, 0), (2, 6)), ((2, 6), (4, 0)), ((0.75, 2.2), (3.25, 2.2))]
    found: list[tuple[tuple[float, float], tuple[float, float]]] = []
    for path in _PATHS[letter].split():
        points = [(float(point[0]), float(point[1])) for point in path.split("-")]
        found += pairwise(points)
    return found


def made_up(length: int, rng: np.random.Generator) -> str:
    """A word of so many capitals that can be spoken: consonants and vowels by turns."""
    kinds = (CONSONANTS, VOWELS)
    first = int(rng.integers(2))
    return "".join(str(rng.choice(list(kinds[(first + n) % 2]))) for n in range(length))
