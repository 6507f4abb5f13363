"""How often intervals hold the truth: drawn samples of known means, by the formulas that reports show.

`bench/coverage.py` runs the whole grid and writes the table of docs/measurements/intervals.md; a slow test runs a part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.stats import norm, rankdata

from snellen.analysis.tables.rankings import clear_signs
from snellen.scoring import clustered_means as formulas
from snellen.scoring.clustered_means import ClusteredSamples, Ends, Floats, Ints
from snellen.scoring.uncertainty import MIN_EFFECTIVE_CLUSTERS

LEVEL = 0.95
SHAPES = ("single", "equal", "geometric", "one half")
"""Sizes of clusters: one unit each; five each; from 1 to 30 in equal ratios; one holds half of the units, others 3."""
COUNTS = (4, 6, 8, 12, 20, 50, 200)
CORRELATIONS = (0.0, 0.2, 0.5)
BOOTSTRAP_DRAWS = 2000
Sampler: TypeAlias = Callable[["Design", np.random.Generator], "Cell"]


@dataclass(frozen=True)
class Design:
    """How units are clustered: how many clusters, their sizes, the correlation of units of one cluster."""

    count: int
    shape: str
    correlation: float
    draws: int

    @property
    def sizes(self) -> Ints:
        """Units of each cluster."""
        if self.shape == "geometric":
            return np.maximum(1, np.round(np.geomspace(1, 30, self.count))).astype(np.int64)
        sizes = np.full(self.count, {"single": 1, "equal": 5, "one half": 3}[self.shape], dtype=np.int64)
        if self.shape == "one half":
            sizes[0] = 3 * (self.count - 1)
        return sizes

    @property
    def codes(self) -> Ints:
        """The cluster of each unit."""
        return np.repeat(np.arange(self.count), self.sizes)


@dataclass(frozen=True)
class Cell:
    """What came out: the share of shown intervals that hold the truth, the share shown, the mean width (units of
    the truth for errors)."""

    covered: float
    finite: float
    width: float


def cell(ends: Ends, truth: float, unit: float = 1.0) -> Cell:
    low, high = ends
    finite = np.isfinite(low) & np.isfinite(high)
    covers = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
    if not finite.any():
        return Cell(float("nan"), 0.0, float("nan"))
    return Cell(float(covers[finite].mean()), float(finite.mean()), float((high - low)[finite].mean()) / unit)


def _cluster_shares(design: Design, share: float, rng: np.random.Generator) -> Floats:
    """The share in each cluster (draws x clusters), beta with the wanted correlation of units."""
    size = (design.draws, design.count)
    if design.correlation == 0:
        return np.full(size, share)
    scale = 1 / design.correlation - 1
    return rng.beta(share * scale, (1 - share) * scale, size)


# What is drawn: yes or no, partial credit, errors, differences, ranks


def share_samples(share: float) -> Sampler:
    def sample(design: Design, rng: np.random.Generator) -> Cell:
        totals = rng.binomial(design.sizes, _cluster_shares(design, share, rng)).astype(np.float64)
        samples = ClusteredSamples(totals, totals.sum(axis=1), design.sizes.astype(np.float64))
        return cell(formulas.wilson_ends(samples, LEVEL), share)

    return sample


def partial_samples(share: float, concentration: float) -> Sampler:
    """Values between 0 and 1: beta with these two parameters' sum around the share of the cluster."""

    def sample(design: Design, rng: np.random.Generator) -> Cell:
        own = np.clip(_cluster_shares(design, share, rng), 1e-6, 1 - 1e-6)[:, design.codes] * concentration
        values = rng.beta(own, concentration - own)
        return cell(formulas.wilson_ends(formulas.grouped(values, design.codes), LEVEL), share)

    return sample


def _log_normal(design: Design, rng: np.random.Generator, deviation: float) -> tuple[Floats, float]:
    between, within = deviation * np.sqrt(design.correlation), deviation * np.sqrt(1 - design.correlation)
    logs = rng.normal(0, between, (design.draws, design.count))[:, design.codes]
    return np.exp(logs + rng.normal(0, within, logs.shape)), float(np.exp(deviation**2 / 2))


def _with_zeros(design: Design, rng: np.random.Generator, zeros: float) -> tuple[Floats, float]:
    """Exponential errors, so many of them 0, times a gamma factor of the cluster with the correlation as variance."""
    spread = design.correlation
    size = (design.draws, design.count)
    factor = rng.gamma(1 / spread, spread, size)[:, design.codes] if spread else np.ones((1, len(design.codes)))
    values = factor * rng.exponential(1.0, (design.draws, len(design.codes)))
    return values * (rng.random(values.shape) >= zeros), 1 - zeros


def error_samples(kind: str, parameter: float, summary: str = "mean") -> Sampler:
    """Errors from 0 without end: `log-normal` (deviation of logs) or `with zeros` (their share)."""
    draw = {"log-normal": _log_normal, "with zeros": _with_zeros}[kind]

    def sample(design: Design, rng: np.random.Generator) -> Cell:
        values, mean = draw(design, rng, parameter)
        if summary == "median":  # of log-normal errors it is 1
            return cell(formulas.median_ends(values, design.codes, LEVEL), 1.0)
        samples = formulas.grouped(values, design.codes)
        if formulas.effective_clusters(samples.sizes) < MIN_EFFECTIVE_CLUSTERS:
            return Cell(float("nan"), 0.0, float("nan"))
        low, high = formulas.bootstrap_t_ends(samples, rng, BOOTSTRAP_DRAWS, LEVEL)
        alike = formulas.mean_variances(samples) <= formulas.ALIKE * np.maximum(1.0, samples.means**2)
        return cell((np.where(alike, np.nan, low), high), mean, mean)

    return sample


def _answers(design: Design, rng: np.random.Generator, shares: Sequence[float]) -> list[Floats]:
    """Right or wrong (draws x units) of subjects with these shares; clusters are partly hard for all, partly each."""
    size, answers = (design.draws, design.count), []
    common = rng.normal(size=size)
    for share in shares:
        own = (common + rng.normal(size=size)) * np.sqrt(design.correlation / 2)
        ease = own[:, design.codes] + rng.normal(size=(design.draws, len(design.codes))) * np.sqrt(
            1 - design.correlation
        )
        answers.append((ease < norm.ppf(share)).astype(np.float64))
    return answers


def difference_samples(first: float, second: float) -> Sampler:
    def sample(design: Design, rng: np.random.Generator) -> Cell:
        a, b = _answers(design, rng, (first, second))
        return cell(formulas.difference_ends(formulas.grouped(a - b, design.codes), LEVEL), first - second)

    return sample


def rank_samples(shares: Sequence[float]) -> Sampler:
    """Of all subjects' intervals the share that holds the true rank (equals averaged); width in ranks."""

    def sample(design: Design, rng: np.random.Generator) -> Cell:
        answers, subjects = _answers(design, rng, shares), len(shares)
        low, high = np.ones((design.draws, subjects)), np.full((design.draws, subjects), float(subjects))
        for a in range(subjects):
            for b in range(subjects):
                if a != b:
                    clear = clear_signs(formulas.grouped(answers[a] - answers[b], design.codes), subjects - 1)
                    low[:, a] += clear < 0
                    high[:, a] -= clear > 0
        truth = rankdata(-np.array(shares))
        covers = ((low <= truth) & (truth <= high)).mean(axis=0)
        return Cell(float(covers.min()), 1.0, float((high - low).mean()))

    return sample


FAMILIES: dict[str, dict[str, Sampler]] = {
    "share": {f"p {p}": share_samples(p) for p in (0.1, 0.3, 0.5, 0.7, 0.9, 0.98)},
    "partial credit": {f"p {p}, beta {c:g}": partial_samples(p, c) for p in (0.1, 0.5, 0.9, 0.98) for c in (0.5, 4.0)},
    "error": {
        **{f"log-normal {d}": error_samples("log-normal", d) for d in (0.5, 1.0)},
        **{f"{100 * z:.0f} % zeros": error_samples("with zeros", z) for z in (0.3, 0.6)},
    },
    "median error": {f"log-normal {d}": error_samples("log-normal", d, "median") for d in (0.5, 1.0)},
    "paired difference": {
        f"p {a} against {b}": difference_samples(a, b)
        for a, b in ((0.5, 0.5), (0.9, 0.9), (0.98, 0.98), (0.7, 0.5), (0.95, 0.85))
    },
    "rank of six": {
        "all equal": rank_samples([0.7] * 6),
        "one point apart": rank_samples([0.7, 0.69, 0.68, 0.67, 0.66, 0.65]),
        "pairs": rank_samples([0.8, 0.8, 0.7, 0.7, 0.6, 0.6]),
        "far apart": rank_samples([0.95, 0.9, 0.8, 0.7, 0.6, 0.5]),
    },
}


def designs(counts: Sequence[int], shapes: Sequence[str], draws: int) -> Iterator[Design]:
    """All designs; single units have no correlation."""
    for count in counts:
        for shape in shapes:
            for correlation in CORRELATIONS if shape != "single" else CORRELATIONS[:1]:
                yield Design(count, shape, correlation, draws)
