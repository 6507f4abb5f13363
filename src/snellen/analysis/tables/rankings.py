"""Ranks of subjects by ability, their average and their uncertainty, and the agreement of two evaluators on them.

Two subjects are compared on the items that both have a value for. A rank is 1, plus 1 for every subject that is better
there, plus 1/2 for every equal one: if all subjects have values on all items, these are the usual ranks with ties
averaged (`published.ranks`). The interval of a rank follows from these comparisons: no clearly better subject can be
behind, no clearly worse one ahead. Redrawn ranks would be biased, since noise moves all of them to the middle
(docs/validity.md). Spread, agreement and the probability of being first come from redrawn clusters of items, the same
ones for all subjects and, if abilities share images, for all abilities. Cluster weights are Poisson numbers of mean 1
(the Poisson bootstrap: Hanley and MacGibbon 2006), a draw with replacement that need not know all clusters at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from snellen.scoring.clustered_means import (
    MAX_CELLS,
    ClusteredSamples,
    Floats,
    effective_clusters,
    grouped,
    normal_ends,
    tails,
)

DRAWS = 2000
LEVEL = 0.95
ALIKE = 1e-9
"""Sums of differences nearer to 0 than this are equal: adding in another order changes them by less."""


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of subjects on the items of one ability.

    `values` are subjects x items, NaN without a score; `clusters` names the cluster of each item.
    """

    name: str
    values: Floats
    clusters: tuple[str, ...]
    lower_is_better: bool = False

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.clusters):
            raise ValueError(f"{self.name}: values {self.values.shape} for {len(self.clusters)} clusters")


class Ranked(NamedTuple):
    """A rank or an average of ranks, 1 for the best, with its interval: NaN if not estimable."""

    value: float
    low: float
    high: float


class Spread(NamedTuple):
    """Spread of the subjects in one ability, in the unit of its metric.

    `observed` is the standard deviation of their means (divisor n - 1), `beyond` the same without the part that the
    draw of the items adds, with its interval. `span` is best minus worst, never negative; `n` the items compared.
    """

    observed: float
    beyond: float
    low: float
    high: float
    span: float
    n: int


class RankAgreement(NamedTuple):
    """Rank agreement of two evaluators: Kendall's tau-b and Spearman's rho (-1 to 1) with intervals over the items."""

    tau: Ranked
    rho: Ranked


# Ranks


def margins(matrix: ScoreMatrix) -> tuple[list[str], Floats]:
    """(clusters, sums): clusters x subjects x subjects, by how much the first is better than the second there.

    Sums are over the items of the cluster that both have, in the unit of the metric, positive for better.
    """
    names, codes = np.unique(np.array(matrix.clusters, dtype=object), return_inverse=True)
    values = -matrix.values if matrix.lower_is_better else matrix.values
    sums = np.zeros((len(names), len(values), len(values)))
    for row, values_of_subject in enumerate(values):
        gaps = np.nan_to_num(values_of_subject[None, :] - values, nan=0.0)
        np.add.at(sums[:, row], codes, gaps.T)
    return [str(name) for name in names], sums


def signs(sums: Floats) -> Floats:
    """1 if the first is better than the second, -1 if worse, 0 if equal."""
    return np.where(np.abs(sums) <= ALIKE, 0.0, np.sign(sums))


def ranks_of(better: Floats) -> Floats:
    """Ranks (… x subjects) of signs (… x subjects x subjects): (n + 1) / 2 minus half of wins minus losses."""
    return np.asarray((better.shape[-1] + 1) / 2 - better.sum(axis=-1) / 2, dtype=np.float64)


def drawn_weights(clusters: Sequence[str], rng: np.random.Generator, draws: int) -> Iterator[Floats]:
    """Yields draws of cluster weights in blocks of draws x clusters."""
    block = max(1, MAX_CELLS // max(1, len(clusters)))
    for start in range(0, draws, block):
        yield rng.poisson(1.0, (min(block, draws - start), len(clusters))).astype(np.float64)


def redrawn_signs(matrices: Sequence[ScoreMatrix], rng: np.random.Generator, draws: int = DRAWS) -> list[Floats]:
    """For each ability the signs (draws x subjects x subjects) under redrawn clusters, the same for all abilities."""
    margins_by_ability = [margins(matrix) for matrix in matrices]
    everything = sorted({name for names, _ in margins_by_ability for name in names})
    position = {name: n for n, name in enumerate(everything)}
    positions = [np.array([position[name] for name in names], dtype=np.intp) for names, _ in margins_by_ability]
    draws_of_signs: list[list[Floats]] = [[] for _ in matrices]
    for weights in drawn_weights(everything, rng, draws):
        for number, (rows, (_, sums)) in enumerate(zip(positions, margins_by_ability, strict=True)):
            draws_of_signs[number].append(signs(np.tensordot(weights[:, rows], sums, axes=1)))
    return [np.concatenate(blocks) for blocks in draws_of_signs]


def observed_signs(matrix: ScoreMatrix) -> Floats:
    """The signs (subjects x subjects) of all items together."""
    return signs(margins(matrix)[1].sum(axis=0))


def fewest_clusters(matrices: Sequence[ScoreMatrix]) -> int:
    """The number of clusters of the ability with the fewest."""
    return min(len(set(matrix.clusters)) for matrix in matrices)


def interval(value: float, draws: Floats, clusters: int) -> Ranked:
    """A value with the percentiles of its draws, widened for few clusters, and always including the value itself.

    Redrawn ranks are nearer to the middle than the true ones, since noise can only lower the first: the average rank
    of a subject that is best throughout would otherwise be outside its own interval. NaN among the draws is ignored.
    """
    known_draws = draws[~np.isnan(draws)]
    if math.isnan(value) or clusters < 2 or not len(known_draws):
        return Ranked(value, math.nan, math.nan)
    low, high = np.quantile(known_draws, tails(clusters, LEVEL), method="inverted_cdf")
    return Ranked(value, min(value, float(low)), max(value, float(high)))


def clear_signs(samples: ClusteredSamples, rivals: int) -> Floats:
    """For each sample of differences of two subjects: 1 if the first is clearly better, -1 if clearly worse, else 0.

    Clear at 95 % for all comparisons of one subject with its rivals together (Bonferroni). With so few clusters that
    even equal signs in all of them would not be significant (2^(1 - clusters)), nothing is clear.
    """
    tail = (1 - LEVEL) / rivals
    if 2 ** (1 - effective_clusters(samples.sizes)) > tail:
        return np.zeros(len(samples.totals))
    low, high = normal_ends(samples, 1 - tail)
    return (low > ALIKE).astype(np.float64) - (high < -ALIKE)


def _rank_bounds(matrix: ScoreMatrix) -> tuple[Floats, Floats]:
    """The best and the worst rank of each subject that its clear comparisons allow; NaN with a single cluster.

    Such an interval covers the rank if all its comparisons are right: Mogstad, Romano, Shaikh and Wilhelm 2024,
    "Inference for ranks", Review of Economic Studies 91.
    """
    subjects = len(matrix.values)
    if fewest_clusters([matrix]) < 2:
        return np.full(subjects, np.nan), np.full(subjects, np.nan)
    clear = np.zeros((subjects, subjects))
    values = -matrix.values if matrix.lower_is_better else matrix.values
    codes = np.unique(np.array(matrix.clusters, dtype=object), return_inverse=True)[1]
    for first, second in combinations(range(subjects), 2):
        gaps = values[first] - values[second]
        common = ~np.isnan(gaps)
        present, own_codes = np.unique(codes[common], return_inverse=True)
        if len(present) > 1:
            sign = float(clear_signs(grouped(gaps[None, common], own_codes), subjects - 1)[0])
            clear[first, second], clear[second, first] = sign, -sign
    return 1 + (clear < 0).sum(axis=1).astype(np.float64), subjects - (clear > 0).sum(axis=1).astype(np.float64)


def ranked(matrices: Sequence[ScoreMatrix]) -> dict[str, list[Ranked]]:
    """The rank of every subject by ability, and under the empty name its average rank (Table 5).

    All abilities must have the same subjects in the same order. An average has the averages of the ends: wide, since
    noise moves the ranks of a subject the same way in all.
    """
    shares = np.full(len(matrices), 1 / len(matrices))
    ranks = np.stack([ranks_of(observed_signs(matrix)) for matrix in matrices])
    ends = [_rank_bounds(matrix) for matrix in matrices]
    lows, highs = (np.stack([pair[side] for pair in ends]) for side in (0, 1))
    rows = {matrix.name: (ranks[n], lows[n], highs[n]) for n, matrix in enumerate(matrices)}
    rows[""] = shares @ ranks, shares @ lows, shares @ highs
    return {name: [Ranked(*map(float, row)) for row in zip(*columns, strict=True)] for name, columns in rows.items()}


# Spread


def spread(matrix: ScoreMatrix, rng: np.random.Generator, draws: int = DRAWS) -> Spread | None:
    """Spread of the subjects over the items that all have a value for; None with fewer than two subjects or items.

    Subjects answer the same items, so that an item that is hard for all does not separate them. The variance between
    subjects in a redrawn sample is the true one plus the noise of the data plus that of drawing. Its mean minus the
    observed variance therefore estimates one such noise, which is subtracted once from the observed variance and twice
    from a redrawn one. Negative results become 0.
    """
    complete = ~np.isnan(matrix.values).any(axis=0)
    values = matrix.values[:, complete]
    names, codes = np.unique(np.array(matrix.clusters, dtype=object)[complete], return_inverse=True)
    if len(values) < 2 or values.shape[1] < 2:
        return None
    means = values.mean(axis=1)
    observed, span = float(means.var(ddof=1)), float(means.max() - means.min())
    estimate = math.sqrt(observed), span, values.shape[1]
    if len(names) < 2:
        return Spread(estimate[0], math.nan, math.nan, math.nan, *estimate[1:])
    variances = _redrawn_variances(values, codes, len(names), rng, draws)
    noise = max(0.0, float(variances.mean()) - observed)
    low, high = np.quantile(variances - 2 * noise, tails(len(names), LEVEL))
    beyond, low, high = (math.sqrt(max(0.0, square)) for square in (observed - noise, float(low), float(high)))
    return Spread(estimate[0], beyond, min(low, beyond), max(high, beyond), *estimate[1:])


def _redrawn_variances(
    values: Floats, codes: npt.NDArray[np.intp], count: int, rng: np.random.Generator, draws: int
) -> Floats:
    sums = np.stack([np.bincount(codes, scores, count) for scores in values], axis=1)
    sizes = np.bincount(codes, minlength=count).astype(np.float64)
    variances = []
    for weights in drawn_weights([str(n) for n in range(count)], rng, draws):
        weights = weights[weights.sum(axis=1) > 0]  # a draw of nothing has no mean
        variances.append(((weights @ sums) / (weights @ sizes)[:, None]).var(axis=1, ddof=1))
    return np.concatenate(variances)


# Agreement


def kendall(left_signs: Floats, right_signs: Floats) -> Floats:
    """Tau-b (…) of two sets of signs (… x subjects x subjects), -1 to 1; NaN if an evaluator ranks all equal."""
    together = (left_signs * right_signs).sum(axis=(-2, -1))
    size = np.sqrt((left_signs**2).sum(axis=(-2, -1)) * (right_signs**2).sum(axis=(-2, -1)))
    return np.asarray(np.divide(together, size, out=np.full_like(size, np.nan), where=size > 0))


def spearman(left_ranks: Floats, right_ranks: Floats) -> Floats:
    """Rho (…) of two sets of ranks (… x subjects), -1 to 1, ties averaged; NaN if an evaluator ranks all equal."""
    a, b = (signs - signs.mean(axis=-1, keepdims=True) for signs in (left_ranks, right_ranks))
    size = np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1))
    return np.asarray(np.divide((a * b).sum(axis=-1), size, out=np.full_like(size, np.nan), where=size > 1e-12))


def agreement(first: ScoreMatrix, second: ScoreMatrix, rng: np.random.Generator, draws: int = DRAWS) -> RankAgreement:
    """Agreement of two evaluators on the same encoders (Figure 7), or of two abilities on the same subjects (8a).

    Rows of both are the same encoders in the same order. The encoders are fixed: intervals cover the draw of the items
    (clusters of one name are redrawn together), not the choice of encoders.
    """
    if len(first.values) != len(second.values):
        raise ValueError(
            f"{len(first.values)} and {len(second.values)} encoders; both evaluators must have the same encoders"
        )
    observed = observed_signs(first), observed_signs(second)
    draws_of_signs = redrawn_signs([first, second], rng, draws)
    return _agreement(
        (observed[0], observed[1]), (draws_of_signs[0], draws_of_signs[1]), fewest_clusters([first, second])
    )


def average_agreement(
    first: Sequence[ScoreMatrix], second: Sequence[ScoreMatrix], rng: np.random.Generator, draws: int = DRAWS
) -> RankAgreement:
    """Agreement of two evaluators on the average ranks of the same encoders over the same abilities."""
    both = [*first, *second]
    observed, draws_of_signs = [observed_signs(pair) for pair in both], redrawn_signs(both, rng, draws)
    count = len(first)

    def halves(signs: Sequence[Floats]) -> tuple[Floats, Floats]:
        return _by_average(signs[:count]), _by_average(signs[count:])

    return _agreement(halves(observed), halves(draws_of_signs), fewest_clusters(both))


def _by_average(signs_by_ability: Sequence[Floats]) -> Floats:
    """Signs (… x subjects x subjects) of average ranks, given the signs of every ability."""
    average = np.mean([ranks_of(order) for order in signs_by_ability], axis=0)
    return signs(average[..., None, :] - average[..., :, None])


def _agreement(observed: tuple[Floats, Floats], draws: tuple[Floats, Floats], clusters: int) -> RankAgreement:
    tau, rho = kendall(*observed), spearman(ranks_of(observed[0]), ranks_of(observed[1]))
    return RankAgreement(
        interval(float(tau), kendall(*draws), clusters),
        interval(float(rho), spearman(ranks_of(draws[0]), ranks_of(draws[1])), clusters),
    )
