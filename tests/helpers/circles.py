"""Two circles, four models: 5,376 real answers to whether circles overlap or touch, with bias apart from precision.

The answers are those of Rahmanzadehgervi, Bolton, Taesiri and Nguyen (2024, Vision language models are blind), as the
authors read them: a CSV with the columns question, model, canvas_px, axis, diameter, distance (in diameters, negative
if the circles overlap) and said_yes. Print the tables of docs/measurements/circles.md:
python -m tests.helpers.circles FOLDER, where FOLDER holds touching_circles.csv.gz
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from snellen.core.seeds import stream
from snellen.scoring.equality import Equality, equality, equality_grid
from snellen_sight.psychometric import Answers, FunctionGrid, next_conditions, posterior

FILE = "touching_circles.csv.gz"
QUESTIONS, CANVASES = ("overlapping", "touching"), (384, 769, 1155)
BATCH = 8


class Judgement(NamedTuple):
    """An answer about two circles at a distance, in diameters."""

    question: str
    model: str
    canvas_px: int
    distance: float
    says_yes: bool

    @property
    def is_right(self) -> bool:
        """Circles overlap at distances below 0, and touch or overlap at 0 or below."""
        is_true = self.distance < 0 if self.question == "overlapping" else self.distance <= 0
        return self.says_yes == is_true


def judgements(folder: Path) -> list[Judgement]:
    """All answers in the order of the file."""
    with gzip.open(folder / FILE, "rt") as file:
        rows = list(csv.DictReader(file))
    return [_judgement(row) for row in rows]


def _judgement(row: Mapping[str, str]) -> Judgement:
    canvas, distance, says_yes = int(row["canvas_px"]), float(row["distance"]), row["said_yes"] == "1"
    return Judgement(row["question"], row["model"], canvas, distance, says_yes)


def distances(chosen: Sequence[Judgement]) -> list[float]:
    """The distances that were asked."""
    return sorted({judgement.distance for judgement in chosen})


def answers_of(chosen: Sequence[Judgement], levels: Sequence[float]) -> Answers:
    """Counts of answers, and of those with yes, by distance."""
    counts, yes = np.zeros((2, len(levels)), np.int64)
    for judgement in chosen:
        level = levels.index(judgement.distance)
        counts[level] += 1
        yes[level] += judgement.says_yes
    return Answers(counts, yes)


def measured(chosen: Sequence[Judgement], levels: Sequence[float], functions: FunctionGrid) -> Equality:
    """Point of subjective equality and spread of these answers."""
    return equality(functions, answers_of(chosen, levels))


class Replay(NamedTuple):
    """The result of some answers of a pool, and that of the whole pool."""

    part: Equality
    whole: Equality


def replays(every: Sequence[Judgement], answers: int, repeats: int, batch: int = BATCH) -> Iterator[Replay]:
    """Real answers, drawn from those at the distances that tell most (or evenly, with a batch of 0)."""
    levels = distances(every)
    grid = equality_grid(levels)
    for question in QUESTIONS:
        for model in sorted({judgement.model for judgement in every}):
            pool = [j for j in every if (j.question, j.model) == (question, model)]
            whole = measured(pool, levels, grid)
            for repeat in range(repeats):
                rng = stream("circles", question, model, repeat)
                queues = [[j for j in pool if j.distance == level] for level in levels]
                queues = [[queue[int(n)] for n in rng.permutation(len(queue))] for queue in queues]
                chosen: list[Judgement] = []
                while len(chosen) < answers:
                    if batch:
                        weights = posterior(grid, answers_of(chosen, levels))
                        available = [len(queue) for queue in queues]
                        conditions = next_conditions(grid, weights, available, min(batch, answers - len(chosen)))
                    else:
                        conditions = [number % len(levels) for number in range(answers)]
                    chosen += [queues[condition].pop() for condition in conditions]
                yield Replay(measured(chosen, levels, grid), whole)


def replay_rates(every: Sequence[Judgement], answers: int, repeats: int = 12, batch: int = BATCH) -> dict[str, float]:
    """Root mean square errors of the point (diameters) and of the spread (a factor), and coverage of the interval."""
    done = list(replays(every, answers, repeats, batch))
    errors = [replay.part.point - replay.whole.point for replay in done]
    spreads = [np.log10(replay.part.spread / replay.whole.spread) for replay in done]
    covered = [replay.part.point_low <= replay.whole.point <= replay.part.point_high for replay in done]
    return {
        "point": float(np.sqrt(np.mean(np.square(errors)))),
        "spread": float(10 ** np.sqrt(np.mean(np.square(spreads)))),
        "coverage": float(np.mean(covered)),
    }


def main() -> None:
    """Print both tables."""
    every = judgements(Path(sys.argv[1]))
    levels = distances(every)
    grid = equality_grid(levels)
    print("| model | question | right, % | point at 384 px | 769 px | 1155 px | spread at 384 px | 769 px | 1155 px |")
    print("|---|---|---:|" + "---:|" * 6)
    for model in sorted({judgement.model for judgement in every}):
        for question in QUESTIONS:
            of_model = [j for j in every if (j.model, j.question) == (model, question)]
            right = 100 * np.mean([judgement.is_right for judgement in of_model])
            fits = [measured([j for j in of_model if j.canvas_px == px], levels, grid) for px in CANVASES]
            points = [f"{fit.point:+.2f} [{fit.point_low:+.2f}, {fit.point_high:+.2f}]" for fit in fits]
            spreads = [f"{fit.spread:.2f} [{fit.spread_low:.2f}, {fit.spread_high:.2f}]" for fit in fits]
            print("| " + " | ".join([model, question, f"{right:.0f}", *points, *spreads]) + " |")
    print("\n| answers | distances chosen | point, diameters | spread | coverage, % |\n|---:|---|---:|---:|---:|")
    for answers in (20, 40, 60):
        for batch in (1, BATCH, 0):
            how = f"in batches of {batch}" if batch > 1 else "one at a time" if batch else "evenly"
            row = replay_rates(every, answers, batch=batch)
            print(f"| {answers} | {how} | {row['point']:.3f} | x{row['spread']:.2f} | {100 * row['coverage']:.0f} |")


if __name__ == "__main__":
    main()
