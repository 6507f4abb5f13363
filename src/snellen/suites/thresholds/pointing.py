"""Bias and precision of pointing, from the signed errors along each axis.

Some answers are nowhere near the disc (another figure, a slip). They tell nothing of precision, so errors are a normal
distribution with a uniform one over the canvas, fitted by expectation maximisation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from snellen.core.item import Item
from snellen.core.score import MEASURED, NOT_UNDERSTOOD, Measurement, Metric
from snellen.scoring.power import NORMAL_END
from snellen.suites.thresholds.measures.measure import SIDE

ROUNDS, LEAST_ERRORS = 60, 5
"""Rounds of the fit, and the fewest errors that are fitted."""
LEAST_SPREAD = 0.05
"""The smallest standard deviation in pixels: coordinates are rounded."""
INTERVAL = "95 % confidence interval"


class BiasAndSpread(NamedTuple):
    """Bias and standard deviation of errors in pixels, and the number of errors that are not slips."""

    bias: float
    spread: float
    points: float


def fit_errors(errors: Sequence[float]) -> BiasAndSpread | None:
    """The fit to signed errors along one axis, without NaN; None for fewer than `LEAST_ERRORS`."""
    x = np.array([error for error in errors if not math.isnan(error)], np.float64)
    if len(x) < LEAST_ERRORS:
        return None
    bias = float(np.median(x))
    spread, slips = max(1.4826 * float(np.median(np.abs(x - bias))), LEAST_SPREAD), 0.1
    weights = np.ones(len(x))
    for _ in range(ROUNDS):
        near = (1 - slips) * np.exp(-(((x - bias) / spread) ** 2) / 2) / (spread * math.sqrt(2 * math.pi))
        weights = near / (near + slips / SIDE)
        count = max(float(weights.sum()), 2.0)
        bias = float(weights @ x) / count
        spread = max(math.sqrt(float(weights @ (x - bias) ** 2) / (count - 1)), LEAST_SPREAD)
        slips = min(max(1 - count / len(x), 0.01), 0.5)
    return BiasAndSpread(bias, spread, float(weights.sum()))


def _estimate(items: Sequence[Item], errors: Sequence[float], is_spread: bool) -> Measurement:
    fit = fit_errors(errors)
    if fit is None:
        return Measurement(math.nan, math.nan, math.nan, "", NOT_UNDERSTOOD if items else "", "too few points")
    if is_spread:
        half = NORMAL_END / math.sqrt(2 * max(fit.points - 1, 1))  # of the logarithm
        ends = fit.spread, fit.spread * math.exp(-half), fit.spread * math.exp(half)
    else:
        half = NORMAL_END * fit.spread / math.sqrt(fit.points)
        ends = fit.bias, fit.bias - half, fit.bias + half
    return Measurement(*ends, INTERVAL, MEASURED, "{:.1f} px [{:.1f}, {:.1f}]".format(*ends))


def signed_error(item: Item, prediction: Any, axis: int) -> float:
    """How far a point is to the right of the target (axis 0) or below it (axis 1), in pixels."""
    return float(prediction[axis]) - float(item.answer[axis])


def metrics() -> Iterator[Metric]:
    """Bias and spread along both axes: estimates of all signed errors, without those that are unreadable."""
    for axis, name in enumerate("xy"):
        for what in ("bias", "spread"):
            yield Metric(
                f"{what}_{name}",
                partial(signed_error, axis=axis),
                worst=math.nan,
                higher_is_better=False,
                share=False,
                bounds=None,
                estimate=partial(_estimate, is_spread=what == "spread"),
                unit="px",
                title=f"{what} along {name}, px",
                remark=f"{what} along {name} {{value}}",
            )
