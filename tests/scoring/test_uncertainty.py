"""Intervals against statsmodels, against values by hand, and by how often they cover the truth."""

from __future__ import annotations

import math
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats import inter_rater
from statsmodels.stats.proportion import proportion_confint

from snellen.scoring.uncertainty import (
    MAX_CELLS,
    Statistic,
    cluster_bootstrap,
    cluster_wilson,
    fleiss_kappa,
    paired_difference,
    wilson,
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def clustered(
    seed: int, count: int, size: int, correlation: float, share: float = 0.7
) -> tuple[np.ndarray, np.ndarray]:
    """Yes/no values of `count` clusters; `correlation` 0: independent, 1: all alike in a cluster."""
    draw = rng(seed)
    own = (
        draw.beta(share * (1 / correlation - 1), (1 - share) * (1 / correlation - 1), count)
        if 0 < correlation < 1
        else None
    )
    if own is None:
        own = np.full(count, share) if correlation == 0 else (draw.random(count) < share).astype(float)
    return (draw.random((count, size)) < own[:, None]).astype(float).ravel(), np.repeat(np.arange(count), size)


# Wilson


@given(st.integers(1, 500), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_wilson_is_that_of_statsmodels(n: int, data: st.DataObject, level: float) -> None:
    k = data.draw(st.integers(0, n))
    expected = proportion_confint(k, n, 1 - level, "wilson")
    assert wilson(k, n, level) == pytest.approx(expected, abs=1e-9)
    values = np.arange(n) < k
    if n > 1:
        assert cluster_wilson(values, np.arange(n), level) == pytest.approx(expected, abs=1e-9)


def test_wilson_by_hand() -> None:
    # (1 + z^2/20) / (1 + z^2/10) etc. with z = 1.959964
    assert wilson(10, 10) == pytest.approx((0.722467, 1.0), abs=1e-6)
    assert wilson(5, 10) == pytest.approx((0.236593, 0.763407), abs=1e-6)
    assert all(map(math.isnan, wilson(0, 0)))
    with pytest.raises(ValueError, match="no proportion"):
        wilson(3, 2)


def test_cluster_wilson_of_clusters_that_are_all_alike() -> None:
    """Ten clusters of ten equal values are as good as ten values, but for the t quantiles."""
    values, clusters = np.repeat([1, 1, 1, 1, 1, 1, 0, 0, 0, 0], 10), np.repeat(np.arange(10), 10)
    low, high = cluster_wilson(values, clusters)
    plain_low, plain_high = wilson(6, 10)
    assert low < plain_low
    assert high > plain_high
    assert high - low == pytest.approx(plain_high - plain_low, rel=0.2)


@pytest.mark.parametrize("value", [0, 1])
def test_cluster_wilson_has_width_where_all_is_wrong_or_right(value: int) -> None:
    low, high = cluster_wilson(np.full(100, value), np.repeat(np.arange(10), 10))
    assert (low, high) == pytest.approx(wilson(10 * value, 10))
    assert high - low > 0.2


def test_cluster_wilson_at_the_borders() -> None:
    assert all(map(math.isnan, cluster_wilson([], [])))
    assert cluster_wilson([1.0, 0.0, 1.0], ["a", "a", "a"]) == pytest.approx(wilson(2 / 3, 1))
    assert cluster_wilson([1, math.nan, 0, 1], [1, 1, 2, 3]) == pytest.approx(cluster_wilson([1, 0, 1], [1, 2, 3]))
    assert cluster_wilson([0.5, 0.5, 0.5], [1, 2, 3]) == pytest.approx(wilson(1.5, 3))
    with pytest.raises(ValueError, match="0 to 1"):
        cluster_wilson([2, 0], [1, 2])
    with pytest.raises(ValueError, match="one length"):
        cluster_wilson([1, 0], [1])


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=60))
def test_cluster_wilson_holds_the_mean_and_is_no_narrower_than_wilson(units: list[tuple[bool, int]]) -> None:
    values, clusters = [value for value, _ in units], [cluster for _, cluster in units]
    low, high = cluster_wilson(values, clusters)
    plain = wilson(sum(values), len(values))
    assert 0 <= low <= np.mean(values) <= high <= 1
    assert high - low >= plain[1] - plain[0] - 1e-9


# Bootstrap


@pytest.mark.parametrize("statistic", ["mean", "median", "root mean square"])
def test_bootstrap_of_independent_values_is_the_textbook_interval(statistic: Statistic) -> None:
    values = rng(1).normal(5, 2, 2000)
    low, high = cluster_bootstrap(values, np.arange(2000), rng(), draws=4000, statistic=statistic)
    spread = {"mean": 2.0, "median": 2 * math.sqrt(math.pi / 2), "root mean square": 0}[statistic] / math.sqrt(2000)
    if statistic == "root mean square":
        spread = float(np.std(values**2) / math.sqrt(2000) / 2 / math.sqrt(np.mean(values**2)))
    assert high - low == pytest.approx(2 * 1.96 * spread, rel=0.12)


@pytest.mark.parametrize("statistic", ["mean", "median", "root mean square"])
def test_bootstrap_draws_whole_clusters(statistic: Statistic) -> None:
    """The oracle puts the drawn clusters together one by one."""
    draw = rng(2)
    clusters = np.sort(draw.integers(0, 12, 70))
    values = draw.gamma(2, 3, 70)
    fold: dict[str, Callable[[np.ndarray], float]] = {
        "mean": lambda sample: float(np.mean(sample)),
        "median": lambda sample: float(np.median(sample)),
        "root mean square": lambda sample: float(np.sqrt(np.mean(sample**2))),
    }
    parts = [values[clusters == name] for name in np.unique(clusters)]
    drawn = rng(3).integers(len(parts), size=(500, len(parts)))
    slow = [fold[statistic](np.concatenate([parts[at] for at in row])) for row in drawn]
    low, high = cluster_bootstrap(values, clusters, rng(3), draws=500, statistic=statistic)
    assert min(slow) <= low < np.quantile(slow, 0.025)
    assert max(slow) >= high > np.quantile(slow, 0.975)
    level = 0.6826895  # one standard error
    low, high = cluster_bootstrap(values, clusters, rng(3), draws=500, level=level, statistic=statistic)
    wide = math.sqrt(12 / 11) * 1.0527  # t with 11 degrees of freedom at that level
    tail = 0.5 * math.erfc(wide / math.sqrt(2))
    assert (low, high) == pytest.approx(tuple(np.quantile(slow, [tail, 1 - tail])), rel=1e-3)


def test_bootstrap_at_the_borders() -> None:
    assert all(map(math.isnan, cluster_bootstrap([], [], rng())))
    assert all(map(math.isnan, cluster_bootstrap([1.0, 2.0], ["a", "a"], rng())))
    assert cluster_bootstrap([1, 1, 1], [1, 2, 3], rng()) == (1, 1)
    with_gaps = cluster_bootstrap([1, math.nan, 3, 5, 2], ["a", "a", "b", "c", "d"], rng())
    assert with_gaps == cluster_bootstrap([1, 3, 5, 2], ["a", "b", "c", "d"], rng())
    with pytest.raises(ValueError, match="no statistic"):
        cluster_bootstrap([1, 2], [1, 2], rng(), statistic="mode")  # type: ignore[arg-type]


def test_bootstrap_is_fixed_by_its_seed_and_not_by_names_of_clusters() -> None:
    values, clusters = clustered(0, 20, 5, 0.3)
    assert cluster_bootstrap(values, clusters, rng(7)) == cluster_bootstrap(values, clusters, rng(7))
    named = [f"concept {code:03}" for code in clusters]
    assert cluster_bootstrap(values, clusters, rng(7)) == cluster_bootstrap(values, named, rng(7))


def test_clusters_make_the_interval_wider() -> None:
    values, clusters = clustered(0, 40, 25, 0.5)
    together = cluster_bootstrap(values, clusters, rng())
    apart = cluster_bootstrap(values, np.arange(len(values)), rng())
    assert together[1] - together[0] > 2.5 * (apart[1] - apart[0])


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_ten_thousand_clusters_take_seconds_and_little_memory(statistic: Statistic) -> None:
    values, clusters = rng(0).random(20_000), np.repeat(np.arange(10_000), 2)
    start = time.process_time()
    cluster_bootstrap(values, clusters, rng(), statistic=statistic)
    assert time.process_time() - start < 5
    tracemalloc.start()
    cluster_bootstrap(values, clusters, rng(), draws=500, statistic=statistic)
    assert tracemalloc.get_traced_memory()[1] < 8 * 8 * MAX_CELLS
    tracemalloc.stop()


# Differences


def test_paired_difference_uses_what_both_arms_have() -> None:
    a, b = [1.0, math.nan, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, math.nan, 1.0]
    found = paired_difference(a, b, [1, 2, 3, 4, 5], rng())
    assert found.difference == pytest.approx(1 / 3)
    assert found.n == 3
    assert found[1:3] == cluster_bootstrap([1.0, 0.0, 0.0], [1, 3, 5], rng())


def test_paired_difference_is_narrower_than_two_intervals() -> None:
    draw = rng(4)
    skill = draw.normal(0, 1, 300)
    a, b = skill + draw.normal(0.1, 0.1, 300), skill + draw.normal(0, 0.1, 300)
    found = paired_difference(a, b, np.arange(300), rng())
    assert 0.05 < found.low < found.difference < found.high < 0.15


def test_paired_difference_without_any_spread() -> None:
    alike = paired_difference(np.ones(20), np.ones(20), np.arange(20), rng())
    assert alike.difference == 0
    assert alike.high == -alike.low == pytest.approx(wilson(0, 20)[1])
    apart = paired_difference(np.ones(20), np.zeros(20), np.arange(20), rng())
    assert (apart.difference, apart.high) == (1, 1)
    assert 0.5 < apart.low < 1
    free = paired_difference(np.full(20, 7.0), np.full(20, 5.0), np.arange(20), rng())
    assert free.difference == 2
    assert math.isnan(free.low)
    none = paired_difference([math.nan], [1.0], [1], rng())
    assert none.n == 0
    assert math.isnan(none.difference)
    with pytest.raises(ValueError, match="arms"):
        paired_difference([1.0], [1.0, 2.0], [1, 2], rng())


# How often the truth is covered


def coverage(interval: Callable[[np.ndarray, np.ndarray, int], tuple[float, float]], runs: int, **how: float) -> float:
    hits = 0
    for seed in range(runs):
        values, clusters = clustered(seed, **how)  # type: ignore[arg-type]
        low, high = interval(values, clusters, seed)
        hits += bool(low <= how.get("share", 0.7) <= high)
    return hits / runs


DESIGNS = [
    {"count": 40, "size": 10, "correlation": 0.0},
    {"count": 40, "size": 10, "correlation": 0.2},
    {"count": 40, "size": 10, "correlation": 1.0},
    {"count": 12, "size": 20, "correlation": 0.2},
    {"count": 40, "size": 10, "correlation": 0.2, "share": 0.95},
    {"count": 20, "size": 10, "correlation": 1.0, "share": 0.95},
]


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_cluster_wilson_covers(design: dict[str, float]) -> None:
    assert coverage(lambda values, clusters, _: cluster_wilson(values, clusters), 2000, **design) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS[:4], ids=str)
def test_bootstrap_covers(design: dict[str, float]) -> None:
    covered = coverage(
        lambda values, clusters, seed: cluster_bootstrap(values, clusters, rng(seed), 1000), 1000, **design
    )
    assert 0.92 <= covered <= 0.985


@pytest.mark.slow
def test_paired_difference_covers() -> None:
    hits = 0
    for seed in range(1000):
        a, clusters = clustered(2 * seed, 30, 8, 0.3, 0.8)
        b, _ = clustered(2 * seed + 1, 30, 8, 0.3, 0.6)
        found = paired_difference(a, b, clusters, rng(seed), 500)
        hits += found.low <= 0.2 <= found.high
    assert 0.925 <= hits / 1000 <= 0.98


# Agreement


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=2, max_size=20))
def test_fleiss_kappa_is_that_of_statsmodels(votes: list[list[int]]) -> None:
    table = np.array([[row.count(kind) for kind in range(3)] for row in votes])
    if (table.sum(axis=0) > 0).sum() > 1:
        assert fleiss_kappa(table) == pytest.approx(inter_rater.fleiss_kappa(table))
    else:
        assert math.isnan(fleiss_kappa(table))


def test_fleiss_kappa_by_hand() -> None:
    assert fleiss_kappa([[3, 0], [0, 3], [3, 0], [0, 3]]) == pytest.approx(1)
    # Observed agreement 1/3, expected 1/2
    assert fleiss_kappa([[2, 1], [1, 2]]) == pytest.approx(-1 / 3)
    with pytest.raises(ValueError, match="same number"):
        fleiss_kappa([[2, 1], [1, 1]])


def test_clusters_that_all_differ_alike_leave_the_difference_unsure() -> None:
    # gaps (1, 0) and (0, 1): both clusters have the mean 0.5, so that drawing them again always gives 0.5
    found = paired_difference([1, 0, 0, 1], [0, 0, 0, 0], ["p", "p", "q", "q"], np.random.default_rng(0))
    assert found.difference == 0.5
    assert found.low < 0.5 < found.high
