"""The frame in which a model gives points: fitted by likelihood to its replies about targets at known places.

A frame maps a place in the sent image, in pixels, to the two numbers of a reply. Its offset (bias) and the spread of
replies are fitted, both as shares of the longer side of the image. Errors follow Student's t distribution, so that a
few lapses move nothing. Frames with the same map on all images asked are one conversion, with the names of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

Size = tuple[int, int]
MOST_SPREAD = 0.06
"""A spread, as a share of the longer side, beyond which replies tell no frame."""
LEAST_SPREAD = 0.001
MOST_FITTED_SPREAD = 0.015
"""The same for frames with a fitted length, of which several are alike."""
SURE = math.log(20)
"""By how much the best conversion must be likelier than any other."""
SAME = 0.006
"""Conversions are the same if the corners of all images differ by at most this share of the longer side."""
FREEDOM = 4.0
"""Degrees of freedom of the distribution of errors."""
MOST_MISSES = 0.3
"""The most replies that may be farther off than `FAR` spreads, as a share."""
FAR = 5.0
LEAST_REPLIES = 6
STEPS = 12
"""Steps of the EM algorithm."""
MEDIAN_DISTANCE = 1.18
"""The median distance of normal errors, in spreads."""
NESTED = 8.0
"""By how much a frame with a fitted scale must be likelier than those that it contains."""
MOST_GAIN = 4.0
"""By how much a fitted scale may be likelier, before this is taken off, without being a rival."""


@dataclass(frozen=True)
class PointTrial:
    """A target in an image of a size (width, height), both in px, and the numbers of the reply as they were given.

    `declared` is the size of the display that the question states, if it states one. If the reply names x and y,
    `is_named` is true and x is first.
    """

    size: Size
    target: tuple[float, float]
    reply: tuple[float, float]
    declared: Size | None = None
    is_named: bool = False


@dataclass(frozen=True)
class Axes:
    """The map of an image: numbers per pixel along x and y, and the numbers at its upper left corner."""

    x: float
    y: float
    left: float = 0.0
    top: float = 0.0

    def to_px(self, numbers: tuple[float, float]) -> tuple[float, float]:
        """The place in pixels that stands for these numbers, x first."""
        return (numbers[0] - self.left) / self.x, (numbers[1] - self.top) / self.y

    def from_px(self, point: tuple[float, float]) -> tuple[float, float]:
        """The numbers, x first, that stand for a place in pixels."""
        return point[0] * self.x + self.left, point[1] * self.y + self.top


Map = Callable[[PointTrial, float], Axes | None]
"""From a trial and a fitted length in pixels (unused by most) to the map of its image, None if there is none."""


@dataclass(frozen=True)
class PointFrame:
    """A frame: its name, its map, whether a length is fitted, and whether y is first.

    One with a `surprise` must be likelier by that much.
    """

    name: str
    map: Map
    is_fitted: bool = False
    is_y_first: bool = False
    surprise: float = 0.0


def _grid(number: float) -> Map:
    return lambda trial, length: Axes(number / trial.size[0], number / trial.size[1])


def _padded(number: float | None, share: float) -> Map:
    """A square of `number` (None: of the pixels of the longer side), padded with `share` of the rest on the left."""

    def axes(trial: PointTrial, length: float) -> Axes:
        width, height = trial.size
        side = max(trial.size)
        unit = (number or side) / side
        return Axes(unit, unit, (side - width) * share * unit, (side - height) * share * unit)

    return axes


def _declared(trial: PointTrial, length: float) -> Axes | None:
    if trial.declared is None:
        return None
    return Axes(trial.declared[0] / trial.size[0], trial.declared[1] / trial.size[1])


def _scaled(measure: Callable[[Size], float], *, enlarges: bool = False) -> Map:
    """Pixels of the image made smaller until a measure of it is at most the fitted length."""

    def axes(trial: PointTrial, length: float) -> Axes:
        scale = length / measure(trial.size)
        scale = scale if enlarges else min(1.0, scale)
        return Axes(scale, scale)

    return axes


GRIDS = {"shares": 1.0, "hundredths": 100.0, "thousandths": 1000.0, "1024ths": 1024.0}
SENT = "pixels of the image as sent"
DECLARED = "pixels of the declared display"
RESIZED = {
    "a longer side of at most {:,.0f} px": _scaled(max),
    "a shorter side of at most {:,.0f} px": _scaled(min),
    "at most as many pixels as a square of {:,.0f} px": _scaled(lambda size: math.sqrt(size[0] * size[1])),
    "a longer side of {:,.0f} px": _scaled(max, enlarges=True),
    "two sides of {:,.0f} px": lambda trial, length: Axes(length / trial.size[0], length / trial.size[1]),
}
"""Frames with a fitted length."""
FRAMES: tuple[PointFrame, ...] = tuple(
    replace(frame, name=f"{frame.name}, y first", is_y_first=True, surprise=frame.surprise + 1.0) if turned else frame
    for turned in (False, True)
    for frame in (
        PointFrame(SENT, _padded(None, 0.0)),
        *(PointFrame(f"{name} of width and height", _grid(number)) for name, number in GRIDS.items()),
        PointFrame(DECLARED, _declared),
        *(
            PointFrame(f"pixels of an image with {name}", axes, is_fitted=True, surprise=NESTED)
            for name, axes in RESIZED.items()
        ),
        PointFrame("pixels of the image padded to a square", _padded(None, 0.5), surprise=2.0),
        *(
            PointFrame(f"{name} of the image padded to a square{where}", _padded(number, share), surprise=2.0)
            for share, where in ((0.5, ""), (0.0, " at the right and bottom"))
            for name, number in GRIDS.items()
        ),
    )
)  # fmt: skip
"""Frames that are told apart; those with a `surprise` must be likelier by that much."""


@dataclass(frozen=True)
class ErrorFit:
    """Errors of points, as shares of the longer side of an image: their bias and spread.

    With a `reference` the bias is the same number of pixels in all images, and a share of this many pixels.
    """

    bias: tuple[float, float]
    spread: float
    reference: float = 0.0

    def distance(self, error: tuple[float, float], side: int) -> float:
        """How far an error in an image with this longer side is from the bias, in spreads."""
        share = self.share(side)
        return math.hypot(error[0] - self.bias[0] * share, error[1] - self.bias[1] * share) / self.spread

    def share(self, side: int) -> float:
        """The bias in an image with this longer side, relative to `bias`."""
        return self.reference / side if self.reference else 1.0


@dataclass(frozen=True)
class FittedFrame:
    """A frame with its fitted length in pixels, its errors, and its log likelihood.

    `axes` gives the map of an image. `misses` is the share of replies that are far off. `gain` is the log likelihood
    before anything is taken off for fitted scales and unusual frames.
    """

    frame: PointFrame
    length: float
    axes: Mapping[Size, Axes]
    errors: ErrorFit
    misses: float
    log: float
    gain: float

    @property
    def name(self) -> str:
        """The frame's name, with the fitted length."""
        return self.frame.name.format(self.length)

    def to_px(self, size: Size, numbers: tuple[float, float]) -> tuple[float, float]:
        """The place in the sent image, in pixels, for the two numbers of a reply as given; without the bias."""
        return self.axes[size].to_px((numbers[1], numbers[0]) if self.frame.is_y_first else numbers)


@dataclass(frozen=True)
class Conversion:
    """What replies tell about the frame: the best fit, the names of frames with the same map, and whether it is sure.

    `rivals` are the names of other conversions that are nearly as likely.
    """

    best: FittedFrame
    names: tuple[str, ...]
    rivals: tuple[str, ...]

    @property
    def is_sure(self) -> bool:
        """True if replies fit the best frame, and no other conversion is nearly as likely."""
        most = MOST_FITTED_SPREAD if self.best.frame.is_fitted else MOST_SPREAD
        return not self.rivals and self.best.errors.spread <= most and self.best.misses <= MOST_MISSES


def fit_conversion(trials: Sequence[PointTrial]) -> Conversion | None:
    """The conversion that the replies to these trials support; None for too few replies.

    >>> trials = [PointTrial((800, 600), (x, y), (x / 0.8, y / 0.6)) for x in (90, 480, 700) for y in (60, 510)]
    >>> fit_conversion(trials).names
    ('thousandths of width and height',)

    """
    if len(trials) < LEAST_REPLIES:
        return None
    fits = [fitted for frame in FRAMES if (fitted := fit_frame(frame, trials)) is not None]
    fits.sort(key=lambda fitted: -fitted.log)
    best = fits[0]
    alike = [fitted for fitted in fits if _same(best, fitted, trials)]
    # Of equal maps the plainest frame stands for all, and its own spread is stated.
    plain = min((fitted for fitted in alike if best.log - fitted.log < SURE), key=lambda fitted: fitted.frame.is_fitted)
    close = [fitted for fitted in fits if best.log - fitted.log < SURE or fitted.gain > best.gain + MOST_GAIN]
    names = [fitted.name for fitted in close if fitted in alike and fitted.frame.is_fitted <= plain.frame.is_fitted]
    rivals = dict.fromkeys(fitted.name for fitted in close if fitted not in alike)
    return Conversion(plain, tuple(names), tuple(rivals))


def fit_frame(frame: PointFrame, trials: Sequence[PointTrial]) -> FittedFrame | None:
    """A frame fitted to trials; None if it has no map for one."""
    in_order = [_x_first(trial, frame.is_y_first) for trial in trials]
    if not frame.is_fitted:
        return _fit_with(frame, in_order, 0.0)
    longest = max(max(trial.size) for trial in trials)
    best: FittedFrame | None = None
    steps = [longest * 2 ** (-step / 6) for step in range(-3, 27)]
    for finer in (6, 30, 150, 0):  # around the best length so far, in steps that become smaller
        fits = [(length, _fit_with(frame, in_order, length)) for length in steps]
        length, best = max(fits, key=lambda fit: fit[1].log if fit[1] else -math.inf)
        steps = [length * 2 ** (step / (5 * finer)) for step in range(-4, 5)] if finer else []
    return best


def log_likelihood(frame: PointFrame, trials: Sequence[PointTrial], known: FittedFrame) -> float:
    """The log likelihood of trials in a frame, with the bias and spread (and length) of another fit.

    Minus infinity if the frame has no map for one.
    """
    in_order = [_x_first(trial, frame.is_y_first) for trial in trials]
    fitted = _fit_with(frame, in_order, known.length or 1.0, known.errors)
    return -math.inf if fitted is None else fitted.gain


def _fit_with(
    frame: PointFrame,
    trials: Sequence[PointTrial],
    length: float,
    known: ErrorFit | None = None,
) -> FittedFrame | None:
    """A frame with this length, fitted to trials with x first, with `known` bias and spread if they are given."""
    axes: dict[Size, Axes] = {}
    errors, log = list[tuple[float, float]](), 0.0
    for trial in trials:
        found = frame.map(trial, length)
        if found is None:
            return None
        side = max(trial.size)
        axes[trial.size] = found
        x, y = found.to_px(trial.reply)
        errors.append(((x - trial.target[0]) / side, (y - trial.target[1]) / side))
        log -= math.log(found.x * found.y * side * side)  # the density of the numbers in the reply
    sides = [max(trial.size) for trial in trials]
    fits = [known] if known else [_fit_errors(errors, sides, reference) for reference in (0.0, float(max(sides)))]
    gain, fitted = max(((_log_density(errors, sides, fit), fit) for fit in fits), key=lambda pair: pair[0])
    log += gain
    cost = frame.surprise + (math.log(2 * len(trials)) / 2 if frame.is_fitted else 0.0)
    distances = [fitted.distance(error, side) for error, side in zip(errors, sides, strict=True)]
    misses = sum(distance > FAR for distance in distances) / len(distances)
    return FittedFrame(frame, length, axes, fitted, misses, log - cost, log)


def _x_first(trial: PointTrial, is_y_first: bool) -> PointTrial:
    return replace(trial, reply=trial.reply[::-1]) if is_y_first and not trial.is_named else trial


def _fit_errors(errors: Sequence[tuple[float, float]], sides: Sequence[int], reference: float) -> ErrorFit:
    """The bias and spread of errors, by the EM algorithm for the bivariate t distribution."""
    bias = median(x for x, _ in errors), median(y for _, y in errors)
    fit = ErrorFit(bias, 1.0, reference)
    fit = replace(fit, spread=max(LEAST_SPREAD, median(map(fit.distance, errors, sides)) / MEDIAN_DISTANCE))
    shares = [fit.share(side) for side in sides]
    for _ in range(STEPS):
        weights = [(FREEDOM + 2) / (FREEDOM + fit.distance(*pair) ** 2) for pair in zip(errors, sides, strict=True)]
        total = sum(weight * share**2 for weight, share in zip(weights, shares, strict=True))
        x, y = (
            sum(weight * share * error[n] for weight, share, error in zip(weights, shares, errors, strict=True)) / total
            for n in (0, 1)
        )
        moved = ErrorFit((x, y), fit.spread, reference)
        squares = (moved.distance(*pair) ** 2 for pair in zip(errors, sides, strict=True))
        mean = sum(weight * square for weight, square in zip(weights, squares, strict=True)) / (2 * len(errors))
        fit = replace(moved, spread=max(LEAST_SPREAD, fit.spread * math.sqrt(mean)))
    return fit


def _log_density(errors: Sequence[tuple[float, float]], sides: Sequence[int], fit: ErrorFit) -> float:
    """The log likelihood of errors under Student's t distribution."""
    distances = map(fit.distance, errors, sides)
    tails = sum(math.log1p(distance**2 / FREEDOM) for distance in distances)
    return -len(errors) * math.log(2 * math.pi * fit.spread**2) - (FREEDOM / 2 + 1) * tails


def _same(fitted: FittedFrame, rival: FittedFrame, trials: Sequence[PointTrial]) -> bool:
    """True if two frames map the numbers of replies to the same places of all images asked, but for `SAME`."""
    if fitted.frame.is_y_first != rival.frame.is_y_first and not all(trial.is_named for trial in trials):
        return False
    for size, axes in fitted.axes.items():
        for corner in ((0.0, 0.0), (float(size[0]), float(size[1]))):
            place = rival.axes[size].to_px(axes.from_px(corner))
            if max(abs(place[0] - corner[0]), abs(place[1] - corner[1])) > SAME * max(size):
                return False
    return True
