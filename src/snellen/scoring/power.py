"""The difference that a set of items can detect, and the number of items that another difference needs.

Both follow from the interval of a metric, which respects clusters: its half width is taken as 1.96 standard errors. The
power is 80 %, and the test two-sided at 5 %. `detectable` is the smallest such difference, and `items_needed` the
number of units of the same kind, in clusters of the same size, for another difference. A reference is a number without
error: chance, or the score of a blind baseline.
"""

from __future__ import annotations

import math

POWER = 0.8
ALPHA = 0.05
"""The power and the two-sided level of all numbers here."""
NORMAL_END = 1.959964
"""The end of the central 95 % of a normal distribution, in standard deviations."""
MOST_UNITS = 100_000
"""Greatest number of units that is estimated: more of them only show that the difference is near 0."""


def _quantiles() -> tuple[float, float]:
    """z of the level and z of the power: 1.960 and 0.842."""
    from scipy.special import ndtri

    return float(ndtri(1 - ALPHA / 2)), float(ndtri(POWER))


def detectable(low: float, high: float) -> float:
    """The smallest difference from a reference that units with this 95 % interval detect, in the unit of the metric.

    (z + z of the power) standard errors; the interval is 2 z of them, so 0.71 of its width. NaN without an interval.
    """
    z, power = _quantiles()
    return (z + power) / (2 * z) * (high - low)


def units_needed(value: float, reference: float, low: float, high: float, n: int) -> float:
    """The number of such units that would detect the observed difference of `value` from `reference`.

    n (detectable / difference)^2, rounded up, since variances fall as 1 / n. NaN (not estimable) without a difference,
    a reference or an interval, and above `MOST_UNITS`.
    """
    difference = abs(value - reference)
    if not difference > 0 or math.isnan(high - low):
        return math.nan
    units = n * (detectable(low, high) / difference) ** 2 - 1e-9
    return float(math.ceil(units)) if units <= MOST_UNITS else math.nan
