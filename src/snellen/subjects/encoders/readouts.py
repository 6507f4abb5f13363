"""Pure functions from features to answers; design/readouts.md states which is used when, and why."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Doubles: TypeAlias = NDArray[np.float64]
DIGITS = 9
"""Digits after the point of cosines and scores that are compared: processors differ in the last digits of a double."""


def unit(features: ArrayLike) -> Doubles:
    """Rows scaled to length one, any shape (..., d); rows of zeros stay zeros."""
    rows = np.asarray(features, dtype=np.float64)
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-12), dtype=np.float64)


def prototype_scores(query: ArrayLike, examples: ArrayLike, answers: Sequence[str], keys: Sequence[str]) -> Doubles:
    """Cosine of the query (d,) with the mean of each key's examples (n, d), shape (len(keys),).

    Features are scaled to length one before the mean. Keys without examples get -1, the smallest cosine.
    ComBo, Appendix E ('clustering & retrieval': average the features of a category, take the nearest).
    """
    rows, towards = unit(examples), unit(query)
    labels = np.asarray(answers)
    return np.array([unit(rows[labels == key].mean(0)) @ towards if (labels == key).any() else -1.0 for key in keys])


def knn_scores(query: ArrayLike, examples: ArrayLike, answers: Sequence[str], keys: Sequence[str], k: int) -> Doubles:
    """Share of votes of each key among the k examples (n, d) nearest by cosine, shape (len(keys),).

    Each vote counts (1 + cosine) / 2. Fewer than k examples all vote. Ties go to the earlier example.
    """
    cosines = unit(examples) @ unit(query)
    nearest = np.argsort(-cosines, kind="stable")[:k]
    votes = (1.0 + cosines[nearest]) / 2.0
    labels = np.asarray(answers)[nearest]
    return np.array([votes[labels == key].sum() for key in keys]) / len(nearest)


@dataclass(frozen=True, eq=False)
class Probe:
    """A logistic regression on standardised features, as plain arrays.

    `answers` (m,), `mean` and `scale` (d,), `weights` (m, d), `bias` (m,).
    """

    answers: tuple[str, ...]
    mean: Doubles
    scale: Doubles
    weights: Doubles
    bias: Doubles

    def scores(self, query: ArrayLike, keys: Sequence[str]) -> Doubles:
        """Probability of each key given that it is one of `keys`, for one query (d,); 0 for an unknown key."""
        standardised = (np.asarray(query, dtype=np.float64) - self.mean) / self.scale
        logits = dict(zip(self.answers, self.weights @ standardised + self.bias, strict=True))
        offered = np.array([logits.get(key, -np.inf) for key in keys])
        raised = np.exp(offered - offered.max())
        return np.asarray(raised / raised.sum(), dtype=np.float64)


def fit_probe(features: ArrayLike, answers: Sequence[str], c: float) -> Probe:
    """Fit to features (n, d): zero mean, unit deviation, scikit-learn's LogisticRegression (lbfgs, L2, strength 1 / c).

    Deterministic. If all answers are equal, the probe always gives that one.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    rows = np.asarray(features, dtype=np.float64)
    mean, scale = _moments(rows)
    classes = tuple(sorted(set(answers)))
    if len(classes) == 1:
        return Probe(classes, mean, scale, np.zeros((1, rows.shape[1])), np.zeros(1))
    # In problems this small, threads that wait for each other cost up to 30 times the work.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes")  # one or two examples of each
        model = LogisticRegression(C=c, max_iter=1000).fit((rows - mean) / scale, np.asarray(answers))
    weights, bias = model.coef_, model.intercept_
    if len(classes) == 2:  # one row, for the second answer
        weights, bias = np.vstack([np.zeros_like(weights), weights]), np.concatenate([[0.0], bias])
    return Probe(tuple(str(answer) for answer in model.classes_), mean, scale, weights, bias)


PENALTIES = tuple(10.0**n for n in range(-2, 7))
"""Penalties that a regression chooses from, by its training examples alone."""


@dataclass(frozen=True, eq=False)
class Regression:
    """Linear in standardised features: `mean` and `scale` (d,), `weights` (m, d), `bias` (m,) for m numbers."""

    mean: Doubles
    scale: Doubles
    weights: Doubles
    bias: Doubles

    def numbers(self, query: ArrayLike) -> Doubles:
        """The prediction (m,) for a query (d,), not limited to any range."""
        standard = (np.asarray(query, dtype=np.float64) - self.mean) / self.scale
        return np.asarray(self.weights @ standard + self.bias, dtype=np.float64)


def fit_regression(features: ArrayLike, answers: ArrayLike) -> Regression:
    """Ridge regression on features (n, d) with answers (n, m): zero mean, unit deviation, scikit-learn's RidgeCV.

    The penalty is the one of `PENALTIES` with the smallest squared leave-one-out error. Deterministic. With a single
    example, its answer is always given.
    """
    from sklearn.linear_model import RidgeCV
    from threadpoolctl import threadpool_limits

    rows, targets = np.asarray(features, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    mean, scale = _moments(rows)
    if len(rows) == 1:
        return Regression(mean, scale, np.zeros((targets.shape[1], rows.shape[1])), targets[0])
    with threadpool_limits(1):
        model = RidgeCV(alphas=PENALTIES).fit((rows - mean) / scale, targets)
    return Regression(mean, scale, np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_))


def _moments(features: Doubles) -> tuple[Doubles, Doubles]:
    """Mean and deviation of features; nearly constant ones get scale 1, since scaling would amplify noise."""
    scale = features.std(0)
    return features.mean(0), np.where(scale > 1e-6 * max(float(scale.max()), 1e-12), scale, 1.0)


@dataclass(frozen=True)
class Threshold:
    """True if a similarity is at least `limit`; the reverse if `above` is False."""

    limit: float
    above: bool

    def says(self, similarity: float) -> bool:
        """The answer for a similarity."""
        return (similarity >= self.limit) == self.above


def fit_threshold(similarities: Sequence[float], truths: Sequence[bool]) -> Threshold:
    """The limit and direction with the highest balanced accuracy on the training examples, chance 0.5.

    Limits are midpoints between neighbouring similarities; among the best, the one in the widest gap is taken, then
    the lowest. `similar means true` wins a tie of directions. If all training examples have one answer, it is always
    given.
    """
    if len(set(truths)) < 2:
        return Threshold(-np.inf, bool(truths[0]))
    values, truth = np.asarray(similarities, dtype=np.float64), np.asarray(truths, dtype=bool)
    levels = np.unique(values)
    limits = np.concatenate([[-np.inf], (levels[:-1] + levels[1:]) / 2])
    gaps = np.concatenate([[0.0], np.diff(levels)])
    best: tuple[float, bool, float, float] | None = None
    for limit, gap in zip(limits, gaps, strict=True):
        says = values >= limit
        right = float((says[truth].mean() + (~says[~truth]).mean()) / 2)
        for above, reached in ((True, right), (False, 1.0 - right)):
            candidate = (round(reached, 12), above, float(gap), -float(limit))
            best = candidate if best is None or candidate > best else best
    assert best is not None
    return Threshold(-best[3], best[1])


def pairwise_cosines(features: ArrayLike) -> Doubles:
    """The cosines of all pairs of features (n, d), in the order (0, 1), (0, 2), …, (1, 2), ….

    They are rounded to `DIGITS`, so that no limit can lie between those of equal pairs.
    """
    rows = unit(features)
    return np.asarray((rows @ rows.T)[np.triu_indices(len(rows), 1)].round(DIGITS), dtype=np.float64)


def least_similarity(features: ArrayLike) -> float:
    """The smallest cosine between any two of the features (n, d), n at least 2."""
    return float(pairwise_cosines(features).min())


def key_of(answer: Any) -> str:
    """The option key of an answer."""
    return str(answer).lower() if isinstance(answer, bool) else str(answer)


def pick(scores: Doubles, keys: Sequence[str], rng: np.random.Generator) -> str:
    """The key with the highest score, rounded to `DIGITS`; ties are drawn uniformly."""
    scores = scores.round(DIGITS)
    best = np.flatnonzero(scores == scores.max())
    return keys[int(best[0] if len(best) == 1 else rng.choice(best))]
