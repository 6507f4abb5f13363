"""How often equal subjects are told apart: by one permutation test, and anywhere in a family after Holm's correction.

    python bench/false_alarms.py [--samples 2000]

Right and wrong answers to items in clusters. An item has a difficulty common to all subjects, a cluster one of its own
for each subject, so that differences of units in a cluster resemble each other; all subjects are equally good.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from snellen.core.seeds import stream
from snellen.scoring.permutation import ALPHA, holm, sign_flip

SIZES = {"one each": (1,), "five each": (5,), "1 to 30": (1, 2, 4, 8, 15, 30)}
"""Sizes of clusters in turn."""
CLUSTERS = (6, 12, 20, 40, 100)
SUBJECTS, TASKS = 5, 4


def answers(subjects: int, clusters: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Right (1) and wrong (0), subjects x units, of subjects of one strength."""
    count = int(clusters.max()) + 1
    liking = rng.normal(0, 1, (subjects, count))[:, clusters]
    difficulty = rng.normal(0, 1, len(clusters))
    return (liking - difficulty + rng.logistic(0, 1, liking.shape) > 0).astype(np.float64)


def p_values(scores: NDArray[np.float64], clusters: NDArray[np.int64], rng: np.random.Generator) -> list[float]:
    """The p of every two subjects."""
    return [sign_flip(scores[one] - scores[two], clusters, rng) for one, two in combinations(range(len(scores)), 2)]


def main() -> None:
    """Print a table of shares in percent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2000)
    samples = parser.parse_args().samples
    pairs = SUBJECTS * (SUBJECTS - 1) // 2 * TASKS
    print(f"| sizes | clusters | p < {ALPHA} | p < {ALPHA}, units flipped alone | any of {pairs} pairs after Holm |")
    print("| --- | --- | --- | --- | --- |")
    for name, sizes in SIZES.items():
        for count in CLUSTERS:
            rng = stream("bench", "false alarms", name, count)
            clusters = np.repeat(np.arange(count), np.resize(sizes, count))
            alarms, apart, family = 0, 0, 0
            for _ in range(samples):
                two = answers(2, clusters, rng)
                alarms += sign_flip(two[0] - two[1], clusters, rng) < ALPHA
                apart += sign_flip(two[0] - two[1], np.arange(len(clusters)), rng) < ALPHA
            for _ in range(samples // 5):
                tests = [p for _ in range(TASKS) for p in p_values(answers(SUBJECTS, clusters, rng), clusters, rng)]
                family += bool((holm(tests) < ALPHA).any())
            shares = (100 * alarms / samples, 100 * apart / samples, 100 * family / (samples // 5))
            print(f"| {name} | {count} |" + "".join(f" {share:.1f} |" for share in shares), flush=True)


if __name__ == "__main__":
    main()
