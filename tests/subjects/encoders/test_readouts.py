"""Readouts compared with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from snellen.core.seeds import stream
from snellen.subjects.encoders.readouts import (
    PENALTIES,
    fit_probe,
    fit_regression,
    fit_threshold,
    knn_scores,
    least_similarity,
    pick,
    prototype_scores,
    unit,
)

KEYS = ("a", "b", "c")


def clouds(seed: int, n: int = 40, d: int = 12, keys: tuple[str, ...] = KEYS) -> tuple[np.ndarray, list[str]]:
    rng = stream("clouds", seed)
    answers = [keys[i % len(keys)] for i in range(n)]
    centres = rng.normal(size=(len(keys), d))
    return np.stack([centres[keys.index(key)] + rng.normal(size=d) for key in answers]), answers


@pytest.mark.filterwarnings("ignore:invalid value encountered in divide")  # one sample per class, in scikit-learn
@pytest.mark.parametrize("seed", range(3))
def test_prototypes_are_nearest_centroids(seed: int) -> None:
    rows, answers = clouds(seed)
    queries, _ = clouds(seed + 100)
    centroids = NearestCentroid().fit(unit(rows), answers)
    oracle = NearestCentroid().fit(unit(centroids.centroids_), centroids.classes_)
    ours = [KEYS[int(prototype_scores(query, rows, answers, KEYS).argmax())] for query in queries]
    assert ours == list(oracle.predict(unit(queries)))


def test_prototype_by_hand() -> None:
    scores = prototype_scores([1, 0], [[2, 0], [0, 1], [0, 5]], ["a", "a", "b"], ("a", "b", "never shown"))
    assert scores == pytest.approx([np.sqrt(0.5), 0.0, -1.0])


@pytest.mark.parametrize("k", [1, 3, 7])
def test_knn_equals_weighted_neighbours(k: int) -> None:
    rows, answers = clouds(1)
    queries, _ = clouds(101)
    oracle = KNeighborsClassifier(k, metric="cosine", algorithm="brute", weights=lambda far: 1.0 - far / 2.0)
    votes = oracle.fit(rows, answers).predict_proba(queries)
    for query, expected in zip(queries, votes, strict=True):
        scores = knn_scores(query, rows, answers, KEYS, k)
        assert scores / scores.sum() == pytest.approx(expected)


def test_fewer_examples_than_k_all_vote() -> None:
    assert knn_scores([1, 0], [[1, 0], [1, 0]], ["a", "b"], KEYS, 5) == pytest.approx([0.5, 0.5, 0.0])


@pytest.mark.parametrize("keys", [KEYS, ("a", "b")])
def test_a_probe_equals_a_pipeline_of_scikit_learn(keys: tuple[str, ...]) -> None:
    rows, answers = clouds(2, keys=keys)
    queries, _ = clouds(102)
    oracle = make_pipeline(StandardScaler(), LogisticRegression(C=0.5, max_iter=1000)).fit(rows, answers)
    probe = fit_probe(rows, answers, 0.5)
    for query, expected in zip(queries, oracle.predict_proba(queries), strict=True):
        assert probe.scores(query, keys) == pytest.approx(expected, abs=1e-6)


def test_a_probe_chooses_among_the_offered_options() -> None:
    rows, answers = clouds(3)
    probe = fit_probe(rows, answers, 1.0)
    all_scores, offered_scores = probe.scores(rows[0], KEYS), probe.scores(rows[0], ("c", "never taught", "a"))
    assert offered_scores == pytest.approx(
        [all_scores[2] / (all_scores[0] + all_scores[2]), 0.0, all_scores[0] / (all_scores[0] + all_scores[2])]
    )


def test_probe_with_one_answer_or_constant_features() -> None:
    assert fit_probe([[1, 2], [3, 4]], ["a", "a"], 1.0).scores([9, 9], KEYS) == pytest.approx([1, 0, 0])
    constant = fit_probe([[1, 2], [1, 2], [1, 2]], ["a", "b", "a"], 1.0).scores([1, 2], KEYS)
    assert constant == pytest.approx([2 / 3, 1 / 3, 0], abs=1e-3)


def test_a_probe_is_reproducible() -> None:
    rows, answers = clouds(4)
    assert np.array_equal(fit_probe(rows, answers, 0.1).weights, fit_probe(rows, answers, 0.1).weights)


@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=2, max_size=30))
def test_threshold_has_the_best_balanced_accuracy(labelled_similarities: list[tuple[int, bool]]) -> None:
    near, truth = (
        [float(similarity) for similarity, _ in labelled_similarities],
        [answer for _, answer in labelled_similarities],
    )
    threshold = fit_threshold(near, truth)
    if len(set(truth)) == 1:
        assert all(threshold.says(similarity) == truth[0] for similarity in near)
        return
    reached = balanced_accuracy_score(truth, [threshold.says(similarity) for similarity in near])
    limits = [*(level + 0.5 for level in range(-6, 6))]
    # With two classes it is the mean of two rates: the true ones at or above, and the others below.
    says, is_true = np.array(near) >= np.array(limits)[:, None], np.array(truth)
    accuracies = (says[:, is_true].mean(axis=1) + 1 - says[:, ~is_true].mean(axis=1)) / 2
    assert reached == pytest.approx(max(*accuracies, *(1 - accuracies)))


def test_the_threshold_is_in_the_middle_of_the_widest_gap() -> None:
    threshold = fit_threshold([0.1, 0.2, 0.8, 0.9], [False, False, True, True])
    assert (threshold.limit, threshold.above) == (0.5, True)
    assert not fit_threshold([0.1, 0.9], [True, False]).above


def test_least_similarity_by_hand() -> None:
    assert least_similarity([[1, 0], [2, 0], [1, 1]]) == pytest.approx(np.sqrt(0.5))


def test_ties_are_drawn() -> None:
    scores = np.array([0.5, 0.1, 0.5])
    picks = [pick(scores, KEYS, stream("tie", index)) for index in range(200)]
    assert set(picks) == {"a", "c"}
    assert 70 < picks.count("a") < 130


def test_regression_uses_the_penalty_that_is_best_in_leave_one_out() -> None:
    rng = stream("regression", 0)
    rows = rng.normal(size=(30, 12)) * 5 + 3
    targets = rows[:, :3] @ rng.normal(size=(3, 3)) + rng.normal(size=(30, 3))
    standard = StandardScaler().fit(rows)

    def missed(penalty: float) -> float:
        total = 0.0
        for n in range(len(rows)):
            others = np.arange(len(rows)) != n
            model = Ridge(alpha=penalty).fit(standard.transform(rows[others]), targets[others])
            total += float(((model.predict(standard.transform(rows[[n]])) - targets[n]) ** 2).sum())
        return total

    best = Ridge(alpha=min(PENALTIES, key=missed)).fit(standard.transform(rows), targets)
    query = rng.normal(size=12)
    assert fit_regression(rows, targets).numbers(query) == pytest.approx(best.predict(standard.transform([query]))[0])


def test_regression_on_one_training_example_returns_its_answer() -> None:
    assert fit_regression([[1.0, 2.0]], [[10, 20, 30]]).numbers([5.0, 6.0]) == pytest.approx([10, 20, 30])
