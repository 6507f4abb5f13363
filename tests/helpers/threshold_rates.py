"""How near thresholds come to those of simulated observers, and how often their intervals hold.

Print the table of docs/measurements/thresholds.md: python -m tests.helpers.threshold_rates
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from snellen.core.seeds import stream
from snellen_sight.psychometric import (
    Answers,
    Fit,
    FunctionGrid,
    fit,
    next_conditions,
    posterior,
    weibull,
    weibull_grid,
)

LEVELS = np.linspace(0.0, 1.8, 16).tolist()
"""Sixteen levels over 1.8 log10 units, as the suite's acuity has them."""
ANSWERS, CONTROLS, EXEMPLARS = 40, 8, 16
SLOPES, LAPSES = (1.5, 5.0), (0.0, 0.02, 0.05, 0.1)


class Design(NamedTuple):
    """How a simulated observer is asked: alternatives, answers, and answers between two choices of levels.

    With a batch of 0 the answers are spread evenly over the levels.
    """

    alternatives: int
    answers: int
    batch: int


DESIGNS = tuple(
    Design(alternatives, answers, batch)
    for alternatives, answers in ((8, 24), (8, 40), (8, 64), (9, 40), (2, 40))
    for batch in (1, 8, 0)
)


class Observer(NamedTuple):
    """A planted psychometric function, with the fit to its answers."""

    threshold: float
    fit: Fit


def measured(
    design: Design, functions: FunctionGrid, planted: tuple[float, float, float], rng: np.random.Generator
) -> Fit:
    """The fit to the answers of an observer with this threshold, slope and lapse rate."""
    threshold, slope, lapse = planted
    counts, right = np.zeros((2, len(LEVELS) + 1), np.int64)
    counts[-1], right[-1] = CONTROLS, rng.binomial(CONTROLS, 1 - lapse)
    available = np.array([EXEMPLARS] * len(LEVELS) + [0])
    for start in range(0, design.answers, design.batch or design.answers):
        size = min(design.batch or design.answers, design.answers - start)
        if design.batch:
            weights = posterior(functions, Answers(counts, right))
            chosen = next_conditions(functions, weights, available, size)
        else:
            chosen = [number % len(LEVELS) for number in range(size)]
        for level in chosen:
            available[level] -= 1
            counts[level] += 1
            right[level] += rng.random() < weibull(LEVELS[level], threshold, slope, lapse, 1 / design.alternatives)
    return fit(functions, Answers(counts, right))


def observers(design: Design, count: int, lapses: tuple[float, ...] = LAPSES, seed: int = 0) -> Iterator[Observer]:
    """Observers with thresholds and slopes drawn uniformly, in turn with each lapse rate."""
    grid = weibull_grid(LEVELS, design.alternatives)
    for number in range(count):
        rng = stream("threshold rates", seed, number, *map(str, design))
        threshold, slope = float(rng.uniform(LEVELS[1], LEVELS[-2])), float(rng.uniform(*SLOPES))
        yield Observer(threshold, measured(design, grid, (threshold, slope, lapses[number % len(lapses)]), rng))


def rates(design: Design, count: int = 400, lapses: tuple[float, ...] = LAPSES) -> dict[str, float]:
    """Errors as factors, and the coverage of the intervals."""
    every = list(observers(design, count, lapses))
    errors = np.abs([observer.fit.threshold - observer.threshold for observer in every])
    widths = [observer.fit.high - observer.fit.low for observer in every]
    covered = [observer.fit.low <= observer.threshold <= observer.fit.high for observer in every]
    return {
        "median error": float(10 ** np.median(errors)),
        "root mean square error": float(10 ** np.sqrt(np.mean(errors**2))),
        "95th percentile": float(10 ** np.quantile(errors, 0.95)),
        "width of the interval": float(10 ** np.median(widths)),
        "coverage": float(np.mean(covered)),
    }


def main() -> None:
    """Print the table."""
    head = ["alternatives", "answers", "levels chosen", "median error", "root mean square", "95th percentile"]
    print("| " + " | ".join([*head, "interval, high / low", "coverage, %"]) + " |\n|---:|---:|---|" + "---:|" * 5)
    for design in DESIGNS:
        row = rates(design)
        how = f"in batches of {design.batch}" if design.batch > 1 else "one at a time" if design.batch else "evenly"
        factors = " | ".join(f"x{row[name]:.2f}" for name in list(row)[:4])
        print(
            f"| {design.alternatives} | {design.answers} | {how} | {factors} | {100 * row['coverage']:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
