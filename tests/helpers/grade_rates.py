"""How often grades are wrong or missing, by simulation through `unit_interval` and `grade_of`.

Print the table of docs/measurements/grades.md: python -m tests.helpers.grade_rates
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from snellen.analysis.grading import states
from snellen.analysis.grading.grades import UnitFloor, grade_of
from snellen.analysis.grading.results import unit_interval
from snellen.analysis.grading.rows import ResultRow
from snellen.core.score import Metric
from snellen.core.seeds import stream
from snellen.scoring.protocols import ACCURACY

SIZES = (1, 3, 6)
"""Sizes of an exam, as multiples of the checkup."""
SIMILARITY = Metric("similarity", lambda item, prediction: 0.0)
CORRELATION = 0.1
"""Correlation of the answers to two items of one cluster."""


class Design(NamedTuple):
    """A task of the checkup: chance, blind baseline, score of people (NaN: unknown), items, items per cluster.

    The scores of a task that is not `binary` spread over 0 to 1, as capped errors and text similarity do.
    """

    chance: float
    blind: float
    people: float
    items: int
    per_cluster: int = 2
    binary: bool = True


UNKNOWN = math.nan
DESIGNS = (
    Design(0.25, 0.29, UNKNOWN, 36, 1), Design(0.125, 0.125, UNKNOWN, 36, 1), Design(0.11, 0.115, UNKNOWN, 36, 1),
    Design(0.167, 0.167, UNKNOWN, 36, 1), Design(0.5, 0.5, UNKNOWN, 36, 1), Design(0.25, 0.25, UNKNOWN, 36, 1),
    *7 * (Design(0.2, 0.4, UNKNOWN, 36, 1, binary=False),),
    Design(0.23, 0.31, 0.98, 24), Design(0.25, 0.26, 0.98, 24), Design(0.25, 0.25, 0.98, 24),
    Design(0.5, 0.5, 0.98, 24), Design(0.21, 0.22, 0.79, 12), Design(0.25, 0.5, 0.95, 12),
    Design(0.25, 0.5, 0.95, 12), Design(0.25, 0.665, 0.96, 12), Design(0.25, 0.4, 0.92, 12),
    Design(0.335, 0.36, 0.98, 12),
)  # fmt: skip
"""Tasks like those of `snellen checkup`: thirteen of AVA-Bench, four of ComBo, one of VFM Bench, five of VLM2-Bench."""


def scored_units(design: Design, share: float, count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Scored units of a subject with this expected score, whose clusters differ by a beta distribution."""
    clusters = np.arange(count) // design.per_cluster
    if not design.binary:
        values = rng.beta(max(2 * share, 1e-6), max(2 * (1 - share), 1e-6), count)
        return pd.DataFrame({"value": values, "cluster_id": clusters.astype(str), "chance": 0.0})
    scale = (1 - CORRELATION) / CORRELATION
    shares = rng.beta(max(share, 1e-6) * scale, max(1 - share, 1e-6) * scale, clusters.max() + 1)[clusters]
    return pd.DataFrame(
        {"value": (rng.random(count) < shares).astype(float), "cluster_id": clusters.astype(str), "chance": 0.0}
    )


def grade(design: Design, units: pd.DataFrame, floors: tuple[UnitFloor, ...] = ()) -> str:
    """The grade, or the state in its place, of a subject with these scored units."""
    metric = ACCURACY if design.binary else SIMILARITY
    low, high, _ = unit_interval(units, metric, ("grade",))
    row = ResultRow(
        subject="model", task="task", value=units["value"].mean(), low=low, high=high, chance=design.chance,
        blind=design.blind, ceiling=design.people, no_answer_rate=0.0, cut_off_rate=0.0, items=len(units),
        failure_rate=0.0,
    )  # fmt: skip
    return grade_of(row, metric, units, floors).label


def simulated(progress: float | None, size: int, subjects: int, seed: int = 0) -> Iterator[tuple[Design, float, str]]:
    """(design, truth, grade) of every task for subjects this far on the way from blind to the ceiling.

    Without `progress`, each truth is uniform from 0 to .9.
    """
    for number in range(subjects):
        for position, design in enumerate(DESIGNS):
            rng = stream("grade rates", seed, number, position, size, str(progress))
            truth = float(rng.uniform(0, 0.9)) if progress is None else progress
            ceiling = 1.0 if math.isnan(design.people) else design.people
            share = design.blind + truth * (ceiling - design.blind)
            yield design, truth, grade(design, scored_units(design, share, size * design.items, rng))


def boxes_only_readers(size: int, subjects: int) -> Iterator[str]:
    """Grades of a subject that answers as a rule on drawn boxes does, which is right on 60 % of the items."""
    for number in range(subjects):
        for position, design in enumerate(DESIGNS[:5]):
            rng = stream("boxes-only readers", number, position, size)
            units = scored_units(design, 0.6, size * design.items, rng)
            scores = units["value"].to_numpy(float)
            rule = UnitFloor("drawn boxes", states.BOXES, scores, float(scores.mean()), 0.6)
            yield grade(design, units, (rule,))


ABOVE = ("some", "most", "nearly all right", "as people")
MOST = ABOVE[1:]
UNDECIDED = tuple(f"{states.OPEN}: {reason}" for reason in (states.TOO_FEW, states.BOUNDARY))


def rates(size: int, subjects: int = 400) -> dict[str, float]:
    """The rates that docs/measurements/grades.md prints, at one size."""
    blind = Counter(text for _, _, text in simulated(0.0, size, subjects))
    frames = Counter(boxes_only_readers(size, subjects))
    three_quarters = Counter(text for _, _, text in simulated(0.75, size, subjects))
    uniform = [(truth, text) for _, truth, text in simulated(None, size, subjects)]
    called = [truth for truth, text in uniform if text in MOST]

    def share(counts: Counter[str], names: tuple[str, ...]) -> float:
        return sum(counts[name] for name in names) / counts.total()

    return {
        "blind above none": share(blind, ABOVE),
        "blind none": share(blind, ("none",)),
        "boxes-only reader above none": share(frames, ABOVE),
        "of most, truly under halfway": float(np.mean([truth < 0.5 for truth in called])),
        "truth .75 is most or better": share(three_quarters, MOST),
        "open (uniform)": float(np.mean([text in UNDECIDED for _, text in uniform])),
    }


def main() -> None:
    """Print the table."""
    columns = [rates(size) for size in SIZES]
    print("| | " + " | ".join(f"{size} x checkup" for size in SIZES) + " |\n|---|" + "---:|" * len(SIZES))
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(f"{100 * column[name]:.2f} %" for column in columns) + " |")


if __name__ == "__main__":
    main()
