"""The difference a set of items can detect, and how many items another difference needs.

From the interval that a metric already has, in which clusters are respected: its half width is taken as 1.96 standard
errors. The power is 80 %, and the test two-sided at 5 %. `detectable` is the smallest such difference, and
`items_needed` the number of units of the same kind, in clusters of the same size, for another difference. A reference
is a number without error: chance, or the score of a blind baseline.
"""

from __future__ import annotations

import math

POWER = 0.8
ALPHA = 0.05
"""The power and the two-sided level of every statement here."""
WIDEST_HALF = 0.25
"""An interval whose half width is a larger share of the metric's range says nothing: `too few items` stands for it."""


def _quantiles() -> tuple[float, float]:
    """z of the level and z of the power: 1.960 and 0.842."""
    from scipy.special import ndtri

    return float(ndtri(1 - ALPHA / 2)), float(ndtri(POWER))


def detectable(low: float, high: float) -> float:
    """The smallest difference from a reference that units with this 95 % interval tell, in the unit of the metric.

    (z + z of the power) standard errors, the interval being 2 z of them: 0.71 of its width. NaN without an interval.
    """
    z, power = _quantiles()
    return (z + power) / (2 * z) * (high - low)


def units_needed(value: float, reference: float, low: float, high: float, n: int) -> float:
    """How many such units would tell the observed difference of `value` from `reference`, a whole number.

    n (detectable / difference)^2, for variances fall as 1 / n. NaN where there is no difference, no reference or no
    interval.
    """
    difference = abs(value - reference)
    if not difference > 0 or math.isnan(high - low):
        return math.nan
    return float(math.ceil(n * (detectable(low, high) / difference) ** 2 - 1e-9))


def units_for_interval(low: float, high: float, n: int, bounds: tuple[float, float] | None) -> float:
    """How many units an interval needs that is no wider than `WIDEST_HALF` of the range either way.

    NaN where the interval is narrow enough, where there is none, and for a metric without a range.
    """
    if bounds is None or math.isnan(high - low):
        return math.nan
    share = (high - low) / 2 / (bounds[1] - bounds[0])
    return math.nan if share <= WIDEST_HALF + 1e-9 else float(math.ceil(n * (share / WIDEST_HALF) ** 2 - 1e-9))
