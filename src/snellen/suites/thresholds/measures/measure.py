"""What a task measures, and the layout of tasks that ask which of nine patches is odd."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from PIL import Image

from snellen_sight.figures import Plane, canvas, numeral

PLACES = tuple("123456789")
"""Numerals of the nine patches, in reading order."""
YES_OR_NO = ("yes", "no")
SIDE = 448
"""Side of the canvas in pixels, unless a task offers others."""
SHIFT = 16.0
"""The whole layout is shifted by up to this many pixels along both axes: all phases of grids of up to 32 pixels."""
PITCH, RADIUS = 138.0, 48.0
"""Distance of the patches' centres, and the greatest extent of a patch, in pixels."""
LEVELS = 16


class StimulusImage(NamedTuple):
    """An image, with the factors and measures that vary between exemplars."""

    image: Image.Image
    factors: Mapping[str, str]
    measures: Mapping[str, float]


class NumberedPatch(NamedTuple):
    """A patch with its numeral and its middle, in pixels."""

    numeral: str
    x: float
    y: float


class Stimulus(NamedTuple):
    """What is to be drawn: a level in physical units, the number of the right answer, and the canvas' side."""

    level: float
    answer: int
    side: int
    variant: str


Draw = Callable[[Stimulus, np.random.Generator], StimulusImage]


@dataclass(frozen=True)
class Measure:
    """A threshold: its levels in a physical unit from hard to easy, its question, and how a stimulus is drawn.

    `quantity` is the item's measure that holds the level; `control` is the level of the easy controls. `sentence` has
    `{value}` for the threshold with its unit and interval. `variants` are kinds of stimulus of which every level has
    equally many (spatial frequencies); empty for one kind. `canvases` are the sides that it can be drawn on.

    A judgement is answered by yes up to the level `most_yes` and by no beyond. Its levels are signed and equally far
    apart, and half of its controls are at `control_yes`. `sentence` has its PSE, or if that is negative
    `negative_sentence` its size.
    """

    task: str
    quantity: str
    unit: str
    question: str
    question_for_people: str
    levels: tuple[float, ...]
    control: float
    draw: Draw = field(repr=False)
    sentence: str
    answers: tuple[str, ...] = PLACES
    variants: tuple[str, ...] = ("",)
    canvases: tuple[int, ...] = (SIDE,)
    most_yes: float = math.nan
    control_yes: float = math.nan
    negative_sentence: str = ""

    @property
    def is_pointing(self) -> bool:
        """True if it is answered by a point; variants are then places of the target and share one function."""
        return not self.answers

    @property
    def alternatives(self) -> int:
        """The number of answers among which a guess chooses: of a point each pixel of the canvas."""
        return SIDE * SIDE if self.is_pointing else len(self.answers)

    @property
    def is_judgement(self) -> bool:
        """True if it is answered by yes and no, and has a PSE and a spread in place of a threshold."""
        return self.answers == YES_OR_NO

    def positions_on(self, side: int) -> list[float]:
        """The levels on a canvas of this side as psychometric functions take them: log10 units, or signed levels."""
        levels = self.levels_on(side)
        return list(levels) if self.is_judgement else np.log10(levels).tolist()

    def levels_on(self, side: int) -> tuple[float, ...]:
        """The levels on a canvas of this side: on larger ones they reach as far in shares of the canvas."""
        if side == SIDE:
            return self.levels
        return geometric(self.levels[0], self.levels[-1] * side / SIDE)

    def control_on(self, side: int) -> float:
        """The level of the controls on a canvas of this side."""
        return self.control * side / SIDE if side != SIDE else self.control


def random_shift(rng: np.random.Generator) -> tuple[float, float]:
    """How far a layout is moved along both axes, in pixels: at most `SHIFT`."""
    dx, dy = (round(float(distance), 3) for distance in rng.uniform(-SHIFT, SHIFT, 2))
    return dx, dy


def linear(least: float, most: float) -> tuple[float, ...]:
    """Sixteen levels at equal distances."""
    return tuple(round(float(level), 6) for level in np.linspace(least, most, LEVELS))


def geometric(hardest: float, easiest: float) -> tuple[float, ...]:
    """Sixteen levels in equal ratios, with four significant digits."""
    return tuple(float(f"{level:.4g}") for level in np.geomspace(hardest, easiest, LEVELS))


def contrasting(rng: np.random.Generator) -> tuple[float, float, str]:
    """(ground, ink, polarity): linear light of a ground and of what is drawn on it, dark on light or light on dark."""
    bright, dark = float(rng.uniform(0.45, 0.95)), float(rng.uniform(0.0, 0.03))
    return (bright, dark, "dark on light") if rng.random() < 0.5 else (dark, bright, "light on dark")


def patch_layout(rng: np.random.Generator, wobble: float = 2.0) -> Iterator[NumberedPatch]:
    """The nine patches: the layout shifted as a whole, each patch by up to `wobble` pixels more."""
    shift = rng.uniform(-SHIFT, SHIFT, 2)
    for number, place in enumerate(PLACES):
        x, y = (SIDE / 2 + PITCH * (index - 1) for index in (number % 3, number // 3))
        dx, dy = shift + rng.uniform(-wobble, wobble, 2)
        yield NumberedPatch(place, float(x + dx), float(y + dy))


def shift_of(patches: Sequence[NumberedPatch]) -> dict[str, float]:
    """The mean distance of the patches from their places in the middle of the canvas, in pixels, as measures."""
    dx, dy = (
        float(np.mean(centres)) - SIDE / 2 for centres in zip(*((patch.x, patch.y) for patch in patches), strict=True)
    )
    return {"shift_x": round(dx, 3), "shift_y": round(dy, 3)}


def numbered(ground: float | Sequence[float], ink: float, patches: Sequence[NumberedPatch]) -> Plane:
    """A canvas with a numeral at the upper left of every patch."""
    plane = canvas(SIDE, np.asarray(ground, np.float64), 1 if isinstance(ground, float) else 3)
    for text, x, y in patches:
        numeral(plane, text, x - 52, y - 50, 22, ink)
    return plane


def odd_question(rule: str) -> str:
    """The question for which patch is odd."""
    return f"The image shows nine patches, numbered 1 to 9. {rule} Which one? Reply with its number."
