"""Measures of how hard two categories are to tell apart, compared on reference pairs by the packaged features.

Each measure is held against how often a nearest-prototype reader with four examples a category errs on the same
features (100 draws a pair), by Spearman's rank correlation. Also: the bias of the measure at the category sizes used.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from snellen.core.seeds import stream
from snellen.suites.combo.difficulty import packaged_features, separation
from snellen.suites.combo.questions.categories import reference_pairs
from snellen.suites.combo.space import Mask

Floats = NDArray[np.float64]


def prototype_error(one: Floats, two: Floats, rng: np.random.Generator, draws: int = 100) -> float:
    """Share of wrong answers of the nearest of two prototypes, four examples each."""
    wrong = 0
    for _ in range(draws):
        a, b = (held[rng.choice(len(held), 5, replace=False)] for held in (one, two))
        first, second = a[:4].mean(axis=0), b[:4].mean(axis=0)
        wrong += int(np.linalg.norm(a[4] - first) >= np.linalg.norm(a[4] - second))
        wrong += int(np.linalg.norm(b[4] - second) >= np.linalg.norm(b[4] - first))
    return wrong / (2 * draws)


def measures(features: Floats, first: Mask, second: Mask, rng: np.random.Generator) -> dict[str, float]:
    """Every measure of one pair; larger is easier."""
    one, two = features[first], features[second]
    some = [held[rng.permutation(len(held))[:200]] for held in (one, two)]
    between, within = cdist(*some).mean(), (cdist(some[0], some[0]).mean() + cdist(some[1], some[1]).mean()) / 2
    both, labels = np.concatenate(some), np.repeat([0, 1], [len(some[0]), len(some[1])])
    line = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(both, labels).decision_function(both)
    spread = np.sqrt(np.trace(np.cov(one.T)) + np.trace(np.cov(two.T)))
    told = {f"2-Wasserstein, PCA {d}": separation(features, first, second, d) for d in (2, 4, 8, 16, 32, 64)}
    return {
        **told,
        "distance of means": float(np.linalg.norm(one.mean(axis=0) - two.mean(axis=0))),
        "distance of means over spread": float(np.linalg.norm(one.mean(axis=0) - two.mean(axis=0)) / spread),
        "energy distance": float(2 * between - 2 * within),
        "linear discriminant d'": float(abs(line[labels == 1].mean() - line[labels == 0].mean()) / line.std()),
    }


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    held = packaged_features()
    rng = stream("bench", "category difficulty")
    pairs = [(a.mask(), b.mask()) for a, b in reference_pairs(60 if quick else 300, rng)]
    errors = np.array([prototype_error(held.values[a], held.values[b], rng) for a, b in pairs])
    found = [measures(held.values, a, b, rng) for a, b in pairs]
    print(f"\n{len(pairs)} reference pairs, features of {held.encoder}; mean prototype error {errors.mean():.3f}\n")
    print("| measure | rank correlation with prototype errors |\n|---|---|")
    for name in found[0]:
        rho = spearmanr([row[name] for row in found], errors).statistic
        print(f"| {name} | {rho:.3f} |")
    print("\n| objects a category | distance of two random samples of all objects, mean | of first threshold |")
    print("|---|---|---|")
    for size in (12, 24, 48, 96, 192, 384):
        gaps = []
        for _ in range(20 if quick else 60):
            order = rng.permutation(len(held.values))
            one, two = np.zeros(len(order), bool), np.zeros(len(order), bool)
            one[order[:size]], two[order[size : 2 * size]] = True, True
            gaps.append(separation(held.values, one, two))
        print(f"| {size} | {np.mean(gaps):.2f} | {np.mean(gaps) / held.thresholds[0]:.2f} |")


if __name__ == "__main__":
    main()
