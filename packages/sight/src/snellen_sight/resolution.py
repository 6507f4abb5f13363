"""Effective resolution: thresholds for the gaps of rings on canvases of three sizes, relative to the smallest one.

If a server makes an image of 2,048 px smaller by a scale, the smallest gap that is recognised is larger by one over
this scale. Poor acuity makes it larger on all canvases alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from snellen_sight.directions import DIRECTIONS, DIRECTIONS_IN_WORDS
from snellen_sight.drawing import chart, png
from snellen_sight.likelihood import FINE, SightQuestion, read_answers
from snellen_sight.pipelines import PIPELINES
from snellen_sight.psychometric import (
    STEP,
    Answers,
    FunctionGrid,
    credible_ends,
    next_conditions,
    posterior,
    weibull_grid,
)
from snellen_sight.results import SightLine

SIDES = (448, 1024, 2048)
RINGS = 12
MOST_GAP = 0.045
"""Largest gap as a share of the canvas: rings of neighbouring cells stay apart."""
GAPS = tuple(float(gap) for gap in np.geomspace(0.7, MOST_GAP * SIDES[-1], 26))
SHARES = (5, 3, 6)
"""How the charts are spread over the canvases."""
NATIVE, SURE, LOST = 0.9, 0.003, 0.05
"""An image arrives smaller if it is improbable (`SURE`) that its scale is at least `NATIVE`; as it is, if it is
improbable (`LOST`) that the scale is below 0.75."""
MORE_LAPSES = (0.35, 0.5)
"""Rates of observers who confuse directions; without these their errors look like a loss of resolution."""
SHARP = 4.0
"""Largest threshold in px with which blur is ruled out."""
WIDER = 1.5
"""By how much stated intervals are wider, in log10 units, than those of the posterior: readers of pixels, whose answers
follow no psychometric function, scatter more."""
MOST_RATIO = 2.8
"""Ends of an interval farther apart than this ratio are stated alone, without a middle and without pipelines."""
QUESTION = (
    "The image shows twelve rings in three rows of four. Each ring has a gap. For each ring, row by row and from left "
    f"to right, name the direction of its gap from the middle of the ring: {DIRECTIONS_IN_WORDS}. "
    "Reply with the twelve directions alone, separated by commas. Guess where a gap is too small."
)

Floats = NDArray[np.float64]


@cache
def _functions() -> FunctionGrid:
    return weibull_grid(
        [math.log10(gap) for gap in GAPS], len(DIRECTIONS), has_control=False, further_lapses=MORE_LAPSES
    )


@dataclass
class Charts:
    """The answers so far: of each canvas the numbers of answers and of right ones by gap, and charts not read."""

    counts: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    right: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    unread: int = 0

    def __post_init__(self) -> None:
        for side in SIDES:
            self.counts[side], self.right[side] = (np.zeros(len(GAPS), np.int64) for _ in range(2))

    def draw(self, side: int, rng: np.random.Generator) -> SightQuestion:
        """The next chart on a canvas: gaps that tell most after the answers so far, each in a random cell."""
        usable = np.array([gap <= MOST_GAP * side for gap in GAPS])
        if self.counts[side].sum():
            weights = posterior(_functions(), self.answers(side))
            chosen = np.array(next_conditions(_functions(), weights, np.where(usable, 2, 0), 6))
            numbers = np.concatenate([chosen, np.clip(chosen + rng.choice([-1, 1], 6), 0, usable.sum() - 1)])
        else:
            numbers = np.rint(np.linspace(2, usable.sum() - 1, RINGS)).astype(np.int64)
        gaps = [GAPS[number] for number in rng.permutation(numbers)]
        directions = rng.integers(len(DIRECTIONS), size=RINGS)
        image = chart(side, gaps, [int(d) for d in directions], rng.uniform(-8, 8, (RINGS, 2)))
        expected = {FINE: tuple(frozenset({DIRECTIONS[d]}) for d in directions)}
        return SightQuestion(f"chart {side}", (png(image),), QUESTION, DIRECTIONS, expected, side, tuple(gaps))

    def add(self, question: SightQuestion, reply: str) -> None:
        """Count the answers to a chart; a reply without twelve directions is not read."""
        answers = read_answers(reply, question)
        if len(answers) != RINGS:
            self.unread += 1
            return
        for gap, answer, right in zip(question.gaps, answers, question.right, strict=True):
            number = GAPS.index(gap)
            self.counts[question.side][number] += 1
            self.right[question.side][number] += answer == right

    def answers(self, side: int) -> Answers:
        """The answers on a canvas."""
        return Answers(self.counts[side], self.right[side])

    def thresholds(self, side: int) -> Floats:
        """The posterior of the threshold on a canvas, one share for each of `points`."""
        functions = _functions()
        weights = posterior(functions, self.answers(side))
        return np.asarray(
            np.bincount(np.rint((functions.thresholds - functions.thresholds.min()) / STEP).astype(int), weights)
        )

    def scales(self) -> dict[int, tuple[Floats, Floats]]:
        """By canvas, log10 of the scale relative to the smallest canvas, and the posterior of each."""
        reference = self.thresholds(SIDES[0])
        count = len(reference)
        steps = np.asarray(np.arange(-(count - 1), count) * STEP, np.float64)
        return {side: (steps, np.convolve(reference, self.thresholds(side)[::-1])) for side in SIDES[1:]}

    def estimates(self) -> dict[int, tuple[float, float, float]]:
        """By canvas the median of the scale and its 95 % interval: the credible one, made `WIDER`."""
        estimates = {}
        for side, (steps, weights) in self.scales().items():
            middle = credible_ends(steps, weights, 0.0)[0]
            low, high = (middle + WIDER * (end - middle) for end in credible_ends(steps, weights))
            estimates[side] = float(10**middle), float(10**low), float(10**high)
        return estimates

    @property
    def smallest_gap(self) -> float:
        """The threshold on the smallest canvas in px."""
        functions = _functions()
        return float(10 ** (posterior(functions, self.answers(SIDES[0])) @ functions.thresholds))

    @property
    def is_readable(self) -> bool:
        """True if thresholds lie among the gaps asked on the smallest canvas: large gaps are recognised."""
        return bool(self.counts[SIDES[0]].sum()) and self.smallest_gap < 10**-0.1 * MOST_GAP * SIDES[0]


def resolution_line(charts: Charts) -> SightLine:
    """How large an image of 2,048 px arrives."""
    if not charts.is_readable:
        text = "resolution: the gaps of large rings are not recognised in a small image"
        return SightLine(check="resolution", verdict="cannot tell", text=text)
    scale, low, high = charts.estimates()[SIDES[-1]]
    steps, weights = charts.scales()[SIDES[-1]]
    native = float(weights[steps >= math.log10(NATIVE)].sum())
    lost = float(weights[steps < math.log10(0.75)].sum())
    is_rough = high > MOST_RATIO * low
    px = f"about {min(1.0, scale) * SIDES[-1]:,.0f} px [{low * SIDES[-1]:,.0f}, {min(1.0, high) * SIDES[-1]:,.0f}]"
    if is_rough:
        px = f"between {low * SIDES[-1]:,.0f} and {min(1.0, high) * SIDES[-1]:,.0f} px"
    names = [] if is_rough else documented(charts)
    agrees = f"; agrees with {'; '.join(names)}" if names else ""
    if native < SURE:
        return SightLine(check="resolution", verdict="not so", text=f"an image of 2,048 px arrives as {px}{agrees}")
    if lost < LOST and charts.smallest_gap > SHARP:
        text = (
            f"resolution: no size is lost up to 2,048 px, but gaps below {charts.smallest_gap:.0f} px are seen in no "
            "image: blur, or poor acuity"
        )
        return SightLine(check="resolution", verdict="cannot tell", text=text)
    if lost < LOST:
        text = f"images of up to 2,048 px arrive in that size{agrees}"
        return SightLine(check="resolution", verdict="fine", text=text)
    text = f"resolution: an image of 2,048 px arrives as {px}{agrees}"
    return SightLine(check="resolution", verdict="cannot tell", text=text)


def documented(charts: Charts) -> list[str]:
    """The documented pipelines that are at most 20 times less likely than the best one, likely ones first."""
    logs = {}
    scales = charts.scales()
    for pipeline in PIPELINES:
        relative = {side: math.log10(pipeline.scale(side) / pipeline.scale(SIDES[0])) for side in SIDES[1:]}
        logs[pipeline.name] = sum(
            math.log(float(np.interp(relative[side], steps, weights)) + 1e-12)
            for side, (steps, weights) in scales.items()
        )
    # A scale that no document names may be far likelier than all of them.
    best = max(sum(math.log(float(weights.max())) for _, weights in scales.values()), *logs.values())
    return [name for name in sorted(logs, key=lambda name: -logs[name]) if best - logs[name] < math.log(20)]
