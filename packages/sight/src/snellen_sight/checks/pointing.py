"""The check `pointing`: the frame in which a model gives points, and whether it follows what a question states.

Targets stand at known places, mostly near the edges, where frames differ most, in images of two sizes and one of an odd
aspect. Eight questions state no unit. Three state one, and three declare a display of another size than the image.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PIL import Image, ImageDraw

from snellen_sight.drawing import png
from snellen_sight.frames import (
    DECLARED,
    FRAMES,
    GRIDS,
    MOST_MISSES,
    MOST_SPREAD,
    SENT,
    SURE,
    Conversion,
    FittedFrame,
    PointFrame,
    PointTrial,
    Size,
    fit_conversion,
    log_likelihood,
)
from snellen_sight.likelihood import FINE, SightQuestion
from snellen_sight.points import read_point
from snellen_sight.results import SightLine

SIZES: tuple[Size, ...] = ((1920, 1080), (896, 640), (1000, 2000))
PLACES = (
    (0.09, 0.09), (0.93, 0.91), (0.08, 0.92), (0.92, 0.09), (0.5, 0.94), (0.94, 0.5), (0.06, 0.5), (0.93, 0.93),
    (0.1, 0.88), (0.91, 0.93), (0.9, 0.1), (0.93, 0.9), (0.08, 0.93), (0.94, 0.92),
)  # fmt: skip
"""Places of the target as shares of width and height; each is moved by up to `SHIFT`."""
SHIFT = 0.03
RADIUS = 0.016
"""The radius of the target as a share of the longer side: it stays 10 px wide in an image of 336 px."""
PLAIN, STATED, DECLARING = "pointing", "pointing with a unit", "pointing on a display"
"""The groups of questions."""
PLAIN_CALLS, STATED_CALLS, DECLARING_CALLS = 8, 3, 3
DISPLAY = 1.25
"""The declared display is so many times as large as the image; its sides are whole numbers of pixels."""
SHARES = f"{next(iter(GRIDS))} of width and height"
LEAST_READ = 0.75
"""The share of replies in which a point must be read."""
_FRAMES = {frame.name: frame for frame in FRAMES}


def question(number: int, rng: np.random.Generator, unit: str = SHARES) -> SightQuestion:
    """The n-th question, from 0 to 13: without a unit, with a stated `unit`, with a declared display."""
    width, height = size = SIZES[number % len(SIZES)]
    share = np.asarray(PLACES[number]) + rng.uniform(-SHIFT, SHIFT, 2)
    trial = PointTrial(size, (float(share[0] * width), float(share[1] * height)), (0.0, 0.0))
    group, text = PLAIN, "Where is the centre of the red disc in the image? Reply with its two coordinates alone."
    if PLAIN_CALLS <= number < PLAIN_CALLS + STATED_CALLS:
        form = (
            "as fractions of the image's width and height, each from 0 to 1"
            if unit == SHARES
            else f"in pixels of the image, which is {width} pixels wide and {height} pixels high"
        )
        group = STATED
        text = f"Where is the centre of the red disc in the image? Reply with x and y {form}, as (x, y)."
    elif number >= PLAIN_CALLS + STATED_CALLS:
        declared = round(width * DISPLAY), round(height * DISPLAY)
        trial, group = replace(trial, declared=declared), DECLARING
        text = (
            f"This is a screenshot of a display of {declared[0]} x {declared[1]} pixels. Click on the centre of the "
            "red disc. Reply with click(x, y) in coordinates of the display."
        )
    right = f"({trial.target[0]:.0f}, {trial.target[1]:.0f})"
    image = png(target_image(trial, rng))
    return SightQuestion(group, (image,), text, (), {FINE: (frozenset({right}),)}, trial=trial)


def target_image(trial: PointTrial, rng: np.random.Generator) -> Image.Image:
    """A light image with a red disc at the target and other shapes away from it."""
    (width, height), side = trial.size, max(trial.size)
    image = Image.new("RGB", trial.size, (236, 236, 232))
    draw = ImageDraw.Draw(image)
    radius = RADIUS * side
    for colour in ((40, 90, 200), (30, 140, 60), (90, 90, 90), (200, 160, 30)):
        while True:
            x, y = float(rng.uniform(0.1, 0.9)) * width, float(rng.uniform(0.1, 0.9)) * height
            if max(abs(x - trial.target[0]), abs(y - trial.target[1])) > 5 * radius:
                break
        draw.rectangle((x - radius, y - radius, x + radius, y + radius), fill=colour)
    x, y = trial.target
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=(220, 30, 30))
    return image


@dataclass(frozen=True)
class PointingResult:
    """What the replies tell: the conversion of replies without a unit, and what the others follow.

    `follows_unit` and `follows_display` are None if unknown. `reason` says why nothing is known.
    """

    conversion: Conversion | None = None
    follows_unit: bool | None = None
    follows_display: bool | None = None
    reason: str = ""

    @property
    def is_sure(self) -> bool:
        """True if the frame is known."""
        return self.conversion is not None and self.conversion.is_sure

    @property
    def frame(self) -> str:
        """The name of the frame, empty if it is not known."""
        return self.conversion.best.name if self.is_sure and self.conversion else ""

    def line(self) -> SightLine:
        """The result as a line. A frame is a convention, never a fault."""
        if self.conversion is None:
            return SightLine(PLAIN, "cannot tell", f"pointing: {self.reason}")
        best = self.conversion.best
        if not self.is_sure:
            return SightLine(PLAIN, "cannot tell", f"pointing: {_doubt(self.conversion)}")
        parts = [f"points are {' or '.join(self.conversion.names)}: {_conversion_words(best)}", _precision_words(best)]
        for followed, what in ((self.follows_unit, "a stated unit"), (self.follows_display, "a declared display")):
            if followed is not None:
                parts.append(f"{what} is {'followed' if followed else 'not followed'}")
        return SightLine(PLAIN, "fine", "; ".join(parts))


def result(answered: Sequence[tuple[SightQuestion, str]]) -> PointingResult:
    """What the replies to the questions tell about points."""
    trials: dict[str, list[PointTrial]] = {PLAIN: [], STATED: [], DECLARING: []}
    for question_asked, reply in answered:
        if (trial := question_asked.trial) is not None and (point := read_point(reply)) is not None:
            numbers = point.first, point.second
            trials[question_asked.group].append(replace(trial, reply=numbers, is_named=point.is_named))
    count = sum(question_asked.group == PLAIN for question_asked, _ in answered)
    found = _fitted(tuple(trials[PLAIN])) if len(trials[PLAIN]) >= LEAST_READ * count else None
    if found is None:
        return PointingResult(reason=f"two coordinates are read in {len(trials[PLAIN])} of {count} replies")
    if not found.is_sure:
        return PointingResult(found)
    own = found.best
    return PointingResult(
        found,
        _follows(trials[STATED], _FRAMES[stated_unit(found)], own),
        _follows(trials[DECLARING], _FRAMES[DECLARED], own),
    )


@functools.lru_cache(1)
def _fitted(trials: tuple[PointTrial, ...]) -> Conversion | None:
    """The conversion; a check asks for it after the first questions, and for its line and its card."""
    return fit_conversion(trials)


def stated_unit(conversion: Conversion | None) -> str:
    """The unit to be stated: another than the model's own."""
    return SENT if conversion is not None and conversion.best.frame.name == SHARES else SHARES


def _follows(trials: Sequence[PointTrial], frame: PointFrame, own: FittedFrame) -> bool | None:
    """Whether replies are in the frame that was asked for rather than in the model's own, None if unsure."""
    if not trials:
        return None
    difference = log_likelihood(frame, trials, own) - log_likelihood(own.frame, trials, own)
    return None if abs(difference) < SURE else difference > 0


def _doubt(conversion: Conversion) -> str:
    if conversion.best.errors.spread > MOST_SPREAD or conversion.best.misses > MOST_MISSES:
        return "the coordinates in the replies do not follow the target in any frame"
    names = list(dict.fromkeys([*conversion.names, *conversion.rivals]))
    shown = f"{', '.join(names[:3])}{' and others' if len(names) > 3 else ''}"
    return (
        f"points scatter by {conversion.best.errors.spread:.1%} of the longer side, which fits several frames: {shown}"
    )


def _conversion_words(best: FittedFrame) -> str:
    """How a reply (a, b) becomes a place in pixels of the sent image."""
    first, second = ("b", "a") if best.frame.is_y_first else ("a", "b")
    for name, number in GRIDS.items():
        if best.frame.name.startswith(f"{name} of width and height"):
            over = "" if number == 1 else f" / {number:.0f}"
            return f"x = {first} · width{over}, y = {second} · height{over}"
    if best.frame.name == SENT:
        return "no conversion is needed"
    maps = (
        f"{width} x {height}: x = {_linear(first, axes.x, axes.left)}, y = {_linear(second, axes.y, axes.top)}"
        for (width, height), axes in best.axes.items()
    )
    return "; ".join(maps)


def _linear(number: str, unit: float, offset: float) -> str:
    """The place for a number, with the numbers per pixel and the number at the upper left corner."""
    moved = f"({number} - {offset:.4g})" if offset > unit else number
    return moved if unit == 1 else f"{1 / unit:.4g} · {moved}"


def _precision_words(best: FittedFrame) -> str:
    side = max(SIZES[0])
    words = f"± {best.errors.spread * side:.0f} px in an image of {SIZES[0][0]:,} x {SIZES[0][1]:,} px"
    x, y = best.errors.bias
    if max(abs(x), abs(y)) > 3 * best.errors.spread / PLAIN_CALLS**0.5 and max(abs(x), abs(y)) * side >= 2:
        words += f", shifted by {x * side:+.0f} and {y * side:+.0f} px"
    return words
