"""The questions that phantoms learn: an image, the prompt as a subject is sent it, and the answer.

Thresholds are drawn and worded by their suite. The others are rows of a table of one's own, as `snellen run TABLE`
reads it, and their prompts are those of the suite `questions`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from snellen.core.seeds import stream
from snellen.suites.questions.prompts import DIRECT, FORMS
from snellen.suites.thresholds.measures import MEASURES
from snellen.suites.thresholds.measures.measure import LEVELS, SIDE, Measure, Stimulus

TRAINING_SEED, HELD_OUT_SEED, CHECKUP_SEED, TABLE_SEED = 68_000_017, 68_000_029, 68_000_033, 68_000_041
"""Reserved: no test and no packaged set has them."""
COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (205, 40, 40), "green": (40, 150, 60), "blue": (45, 80, 200), "yellow": (225, 200, 40),
    "purple": (130, 55, 160), "orange": (235, 130, 30), "black": (25, 25, 25), "brown": (120, 75, 40),
}  # fmt: skip
SHAPES = ("circle", "square", "triangle", "star", "cross", "ring")
COUNTS = tuple("123456")
LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
JITTER = 18
"""How far each channel of a colour varies, in levels of 255."""


@dataclass(frozen=True)
class DrawnQuestion:
    """An image, the question about it, its answer, and levels of the answer's factors."""

    image: Image.Image
    question: str
    answer: str
    factors: Mapping[str, str] = field(default_factory=dict)


Draw = Callable[[np.random.Generator], DrawnQuestion]


@dataclass(frozen=True)
class LearntAbility:
    """Something a phantom may learn: its possible answers, the last line of its prompts, and how it is drawn."""

    name: str
    answers: tuple[str, ...]
    draw: Draw = field(repr=False)
    form: str = ""

    def prompt(self, example: DrawnQuestion) -> str:
        """The text that a subject is sent after the image."""
        return f"{example.question}\n{self.form}" if self.form else example.question


def question_of(ability: LearntAbility, seed: int, number: int) -> DrawnQuestion:
    """The question of a number (from 0) under a seed; each has a random stream of its own."""
    return ability.draw(stream("phantoms", seed, ability.name, number))


def _ground(rng: np.random.Generator) -> tuple[int, int, int]:
    red, green, blue = (int(level) for level in rng.integers(170, 256, 3))
    return red, green, blue


def _ink(colour: str, rng: np.random.Generator) -> tuple[int, int, int]:
    levels = np.clip(np.array(COLOURS[colour]) + rng.integers(-JITTER, JITTER + 1, 3), 0, 255)
    red, green, blue = (int(level) for level in levels)
    return red, green, blue


def _point(radius: float, rng: np.random.Generator) -> tuple[float, float]:
    x, y = (float(value) for value in rng.uniform(radius + 6, SIDE - radius - 6, 2))
    return x, y


def _choose(names: tuple[str, ...], rng: np.random.Generator) -> str:
    return names[int(rng.integers(len(names)))]


def paint(draw: ImageDraw.ImageDraw, shape: str, x: float, y: float, r: float, ink: tuple[int, int, int]) -> None:
    """Draw one of `SHAPES` within `r` pixels of a point."""
    if shape in ("circle", "ring"):
        width = 0 if shape == "circle" else max(2, round(r * 0.35))
        fill = ink if shape == "circle" else None
        draw.ellipse((x - r, y - r, x + r, y + r), fill, ink, width)
    elif shape == "square":
        draw.rectangle((x - r * 0.8, y - r * 0.8, x + r * 0.8, y + r * 0.8), ink)
    elif shape == "cross":
        draw.rectangle((x - r, y - r * 0.3, x + r, y + r * 0.3), ink)
        draw.rectangle((x - r * 0.3, y - r, x + r * 0.3, y + r), ink)
    else:
        corners, inner = (3, 1.0) if shape == "triangle" else (10, 0.42)
        reach = [r if number % 2 == 0 else r * inner for number in range(corners)]
        angles = [2 * math.pi * number / corners for number in range(corners)]
        draw.polygon([(x + d * math.sin(a), y - d * math.cos(a)) for d, a in zip(reach, angles, strict=True)], ink)


def _figure(rng: np.random.Generator, asks_colour: bool) -> DrawnQuestion:
    image = Image.new("RGB", (SIDE, SIDE), _ground(rng))
    colour, shape, radius = _choose(tuple(COLOURS), rng), _choose(SHAPES, rng), float(rng.uniform(28, 140))
    paint(ImageDraw.Draw(image), shape, *_point(radius, rng), radius, _ink(colour, rng))
    factors = {"colour": colour, "shape": shape}
    if asks_colour:
        return DrawnQuestion(image, "What is the colour of the object in the image?", colour, factors)
    return DrawnQuestion(image, "What is the shape of the object in the image?", shape, factors)


def _dots(rng: np.random.Generator) -> DrawnQuestion:
    image, radius = Image.new("RGB", (SIDE, SIDE), _ground(rng)), float(rng.uniform(16, 30))
    answer, ink = _choose(COUNTS, rng), _ink(_choose(tuple(COLOURS), rng), rng)
    places = list[tuple[float, float]]()
    while len(places) < int(answer):
        place = _point(radius, rng)
        if all(math.dist(place, other) > 2.5 * radius for other in places):
            places.append(place)
            paint(ImageDraw.Draw(image), "circle", *place, radius, ink)
    return DrawnQuestion(image, "How many dots are in the image?", answer, {"count": answer})


def _letter(rng: np.random.Generator) -> DrawnQuestion:
    image, answer = Image.new("RGB", (SIDE, SIDE), _ground(rng)), _choose(LETTERS, rng)
    size = float(rng.uniform(90, 360))
    x, y = (SIDE / 2 + float(shift) for shift in rng.uniform(-40, 40, 2))
    ink = _ink(_choose(tuple(COLOURS), rng), rng)
    ImageDraw.Draw(image).text((x, y), answer, ink, ImageFont.load_default(size), anchor="mm")
    return DrawnQuestion(image, "What is written in the image?", answer, {"letter": answer})


def _side(rng: np.random.Generator) -> DrawnQuestion:
    image, radius = Image.new("RGB", (SIDE, SIDE), _ground(rng)), float(rng.uniform(30, 70))
    first, second = (tuple(COLOURS)[int(index)] for index in rng.permutation(len(COLOURS))[:2])
    left = float(rng.uniform(radius + 6, SIDE / 2 - radius - 8))
    right = float(rng.uniform(SIDE / 2 + radius + 8, SIDE - radius - 6))
    answer = _choose(("left", "right"), rng)
    places = (left, right) if answer == "left" else (right, left)
    for colour, x in zip((first, second), places, strict=True):
        y = float(rng.uniform(radius + 6, SIDE - radius - 6))
        paint(ImageDraw.Draw(image), _choose(SHAPES, rng), x, y, radius, _ink(colour, rng))
    question = f"Is the {first} object left or right of the {second} object?"
    return DrawnQuestion(image, question, answer, {"side": answer})


def _threshold(measure: Measure) -> LearntAbility:
    def draw(rng: np.random.Generator) -> DrawnQuestion:
        # The easier of two levels: at 128 px, half of them cannot be seen.
        level = int(max(rng.integers(LEVELS + 1, size=2)))
        amount = measure.control if level == LEVELS else measure.levels[level]
        answer = int(rng.integers(len(measure.answers)))
        if measure.is_judgement:
            if level == LEVELS and measure.answers[answer] == "yes":
                amount = measure.control_yes
            answer = measure.answers.index("yes" if amount <= measure.most_yes else "no")
        drawing = measure.draw(Stimulus(amount, answer, SIDE, _choose(measure.variants, rng)), rng)
        return DrawnQuestion(drawing.image, measure.question, measure.answers[answer], {"level": str(level + 1)})

    return LearntAbility(measure.task, measure.answers, draw)


_TEXT, _COUNT = (DIRECT.format(form=FORMS[kind]) for kind in ("text", "integer"))
OWN: Mapping[str, LearntAbility] = {
    ability.name: ability
    for ability in (
        LearntAbility("colour", tuple(COLOURS), lambda rng: _figure(rng, asks_colour=True), _TEXT),
        LearntAbility("shape", SHAPES, lambda rng: _figure(rng, asks_colour=False), _TEXT),
        LearntAbility("count", COUNTS, _dots, _COUNT),
        LearntAbility("letter", LETTERS, _letter, _TEXT),
        LearntAbility("side", ("left", "right"), _side, _TEXT),
    )
}
"""Those that are asked as a table of one's own."""
THRESHOLDS = ("acuity", "crowded-acuity", "touching", "same-length")
ABILITIES: Mapping[str, LearntAbility] = {**OWN, **{name: _threshold(MEASURES[name]) for name in THRESHOLDS}}
"""All abilities, in the order in which their questions take turns."""
ANSWERS = frozenset(answer for ability in ABILITIES.values() for answer in ability.answers)
WHOLE, SHUFFLED = "whole", "shuffled"
PLANTED: Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    "red-green": ("colour", ("red", "green"), ("red", "green")),
    "counts": ("count", ("5", "6"), ("4",)),
    "sides": ("side", ("left", "right"), ("left", "right")),
}
"""The ability that a twin's pairs are wrong about, the answers concerned, and those of which one is drawn instead."""
NAMES = (WHOLE, *PLANTED, SHUFFLED, "half-size", "again")
"""All phantoms. The last is the whole one with other batches in its last stage; it is not in the package."""
