"""Forms of answers: converts solved examples to a probe's targets, and its outputs to answers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from snellen.core.item import Box, Media, View
from snellen.core.subject import TrainingExample
from snellen.subjects.encoders.readouts import Doubles, key_of, pick

Form: TypeAlias = Literal["class", "number", "box", "colour", "text"]
"""Answer types of a probe: an offered option, a number (a count, a range of depths), a box, a colour, letters."""

_RANGE = re.compile(r"(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?")
RGB_MAX = 255.0


class Unanswerable(Exception):
    """Raised for a view that a probe cannot answer; the message is the reason."""


def form_of(view: View) -> Form:
    """The form of a view's answer. Raises Unanswerable with the reason if probes have none for it."""
    if any(media.kind != "image" for media in view.media()):
        raise Unanswerable("cannot be shown a video")
    if any(option.media for option in view.options):
        raise Unanswerable("a probe chooses among texts, not among images")
    if any(demo.media for demo in view.support):
        raise Unanswerable("a probe learns from training examples, not from examples in the prompt")
    if not view.query:
        raise Unanswerable("no image to look at")
    kind = view.reply.kind
    if kind in ("box", "text") and len(view.query) > 1:
        raise Unanswerable(f"asks for a {kind} of {len(view.query)} images; a probe needs exactly one")
    if kind == "box":
        return "box"
    if kind == "colour":
        return "colour"
    if kind == "text" and not view.reply.offered:
        return "text"
    if kind in ("integer", "number"):
        return "number"
    if not view.reply.offered:
        raise Unanswerable(f"a probe has no form for an answer of kind {kind}")
    return "number" if all(_number(key) is not None for key in view.reply.offered) else "class"


def _number(key: str) -> float | None:
    """The number that a key names, for a range (`4-5`) its midpoint; None for any other."""
    match = _RANGE.fullmatch(key)
    if match is None:
        return None
    low, high = match.groups()
    return (float(low) + float(high if high is not None else low)) / 2


class _Targets:
    """Common part of targets: a form that answers every view."""

    def refusal(self, view: View) -> str | None:
        """The reason why the view cannot be answered, or None."""
        return None


@dataclass(frozen=True)
class OptionTargets:
    """Options by key. Targets are indices of `keys`; only offered ones share the probability."""

    keys: tuple[str, ...]
    form: Form = "class"

    @property
    def size(self) -> int:
        """Number of outputs."""
        return len(self.keys)

    def target(self, example: TrainingExample) -> Doubles:
        """The index of the answer, shape (1,)."""
        return np.array([float(self.keys.index(key_of(example.answer)))])

    def offered(self, view: View) -> NDArray[np.bool_]:
        """Mask of the keys that the view offers, shape (size,)."""
        return np.isin(self.keys, view.reply.offered)

    def refusal(self, view: View) -> str | None:
        """The reason why the view cannot be answered, or None."""
        if not self.offered(view).any():
            return "no training example has one of the offered options as its answer"
        return None

    def answer(self, view: View, outputs: Doubles, rng: np.random.Generator) -> tuple[str, list[float]]:
        """The likeliest option, and the probability of each; 0 for options not in the training examples."""
        scores = np.where(self.offered(view), outputs, -np.inf)
        raised = np.exp(scores - scores.max())
        by_key = dict(zip(self.keys, raised / raised.sum(), strict=True))
        probabilities = np.array([by_key.get(key, 0.0) for key in view.reply.offered])
        return view.reply.write(pick(probabilities, view.reply.offered, rng)), probabilities.tolist()


@dataclass(frozen=True)
class NumberTargets(_Targets):
    """A number, learned as (f(x) - mean) / scale with f(x) = log(1 + x), or x if some are negative.

    Equal steps of the logarithm are equal ratios, which is how counts and depths are scored. Predictions stay within
    the range of the training answers; if numbers or ranges are offered, the nearest is chosen.
    """

    logarithmic: bool
    mean: float
    scale: float
    limits: tuple[float, float]
    whole: bool
    form: Form = "number"
    size: int = 1

    def target(self, example: TrainingExample) -> Doubles:
        """The standardised number, shape (1,)."""
        return np.array([(self._scaled(_value(example.answer)) - self.mean) / self.scale])

    def _scaled(self, number: float) -> float:
        return math.log1p(number) if self.logarithmic else number

    def answer(self, view: View, outputs: Doubles, rng: np.random.Generator) -> tuple[str, list[float]]:
        """The number, and its value before rounding or choosing the nearest offered one."""
        scaled = float(outputs[0]) * self.scale + self.mean
        number = math.expm1(min(scaled, 700.0)) if self.logarithmic else scaled
        number = min(max(number, self.limits[0]), self.limits[1])
        if view.reply.offered:
            gaps = np.array([-abs(self._scaled(_value(key)) - self._scaled(number)) for key in view.reply.offered])
            return view.reply.write(pick(gaps, view.reply.offered, rng)), [number]
        return view.reply.write(round(number) if self.whole else number), [number]


@dataclass(frozen=True)
class BoxTargets(_Targets):
    """A box as centre, width and height in shares of the image shown, 0 to 1."""

    form: Form = "box"
    size: int = 4

    def target(self, example: TrainingExample) -> Doubles:
        """Centre, width and height, shape (4,)."""
        x1, y1, x2, y2 = shares(example.view.query[0], example.view.query[0].from_stored.box(example.answer))
        return np.array([(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1])

    def answer(self, view: View, outputs: Doubles, rng: np.random.Generator) -> tuple[str, list[float]]:
        """The box, and its corners in shares of the image shown."""
        image, (x, y, width, height) = view.query[0], outputs
        corners = np.clip([x - width / 2, y - height / 2, x + width / 2, y + height / 2], 0.0, 1.0)
        in_pixels = corners * (image.width, image.height, image.width, image.height)
        x1, y1, x2, y2 = (float(side) for side in in_pixels)
        return view.reply.write(image.from_stored.inverse().box((x1, y1, x2, y2))), corners.tolist()


@dataclass(frozen=True)
class ColourTargets(_Targets):
    """A colour as sRGB, 0 to 1."""

    form: Form = "colour"
    size: int = 3

    def target(self, example: TrainingExample) -> Doubles:
        """Red, green and blue, shape (3,)."""
        return np.asarray(example.answer, dtype=np.float64) / RGB_MAX

    def answer(self, view: View, outputs: Doubles, rng: np.random.Generator) -> tuple[str, list[float]]:
        """The colour, and its three numbers, not limited to 0 to 255."""
        return view.reply.write(np.clip(outputs * RGB_MAX, 0.0, RGB_MAX)), (outputs * RGB_MAX).tolist()


@dataclass(frozen=True)
class Letters(_Targets):
    """A word as a sequence of characters of `alphabet`; 0 means no character (CTC)."""

    alphabet: str
    form: Form = "text"

    @property
    def size(self) -> int:
        """Number of outputs per frame: one per character, and one for no character."""
        return len(self.alphabet) + 1

    def target(self, example: TrainingExample) -> Doubles:
        """Indices of the characters, from 1."""
        return np.array([self.alphabet.index(letter) + 1.0 for letter in str(example.answer)])

    def answer(self, view: View, outputs: Doubles, rng: np.random.Generator) -> tuple[str, list[float]]:
        """The best character of each frame (frames, size), without repetitions; no numbers."""
        best = outputs.argmax(1)
        first = best[np.flatnonzero(np.diff(best, prepend=0))]
        return view.reply.write("".join(self.alphabet[place - 1] for place in first if place)), []


Answers: TypeAlias = OptionTargets | NumberTargets | BoxTargets | ColourTargets | Letters


def fit_answers(form: Form, examples: Sequence[TrainingExample]) -> Answers:
    """Targets for one form of answers, fitted to training examples of that form."""
    if form == "class":
        return OptionTargets(tuple(sorted({key_of(example.answer) for example in examples})))
    if form == "box":
        return BoxTargets()
    if form == "colour":
        return ColourTargets()
    if form == "text":
        return Letters("".join(sorted({letter for example in examples for letter in str(example.answer)})))
    raw = np.array([_value(example.answer) for example in examples])
    logarithmic = bool(raw.min() >= 0)
    scaled = np.log1p(raw) if logarithmic else raw
    whole = all(example.view.reply.kind == "integer" for example in examples)
    return NumberTargets(
        logarithmic, float(scaled.mean()), float(scaled.std()) or 1.0, (float(raw.min()), float(raw.max())), whole
    )


def shares(image: Media, box: Box) -> Box:
    """A box in pixels of an image as shares of its width and height."""
    x1, y1, x2, y2 = box
    return x1 / image.width, y1 / image.height, x2 / image.width, y2 / image.height


def _value(answer: Any) -> float:
    number = _number(str(answer))
    return float(answer) if number is None else number
