"""How often planned looks are wrong at the boundary of a grade, by simulation of the intervals of `unit_interval`.

Print the table of docs/measurements/deciding.md: python -m tests.helpers.look_rates
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from snellen.core.seeds import stream
from snellen.scoring.clustered_means import grouped, wilson_ends
from snellen.scoring.sequential import greatest_wealth, rounds


class Design(NamedTuple):
    """Clusters of an instalment, items of a cluster (at random up to it, if uneven), and their correlation."""

    clusters: int
    items: int
    is_uneven: bool
    correlation: float


DESIGNS = {
    "24 single items": Design(24, 1, False, 0.0),
    "12 pairs, correlation .3": Design(12, 2, False, 0.3),
    "18 of 1 to 8, correlation .3": Design(18, 8, True, 0.3),
    "8 of 4, correlation .5": Design(8, 4, False, 0.5),
}
PLANS: tuple[tuple[int, ...], ...] = ((1,), (1, 3), (1, 2, 4))
"""Instalments after which a look is planned."""
LAST = 6
"""Instalments in all; at those that are not planned, the interval is the confidence sequence."""
BOUNDARIES = {"a quarter": 0.25 + 0.25 * 0.75, "half": 0.25 + 0.5 * 0.75, "nine tenths": 0.25 + 0.9 * 0.75}
"""True scores at the boundaries, from a blind baseline of .25."""


def rates(
    design: Design, plan: tuple[int, ...], truth: float, runs: int, *, beyond: bool = False
) -> tuple[float, float]:
    """The shares of runs in which any planned look puts a score at a boundary below it, and above it.

    With `beyond`, also those in which the confidence sequence does at any moment.
    """
    rng, count = stream("look rates", *map(str, design), str(truth)), design.clusters * LAST
    sizes = rng.integers(1, design.items + 1, count) if design.is_uneven else np.full(count, design.items)
    shares = np.full((runs, count), truth)
    if design.correlation:
        odds = 1 / design.correlation - 1
        shares = rng.beta(truth * odds, (1 - truth) * odds, (runs, count))
    clusters = np.repeat(np.arange(count), sizes)
    values = (rng.random((runs, len(clusters))) < shares[:, clusters]).astype(float)
    below, above = np.zeros(runs, bool), np.zeros(runs, bool)
    for instalments in plan:
        is_drawn = clusters < instalments * design.clusters
        low, high = wilson_ends(grouped(values[:, is_drawn], clusters[is_drawn]), 1 - 0.05 / len(plan))
        below, above = below | (high < truth), above | (low > truth)
    for run in range(runs if beyond else 0):
        above[run] |= greatest_wealth(rounds(values[run], clusters), truth, 0.0) >= math.log(40)
        below[run] |= greatest_wealth(rounds(-values[run], clusters), -truth, -1.0) >= math.log(40)
    return float(below.mean()), float(above.mean())


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for boundary, score in BOUNDARIES.items():
        for name, clusters_of in DESIGNS.items():
            cells = [rates(clusters_of, plan, score, number) for plan in PLANS]
            cells.append(rates(clusters_of, PLANS[1], score, number, beyond=True))
            text = " | ".join(f"{100 * below:.1f}, {100 * above:.1f}" for below, above in cells)
            print(f"| {boundary} | {name} | {text} |", flush=True)
