"""The interval of scored units: weights, looks and orders of asking choose it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.grading.results import SEQUENTIAL, unit_interval
from snellen.core.score import Metric
from snellen.scoring.protocols import ACCURACY
from snellen.scoring.sequential import confidence_sequence
from snellen.scoring.uncertainty import BOOTSTRAP_T, GAFFKE, UNTOLD, WILSON, cluster_wilson, mean_interval

VALUES = np.array([1.0, 1, 1, 1, 1, 1, 1, 0, 0, 0])
MEAN_OF_SHARES = Metric("share", lambda item, answer: 0.0)


def units(**columns: Any) -> pd.DataFrame:
    """Ten units, seven of them right, of five clusters."""
    return pd.DataFrame({"value": VALUES, "cluster_id": [str(n // 2) for n in range(10)], **columns})


def test_weighted_units_have_the_interval_of_their_values_with_these_weights() -> None:
    """Values are stored times their weights."""
    weights = np.array([0.5] * 5 + [1.5] * 5)
    stored = units(value=VALUES * weights, weight=weights)
    rng = np.random.default_rng(0)
    clusters = np.arange(10) // 2
    expected = mean_interval(VALUES, clusters, (0.0, 1.0), rng, weights)
    assert unit_interval(stored, ACCURACY, ("key",)) == pytest.approx(expected)
    assert expected.low < 0.55 < expected.high < mean_interval(VALUES, clusters, (0.0, 1.0), rng).high


def test_the_intervals_of_planned_looks_share_their_error() -> None:
    """Two looks with an error of 5 % together: each has 97.5 %. The kind tells which of them it is."""
    ends = cluster_wilson(VALUES, np.arange(10) // 2, 0.975)
    assert unit_interval(units(look=1, looks=2), ACCURACY, ("key",)) == (*ends, f"{WILSON}; look 1 of 2")
    alone = units(look=1, looks=2, cluster_id="one")
    assert unit_interval(alone, ACCURACY, ("key",)).kind == f"{UNTOLD}all units belong to one cluster"


def test_a_metric_declares_its_method() -> None:
    assert [unit_interval(units(), metric, ("key",)).kind for metric in (ACCURACY, MEAN_OF_SHARES)] == [WILSON, GAFFKE]
    assert unit_interval(units()[:0], ACCURACY, ("key",)).kind == ""
    spread = units(value=np.arange(10.0), cluster_id=list(map(str, range(10))))
    unbounded = Metric("error", lambda item, answer: 0.0, bounds=None)
    assert unit_interval(spread, unbounded, ("key",)).kind == BOOTSTRAP_T


@pytest.mark.parametrize(
    ("metric", "columns"),
    [
        (Metric("error", lambda item, answer: 0.0, bounds=None), {}),
        (Metric("error", lambda item, answer: 0.0, summary="median"), {}),
        (ACCURACY, {"weight": 1.0}),
    ],
)
def test_of_units_asked_until_decided_only_a_bounded_plain_mean_has_a_sequence(
    metric: Metric, columns: dict[str, float]
) -> None:
    turns = np.array([4, 4, 3, 3, 2, 2, 1, 1, 0, 0])
    assert unit_interval(units(turn=turns), ACCURACY, ("key",)) == (
        *confidence_sequence(VALUES, turns, (0.0, 1.0)), SEQUENTIAL,
    )  # fmt: skip
    none = unit_interval(units(turn=turns, **columns), metric, ("key",))
    assert none.kind == f"{UNTOLD}the number of items depends on the answers"
    assert np.isnan(none.low)
    assert np.isnan(none.high)
