"""How often `snellen diff` finds a drop on own images, and whether the detectable drop that it prints is right.

    python -m bench.guard [--samples 400]
    python -m bench.guard --classes

Two runs of one subject on own images of three classes, with a known drop in between (tests/helpers/guard.py). The
detectable drop is the mean of those printed without a drop. Its power is the share of comparisons, each with a drop of
the size that was printed for it, in which the drop is found. With `--classes`, false drops of the task and of classes.
"""

from __future__ import annotations

import argparse
import math

import numpy as np
from scipy.stats import binom

from snellen.analysis.comparison.changes import Changes, changes
from snellen.analysis.comparison.verdicts import DROPPED, ROSE
from snellen.core.seeds import stream
from snellen.core.storage.itemset import ItemSet
from snellen.scoring.permutation import ALPHA
from tests.helpers.guard import NOISE, answered, own_items, probabilities

DROPS = (0.1, 0.2, 0.3)
FAMILY = ("finding", "naming", "building")
DESIGNS = [(count, ("finding",)) for count in (38, 100, 180)] + [(100, FAMILY)]
HEAD = "| images per task | tasks | answers vary on | false drop | any false verdict | "


def detectable(compared: Changes) -> float:
    """The detectable drop of the first task."""
    rows = compared.table
    return float(rows.loc[rows["name"] == "finding", "detectable_drop"].iloc[0])


def row(items: ItemSet, noise: str, samples: int, *key: str) -> str:
    """The cells of one design: shares of the samples in percent, and drops in points."""
    false_drops, false_verdicts, found = 0, 0, dict.fromkeys((*DROPS, "printed"), 0)
    printed = []
    for number in range(samples):
        rng = stream("bench", "guard", *key, noise, number)
        right = probabilities(items, noise, rng)
        before = answered(items, right, rng)
        equal = changes(before, answered(items, right, rng))
        false_drops += bool(equal.names(DROPPED))
        false_verdicts += bool(equal.names(DROPPED) or equal.names(ROSE))
        printed.append(detectable(equal))
        for name, drop in (*zip(DROPS, DROPS, strict=True), ("printed", printed[-1])):
            if math.isfinite(drop):
                found[name] += "finding" in changes(before, answered(items, right, rng, drop)).names(DROPPED)
    finite = [drop for drop in printed if math.isfinite(drop)]
    shares = [100 * count / samples for count in (false_drops, false_verdicts, *(found[drop] for drop in DROPS))]
    power = 100 * found["printed"] / len(finite)
    cells = [f"{share:.1f}" for share in shares[:2]] + [f"{share:.0f}" for share in shares[2:]]
    return " | ".join([*cells, f"{100 * sum(finite) / len(finite):.0f}", f"{power:.0f}"])


def print_false_drops_of_classes(comparisons: int = 20_000) -> None:
    """Print shares of false drops in percent, by how answers vary: of the task, of any class, and of either."""
    print(f"| images | classes | {' | '.join(NOISE)} |\n|---|---{'|---' * len(NOISE)}|")
    for size, classes in ((20, 2), (50, 2), (20, 3), (33, 3), (60, 3), (200, 3), (20, 10)):
        entries = []
        for noise, spec in NOISE.items():
            shares, values = np.array(spec).T
            rng = stream("bench", "guard", "classes", size, classes, noise)
            right = rng.choice(values, (comparisons, classes, size), p=shares)
            gaps = (rng.random(right.shape) < right).astype(int) - (rng.random(right.shape) < right)
            worse, better = (gaps < 0).sum(axis=2), (gaps > 0).sum(axis=2)
            task = binom.sf(worse.sum(axis=1) - 1, (worse + better).sum(axis=1), 0.5) < ALPHA
            any_class = (classes * binom.sf(worse - 1, worse + better, 0.5) < ALPHA).any(axis=1)
            entries.append(", ".join(f"{100 * share.mean():.1f}" for share in (task, any_class, task | any_class)))
        print(f"| {size * classes} | {classes} | {' | '.join(entries)} |", flush=True)


def main() -> None:
    """Print a table of shares in percent and drops in points."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--classes", action="store_true")
    arguments = parser.parse_args()
    if arguments.classes:
        print_false_drops_of_classes()
        return
    samples = arguments.samples
    print(HEAD + " | ".join(f"{100 * drop:.0f} found" for drop in DROPS) + " | detectable drop | its power |")
    print("|---" * (HEAD.count("|") + len(DROPS) + 1) + "|")
    for count, tasks in DESIGNS:
        items = own_items(count, tasks=tasks)
        for noise in NOISE:
            cells = row(items, noise, samples, str(count), str(len(tasks)))
            print(f"| {count} | {len(tasks)} | {noise} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
