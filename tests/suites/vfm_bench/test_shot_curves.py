"""Derived numbers of shot curves: cases by hand, undefined cases, bounds and intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.scoring.clustered_means import tails
from snellen.suites.vfm_bench.shot_curves import (
    DerivedInterval,
    average,
    common,
    curve_of,
    delta,
    delta_above_chance,
    eta,
    eta_above_chance,
    gain_at,
    interval,
    phi,
    printed,
    rounded,
)

CURVE = {0: 0.2, 1: 0.4, 2: 0.6, 3: 0.5}
# Gains .2, .4, .3: mean .3, largest .4, room .8.


def test_by_hand() -> None:
    assert eta(CURVE) == pytest.approx(0.3 / 0.4)
    assert delta(CURVE) == pytest.approx(0.3 / 0.8)
    assert eta({0: 0.2, 1: 0.4, 3: 0.8}) == pytest.approx(0.4 / 0.6), "the mean is over the measured numbers of shots"
    assert average(CURVE) == pytest.approx(1.7 / 4)
    assert gain_at(CURVE, 2) == pytest.approx(2)
    changed = {0: 0.2, 1: 0.3, 2: 0.3, 3: 0.5}
    assert phi(changed, CURVE, range(4)) == pytest.approx(-0.4 / 1.7)
    assert phi(changed, CURVE, (1, 2, 3)) == pytest.approx(-0.4 / 1.5)
    assert phi(changed, CURVE, [1, 2, 2]) == pytest.approx(-0.4), "every number of shots counts once"
    assert eta_above_chance({1: 0.5, 5: 0.75}, 0.25) == pytest.approx(0.375 / 0.5)
    assert delta_above_chance({1: 0.5, 5: 0.75}, 0.25) == pytest.approx(0.375 / 0.75)
    assert delta_above_chance(CURVE, 0.5) == pytest.approx(0.0), "zero shots do not count as examples"


def test_demos_that_harm_or_change_nothing() -> None:
    harmed = {0: 0.5, 1: 0.4, 2: 0.3}
    assert eta(harmed) is None
    assert delta(harmed) == pytest.approx(-0.3)
    flat = {0: 0.1 + 0.2, 1: 0.3, 2: 0.3}
    assert eta(flat) is None
    assert delta(flat) == pytest.approx(0, abs=1e-9)
    assert eta({0: 0.5, 1: 0.1, 2: 0.6}) == pytest.approx(-0.15 / 0.1), "one gain is enough, and eta may be negative"


@pytest.mark.parametrize(
    "undefined",
    [
        eta({}), eta({0: 0.5}), eta({1: 0.5}),
        delta({0: 0.5}), delta({1: 0.5}), delta({0: 1.0, 1: 1.0}), delta({0: 1.0, 1: 0.4}),
        phi({}, {}, ()), phi({0: 0.5}, {0: 0.5, 1: 0.5}, (0, 1)), phi({0: 0.5, 1: 0.5}, {1: 0.5}, (0, 1)),
        phi({0: 0.5}, {0: 0.0}, (0,)),
        gain_at({0: 0.0, 1: 0.5}, 1), gain_at({1: 0.5}, 1), gain_at({0: 0.5}, 1),
        eta_above_chance({}, 0.5), delta_above_chance({1: 1.0}, 1.0), average({}),
    ],
)  # fmt: skip
def test_undefined_is_none(undefined: float | None) -> None:
    assert undefined is None


def test_halves_go_up_as_the_paper_prints() -> None:
    assert [rounded(value) for value in (0.345, 1.625, 0.875, 0.005, -0.125, 0.344999)] == [
        0.35, 1.63, 0.88, 0.01, -0.13, 0.34,
    ]  # fmt: skip
    assert rounded(sum((0.16, 0.30, 0.38, 0.41, 0.40, 0.42)) / 6) == 0.35, "a half up to the last bits"
    assert rounded(12.345, 1) == 12.3
    assert printed({0: 0.125, 5: 0.6}) == {0: 0.13, 5: 0.6}


accuracies = st.integers(0, 200).map(lambda right: right / 200)
curves = st.dictionaries(st.integers(1, 5), accuracies, min_size=1).flatmap(
    lambda later: accuracies.map(lambda zero: {0: zero, **later})
)


@given(curves)
def test_bounds_and_definedness(curve: Mapping[int, float]) -> None:
    best = max(value for shots, value in curve.items() if shots)
    efficiency, effectiveness = eta(curve), delta(curve)
    assert (efficiency is None) == (best <= curve[0])
    assert (effectiveness is None) == (curve[0] == 1)
    if efficiency is not None and effectiveness is not None:
        assert efficiency <= 1 + 1e-9
        assert efficiency * (best - curve[0]) == pytest.approx(effectiveness * (1 - curve[0]))
    if effectiveness is not None:
        assert effectiveness <= 1 + 1e-9
        assert delta_above_chance(curve, curve[0]) == pytest.approx(effectiveness)


@given(curves)
def test_phi_is_zero_without_a_change(curve: Mapping[int, float]) -> None:
    change = phi(curve, curve, curve)
    assert change == pytest.approx(0) if sum(curve.values()) else change is None


# Intervals


def arm(values: Mapping[tuple[str, int], float], cluster: Mapping[str, str] | None = None) -> pd.DataFrame:
    rows = [(item, (cluster or {}).get(item, item), shots, value) for (item, shots), value in values.items()]
    return pd.DataFrame(rows, columns=["item_id", "cluster_id", "shots", "value"])


def sampled_scores(
    rng: np.random.Generator, rates: Mapping[int, float], clusters: int = 30, each: int = 4
) -> pd.DataFrame:
    """Items right or wrong at these rates, with correlation within clusters."""
    rows = []
    for cluster in range(clusters):
        knack = rng.normal(0, 0.15)
        for n in range(each):
            name = f"{cluster}-{n}"
            rows += [
                (name, str(cluster), k, float(rng.random() < min(1, max(0, rate + knack)))) for k, rate in rates.items()
            ]
    return pd.DataFrame(rows, columns=["item_id", "cluster_id", "shots", "value"])


def test_arms_are_cut_to_their_common_items() -> None:
    first = arm({("a", 0): 1, ("a", 1): 1, ("b", 0): 0, ("b", 1): 1, ("c", 0): 1, ("d", 0): 1, ("d", 1): 1})
    second = arm({("a", 3): 0, ("b", 3): 1, ("c", 3): 1, ("d", 3): math.nan})
    cut = common([first, second])
    assert [sorted(set(scores["item_id"])) for scores in cut] == [["a", "b"], ["a", "b"]]
    assert [curve_of(scores) for scores in cut] == [{0: 0.5, 1: 1.0}, {3: 0.5}]
    with pytest.raises(ValueError, match="no values"):
        common([first, second.iloc[3:]])
    with pytest.raises(ValueError, match="'a' belongs to several clusters"):
        common([first, arm({("a", 3): 0}, {"a": "other"})])


def test_repeats_of_an_item_count_as_one() -> None:
    twice = pd.concat([arm({("a", 0): 1, ("a", 1): 1}), arm({("a", 0): 0, ("a", 1): 1, ("b", 0): 0, ("b", 1): 0})])
    assert curve_of(twice) == {0: 0.25, 1: 0.5}
    estimate = interval(delta, [twice], np.random.default_rng(0))
    assert estimate.value == pytest.approx(0.25 / 0.75)
    assert (estimate.items, estimate.clusters) == (2, 2)


def test_the_interval_of_a_plain_mean_is_the_cluster_bootstrap() -> None:
    scores = sampled_scores(np.random.default_rng(3), {5: 0.6})
    estimate = interval(lambda curve: curve[5], [scores], np.random.default_rng(0))
    means = scores.groupby("cluster_id")["value"].agg(["sum", "size"]).to_numpy()
    drawn_clusters = np.random.default_rng(0).integers(len(means), size=(2000, len(means)))
    sums = means[drawn_clusters].sum(axis=1)
    expected = np.quantile(sums[:, 0] / sums[:, 1], tails(len(means), 0.95))
    assert estimate[1:3] == pytest.approx(expected)
    assert estimate.value == pytest.approx(scores["value"].mean())


@pytest.mark.slow
def test_the_interval_covers_the_truth_about_as_often_as_stated() -> None:
    rates = {0: 0.3, 1: 0.5, 3: 0.6}
    covered = 0
    for seed in range(60):
        estimate = interval(
            delta, [sampled_scores(np.random.default_rng(seed), rates)], np.random.default_rng(seed), draws=400
        )
        covered += estimate.low <= 0.25 / 0.7 <= estimate.high
    assert 51 <= covered <= 60


def test_arms_are_resampled_together() -> None:
    scores = sampled_scores(np.random.default_rng(1), {0: 0.3, 1: 0.5})
    same = interval(lambda a, b: phi(a, b, (0, 1)), [scores, scores], np.random.default_rng(0))
    assert same == DerivedInterval(0.0, 0.0, 0.0, 120, 30, 0.0)
    again = interval(eta, [scores], np.random.default_rng(5))
    assert again == interval(eta, [scores.sample(frac=1, random_state=0)], np.random.default_rng(5)), (
        "the order of rows does not matter"
    )


def test_undefined_intervals_are_nan_or_counted() -> None:
    nothing = interval(eta, [arm({("a", 0): 1, ("b", 0): 0, ("a", 1): 1, ("b", 1): 0})], np.random.default_rng(0))
    assert math.isnan(nothing.value)
    assert math.isnan(nothing.low)
    certain = interval(delta, [arm({("a", 0): 0, ("a", 1): 1})], np.random.default_rng(0))
    assert certain.value == 1
    assert math.isnan(certain.low)
    # A gain on one item of four: draws without it have no eta.
    rare = {(name, k): float(k and name == "a") for name in "abcd" for k in (0, 1, 2)}
    rare_gain = interval(eta, [arm(rare)], np.random.default_rng(0))
    assert (rare_gain.value, rare_gain.items) == (1, 4)
    assert rare_gain.undefined == pytest.approx(0.75**4, abs=0.05)
    assert math.isnan(rare_gain.high)
    apart = interval(eta, [arm({("a", 0): 1}), arm({("b", 0): 1})], np.random.default_rng(0))
    assert (apart.items, math.isnan(apart.value)) == (0, True)
