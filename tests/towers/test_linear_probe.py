"""Linear probes on features made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from snellen.towers.linear_probe import linear_probes, predictions

CLASSES = ("a", "b", "c")


def features(labels: list[str], seed: int, signal: float) -> NDArray[np.float32]:
    """Noise of 20 features, with `signal` added to the one of the class."""
    rows = np.random.default_rng(seed).normal(size=(len(labels), 20)).astype(np.float32)
    rows[np.arange(len(labels)), [CLASSES.index(label) for label in labels]] += signal
    return np.asarray(rows, dtype=np.float32)


def test_present_information_is_read_and_destroyed_is_not() -> None:
    labels, test_labels = [list(CLASSES * 30), list(CLASSES * 20)]
    train = {"before": features(labels, 0, 8), "behind": features(labels, 1, 0)}
    test = {"before": features(test_labels, 2, 8), "behind": features(test_labels, 3, 0)}
    table = linear_probes(train, labels, test, test_labels, [f"i{n}" for n in range(60)])
    rows = {row["place"]: row for row in table.to_dict("records")}
    assert list(rows) == ["before", "behind", "blind", "change"]
    assert rows["before"]["value"] == 1
    assert rows["behind"]["low"] < 1 / 3 < rows["behind"]["high"]  # three indistinguishable classes: chance
    assert rows["blind"]["value"] == pytest.approx(1 / 3)
    assert rows["change"]["value"] == pytest.approx(rows["behind"]["value"] - 1)
    assert rows["change"]["high"] < 0
    assert (table["items"] == 60).all()
    assert (table["training_items"] == 90).all()
    assert (table["classes"] == 3).all()


def test_the_same_features_lose_nothing() -> None:
    labels, test_labels = [list(CLASSES * 10), list(CLASSES * 10)]
    train, test = features(labels, 0, 2), features(test_labels, 1, 2)
    pairs = {"before": train, "behind": 3 * train + 1}, {"before": test, "behind": 3 * test + 1}  # standardised away
    table = linear_probes(pairs[0], labels, pairs[1], test_labels, [f"i{n}" for n in range(30)])
    shares = dict(zip(table["place"], table["value"], strict=True))
    assert shares["before"] == shares["behind"] > 0.5
    assert shares["change"] == 0


def test_a_single_class_is_always_predicted() -> None:
    assert predictions(np.zeros((2, 3), np.float32), ["x", "x"], np.ones((3, 3), np.float32)) == ["x"] * 3
