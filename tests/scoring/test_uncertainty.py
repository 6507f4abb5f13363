"""Intervals against statsmodels, against values by hand, and by their coverage of the truth (`helpers.coverage`)."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from snellen.scoring import clustered_means as formulas
from snellen.scoring.uncertainty import (
    BOOTSTRAP_T,
    GAFFKE,
    MIN_EFFECTIVE_CLUSTERS,
    ONE_SIDED,
    UNTOLD,
    WILSON,
    WOODRUFF,
    Bounds,
    cluster_wilson,
    mean_interval,
    paired_difference,
    summary_interval,
    wilson,
)
from tests.helpers.coverage import CORRELATIONS, FAMILIES, Design


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def clustered(
    seed: int, count: int, size: int, correlation: float, share: float = 0.7
) -> tuple[np.ndarray, np.ndarray]:
    """Yes/no values of `count` clusters; `correlation` 0: independent, 1: all equal in a cluster."""
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
        # Wilson's, or the exact one-sided end of twice the tail if that is farther out.
        exact = proportion_confint(k, n, 2 * (1 - level), "beta")
        low, high = (min(expected[0], exact[0]), max(expected[1], exact[1]))
        assert cluster_wilson(values, np.arange(n), level) == pytest.approx((low, high), abs=1e-7)


def test_wilson_by_hand() -> None:
    # (1 + z^2/20) / (1 + z^2/10) etc. with z = 1.959964
    assert wilson(10, 10) == pytest.approx((0.722467, 1.0), abs=1e-6)
    assert wilson(5, 10) == pytest.approx((0.236593, 0.763407), abs=1e-6)
    assert all(map(math.isnan, wilson(0, 0)))
    with pytest.raises(ValueError, match="not a proportion"):
        wilson(3, 2)


def test_cluster_wilson_of_uniform_clusters() -> None:
    """Ten clusters of ten equal values count somewhat less than ten values, by the t quantiles."""
    values, clusters = np.repeat([1, 1, 1, 1, 1, 1, 0, 0, 0, 0], 10), np.repeat(np.arange(10), 10)
    low, high = cluster_wilson(values, clusters)
    # Residual sums are 6 x 4 and 4 x -6: robust variance 10/9 (6 x 16 + 4 x 36) / 100^2 = 4/150; units have variance
    # 24/99, and the mean of independent ones 24/9900: a design effect of 11 (the correlation of 1 gives 10).
    effective = 100 / 11 * (stats.t.ppf(0.975, 99) / stats.t.ppf(0.975, 9)) ** 2
    plain_low, plain_high = wilson(0.6 * effective, effective)
    exact = proportion_confint(0.6 * effective, effective, 0.1, "beta")
    assert (low, high) == pytest.approx((min(plain_low, exact[0]), max(plain_high, exact[1])))


@pytest.mark.parametrize("value", [0, 1])
def test_cluster_wilson_has_width_if_all_is_wrong_or_right(value: int) -> None:
    low, high = cluster_wilson(np.full(100, value), np.repeat(np.arange(10), 10))
    assert (low, high) == pytest.approx(wilson(10 * value, 10))
    assert high - low > 0.2


def test_cluster_wilson_at_the_borders() -> None:
    assert all(map(math.isnan, cluster_wilson([], [])))
    assert all(map(math.isnan, cluster_wilson([1.0, 0.0, 1.0], ["a", "a", "a"])))
    assert cluster_wilson([1, math.nan, 0, 1], [1, 1, 2, 3]) == pytest.approx(cluster_wilson([1, 0, 1], [1, 2, 3]))
    assert cluster_wilson([0.5, 0.5, 0.5], [1, 2, 3])[0] < wilson(1.5, 3)[0]  # by the exact end
    with pytest.raises(ValueError, match="from 0 to 2, outside of 0 to 1"):
        cluster_wilson([2, 0], [1, 2])
    with pytest.raises(ValueError, match="the same length"):
        cluster_wilson([1, 0], [1])


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=60))
def test_cluster_wilson_contains_the_mean_and_is_no_narrower_than_wilson(units: list[tuple[bool, int]]) -> None:
    values, clusters = [value for value, _ in units], [cluster for _, cluster in units]
    if len(set(clusters)) < 2:
        return
    low, high = cluster_wilson(values, clusters)
    plain = wilson(sum(values), len(values))
    assert 0 <= low <= np.mean(values) <= high <= 1
    assert high - low >= plain[1] - plain[0] - 1e-9


def test_partial_credit_is_no_more_certain_than_right_and_wrong() -> None:
    # Eleven right and one of .104: a bootstrap once gave [.776, 1], because values far from 1 were rarely drawn.
    low, high = cluster_wilson([1.0] * 11 + [0.104], np.arange(12))
    assert low < 0.66
    assert high > 0.99


# Design effects


def test_design_effects_by_hand() -> None:
    # Two clusters (1, 1) and (0, 0): mean 1/2, residual sums +1 and -1. Robust variance 2/1 (1 + 1) / 16 = 1/4; units
    # vary by (4 x 1/4) / 3 = 1/3, so independent ones give 1/12: an effect of 3. Correlation: between
    # 2 (2 x 1/4) / 1 = 1, within 0, so 1, and an effect of 1 + 1 (8/4 - 1) = 2. The greater is 3, times
    # (t(1) / t(3))^2.
    samples = formulas.grouped(np.array([[1.0, 1.0, 0.0, 0.0]]), np.array([0, 0, 1, 1]))
    assert formulas.mean_variances(samples) == pytest.approx([1 / 4])
    assert formulas.intraclass_correlations(samples) == pytest.approx([1.0])
    few = (stats.t.ppf(0.975, 1) / stats.t.ppf(0.975, 3)) ** 2
    assert formulas.design_effects(samples, 0.95) == pytest.approx([3 * few])


def test_uneven_clusters_are_worth_fewer() -> None:
    assert formulas.effective_clusters(np.array([5.0, 5.0, 5.0])) == pytest.approx(3)
    assert formulas.effective_clusters(np.array([10.0, 5.0, 5.0])) == pytest.approx(400 / 150)


def test_integer_weights_equal_repeated_units() -> None:
    values, codes = np.array([[1.0, 0.0, 1.0]]), np.array([0, 1, 2])
    twice = formulas.grouped(values, codes, np.array([2.0, 1.0, 1.0]))
    assert twice.means == pytest.approx([3 / 4])
    assert twice.n == pytest.approx(3)  # their mean is 1
    assert twice.sizes == pytest.approx([1.5, 0.75, 0.75])


# Means of any values


def test_what_the_metric_declares_selects_the_method() -> None:
    same = [0.0, 1.0] * 10
    assert mean_interval(same, np.arange(20), (0, 1), rng()).kind == WILSON
    assert mean_interval(same, np.arange(20), (0, 1), rng(), binary=False).kind == GAFFKE
    assert mean_interval(same, np.arange(20), (0, 100), rng()).kind == GAFFKE
    assert mean_interval(same, np.arange(20), None, rng()).kind == BOOTSTRAP_T
    assert summary_interval(same, np.arange(20), "median", None, rng()).kind == WOODRUFF
    squares = summary_interval(same, np.arange(20), "root mean square", (0, 1), rng(), binary=False)
    assert squares.kind == GAFFKE
    assert squares.low == pytest.approx(math.sqrt(mean_interval(same, np.arange(20), (0, 1), rng(), binary=False).low))


def test_samples_that_no_method_covers_have_no_interval() -> None:
    def kind(values: list[float], clusters: list[int], bounds: Bounds | None = None) -> str:
        return mean_interval(values, clusters, bounds, rng()).kind

    assert kind([0.0] * 12, list(range(12))) == UNTOLD + "all clusters have one mean"
    assert kind([1.0, 2.0, 4.0], [1, 2, 3]) == UNTOLD + "3 clusters"
    # Half of 24 units in one cluster: 24^2 / (12^2 + 12) = 3.7.
    uneven = [0] * 12 + list(range(1, 13))
    assert kind(list(map(float, range(24))), uneven) == UNTOLD + "clusters so uneven that they are worth 3.7"
    assert kind([1.0, 2.0], [1, 1]) == kind([1.0, 0.0], [1, 1], (0, 1)) == UNTOLD + "all units belong to one cluster"
    assert kind([], []) == UNTOLD + "no units"
    assert kind([0.0] * 19 + [5.0], list(range(20))) == UNTOLD + "the variance depends on few clusters"
    assert kind([1.0, 2.0, 4.0], [1, 2, 3], (0, 100)) == GAFFKE
    assert math.isnan(mean_interval([1.0, 2.0], [1, 2], None, rng()).low)
    assert summary_interval([1.0, 2.0, 3.0], [1, 2, 3], "median", None, rng()).kind.startswith(UNTOLD)


def test_an_interval_on_a_range_is_a_scaled_interval() -> None:
    low, high, _ = mean_interval([0.0, 0.2, 0.4] * 4, np.arange(12), (-1, 1), rng())
    shares = mean_interval([0.5, 0.6, 0.7] * 4, np.arange(12), (0, 1), rng(), binary=False)
    assert (low, high) == pytest.approx([2 * share - 1 for share in shares[:2]])
    with pytest.raises(ValueError, match="fix the bounds"):
        mean_interval([2.0, 3.0], [1, 2], (0, 1), rng())


@given(st.integers(2, 300), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_interval_by_spread_of_right_and_wrong(n: int, data: st.DataObject, level: float) -> None:
    # That of Clopper and Pearson.
    k = data.draw(st.integers(1, n - 1))
    ends = mean_interval(np.arange(n) < k, np.arange(n), (0, 1), rng(), level=level, binary=False)[:2]
    assert ends == pytest.approx(proportion_confint(k, n, 1 - level, "beta"), abs=1e-7)


def test_the_interval_by_spread_is_near_gaffke_s_own() -> None:
    """The oracle draws the weights of the units and of one more unit at the bound."""
    values, weights = rng(3).beta(2, 5, 24), rng(4).dirichlet(np.ones(25), 100_000)
    expected = [np.quantile(weights @ np.append(values, bound), tail) for bound, tail in ((0.0, 0.025), (1.0, 0.975))]
    low, high, _ = mean_interval(values, np.arange(24), (0, 1), rng(), binary=False)
    assert (low, high) == pytest.approx(expected, abs=0.015)
    before = cluster_wilson(values, np.arange(24))
    assert high - low < 0.75 * (before[1] - before[0])


def test_a_score_at_a_bound_has_a_one_sided_interval() -> None:
    # .05^(1/12) = .7791: twelve units are all right in 5 % of samples if 77.91 % of all units are.
    right = mean_interval(np.ones(12), np.arange(12), (0, 1), rng(), binary=False)
    assert right[:2] == pytest.approx((0.05 ** (1 / 12), 1))
    # Whether units of one cluster are alike is unknown, so 36 units in 12 clusters show no more than 12 do.
    colours = mean_interval(np.zeros(36), np.arange(36) % 12, (0, 100), rng(), binary=False)
    assert colours[:2] == pytest.approx((0, 100 * (1 - 0.05 ** (1 / 12))))
    boxes = mean_interval(np.ones(36), np.arange(36), (-1, 1), rng(), level=0.99, binary=False)
    assert boxes[:2] == pytest.approx((1 - 2 * (1 - 0.01 ** (1 / 36)), 1))
    assert right.kind == colours.kind == boxes.kind == ONE_SIDED
    assert mean_interval(np.ones(12), np.arange(12), (0, 1), rng()).kind == WILSON
    assert mean_interval(np.full(12, 0.5), np.arange(12), (0, 1), rng(), binary=False).kind == GAFFKE


def test_bootstrap_t_equals_the_textbook_interval_for_many_values() -> None:
    values = rng(1).normal(5, 2, 2000)
    low, high, _ = mean_interval(values, np.arange(2000), None, rng())
    usual = stats.t.interval(0.95, 1999, values.mean(), stats.sem(values))
    assert (low, high) == pytest.approx(usual, abs=0.01)
    squares = summary_interval(values, np.arange(2000), "root mean square", None, rng())
    spread = float(np.std(values**2) / math.sqrt(2000) / 2 / math.sqrt(np.mean(values**2)))
    assert squares.high - squares.low == pytest.approx(2 * 1.96 * spread, rel=0.05)


def test_bootstrap_t_draws_whole_clusters() -> None:
    """The oracle joins the drawn clusters one by one."""
    draw = rng(2)
    codes = np.sort(draw.integers(0, 12, 70))
    values = draw.gamma(2, 3, 70)
    samples = formulas.grouped(values[None, :], codes)

    def mean_and_error(numbers: np.ndarray, owners: np.ndarray) -> tuple[float, float]:
        mean, count = float(numbers.mean()), len(np.unique(owners))
        rest = [float((numbers[owners == owner] - mean).sum()) for owner in np.unique(owners)]
        return mean, math.sqrt(count / (count - 1) * sum(r * r for r in rest)) / len(numbers)

    parts = [values[codes == code] for code in range(12)]
    times, distances = formulas.draw_counts(12, rng(3), 2000), []
    for row in times.astype(int):
        clusters = np.repeat(np.arange(12), row)
        owners = np.repeat(np.arange(12), [len(parts[code]) for code in clusters])
        mean, error = mean_and_error(np.concatenate([parts[code] for code in clusters]), owners)
        distances.append((mean - values.mean()) / error)
    tail = formulas.tails(formulas.effective_clusters(samples.sizes), 0.95)
    low, high = np.quantile(distances, tail, method="inverted_cdf")
    error = mean_and_error(values, codes)[1]
    ends = formulas.bootstrap_t_ends(samples, rng(3), 2000, 0.95)
    assert (ends[0][0], ends[1][0]) == pytest.approx((values.mean() - high * error, values.mean() - low * error))


def test_the_interval_of_a_median_has_order_statistics_as_ends() -> None:
    # For 20 independent units Wilson gives .299 to .701 below the median: the fifth to the fifteenth.
    values = rng(0).permutation(np.arange(20.0))
    assert summary_interval(values, np.arange(20), "median", None, rng())[:2] == (4.0, 15.0)


def test_random_draws_depend_on_the_seed_and_not_on_names_of_clusters() -> None:
    values, clusters = clustered(0, 20, 5, 0.3)
    first = mean_interval(values, clusters, None, rng(7))
    assert first == mean_interval(values, clusters, None, rng(7))
    assert first == mean_interval(values, [f"concept {code:03}" for code in clusters], None, rng(7))
    with_gaps = mean_interval([*values, math.nan], [*clusters, 99], None, rng(7))
    assert with_gaps == first
    with pytest.raises(ValueError, match="no summary"):
        summary_interval([1, 2], [1, 2], "mode", None, rng())  # type: ignore[arg-type]


@pytest.mark.parametrize("bounds", [None, (0.0, 1.0)])
def test_clusters_make_the_interval_wider(bounds: Bounds | None) -> None:
    values, clusters = clustered(0, 40, 25, 0.5)
    together = mean_interval(values, clusters, bounds, rng())
    apart = mean_interval(values, np.arange(len(values)), bounds, rng())
    assert together.high - together.low > 2.5 * (apart.high - apart.low)


def test_ten_thousand_clusters_take_little_memory() -> None:
    values, clusters = rng(0).random(20_000), np.repeat(np.arange(10_000), 2)
    tracemalloc.start()
    mean_interval(values, clusters, None, rng())
    assert tracemalloc.get_traced_memory()[1] < 8 * 8 * formulas.MAX_CELLS
    tracemalloc.stop()


# Differences


def test_paired_difference_uses_units_of_both_arms() -> None:
    a, b = [1.0, math.nan, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, math.nan, 1.0]
    gap = paired_difference(a, b, [1, 2, 3, 4, 5], rng(), bounds=(0, 1))
    assert gap.difference == pytest.approx(1 / 3)
    assert gap.n == 3
    # Gaps 1, 0, 0 of single units: s^2 = 1/3, effective 3, plus two units of variance 1: (1 + 2) / 5.
    half = 1.959964 * math.sqrt(3 / 5 / 3)
    assert gap[1:3] == pytest.approx((1 / 3 - half, min(1.0, 1 / 3 + half)), abs=1e-6)


def test_paired_difference_is_narrower_than_two_intervals() -> None:
    draw = rng(4)
    skill = draw.normal(0, 1, 300)
    a, b = skill + draw.normal(0.1, 0.1, 300), skill + draw.normal(0, 0.1, 300)
    gap = paired_difference(a, b, np.arange(300), rng(), bounds=None)
    assert 0.05 < gap.low < gap.difference < gap.high < 0.15


def test_paired_difference_without_any_spread() -> None:
    # s^2 = 0 of 20 units and two of variance 1: z sqrt(2 / 22 / 20) = .132.
    alike = paired_difference(np.ones(20), np.ones(20), np.arange(20), rng(), bounds=(0, 1))
    assert alike.difference == 0
    assert alike.high == -alike.low == pytest.approx(1.959964 * math.sqrt(2 / 22 / 20))
    apart = paired_difference(np.ones(20), np.zeros(20), np.arange(20), rng(), bounds=(0, 1))
    assert (apart.difference, apart.high) == (1, 1)
    assert 0.5 < apart.low < 1
    free = paired_difference(np.full(20, 7.0), np.full(20, 5.0), np.arange(20), rng(), bounds=None)
    assert free.difference == 2
    assert math.isnan(free.low)
    ranged = paired_difference(np.full(20, 70.0), np.full(20, 50.0), np.arange(20), rng(), bounds=(0, 100))
    assert (ranged.low, ranged.high) == pytest.approx((20 - 13.2, 20 + 13.2), abs=0.1)
    single = paired_difference([1.0, 0.0], [0.0, 0.0], ["a", "a"], rng(), bounds=(0, 1))
    assert (single.difference, math.isnan(single.low)) == (0.5, True)
    none = paired_difference([math.nan], [1.0], [1], rng())
    assert none.n == 0
    assert math.isnan(none.difference)
    with pytest.raises(ValueError, match="arms"):
        paired_difference([1.0], [1.0, 2.0], [1, 2], rng())


def test_paired_difference_on_another_range_is_a_scaled_one() -> None:
    a, b = rng(1).random(20), rng(2).random(20)
    gap = paired_difference(a, b, np.arange(20), rng())
    scaled = paired_difference(100 * a, 100 * b, np.arange(20), rng(), bounds=(0, 100))
    assert scaled[:3] == pytest.approx([100 * number for number in gap[:3]])


def test_equal_gaps_of_all_clusters_leave_the_difference_uncertain() -> None:
    # gaps (1, 0) and (0, 1): both clusters have the mean 0.5, so that resampling them always gives 0.5
    gap = paired_difference([1, 0, 0, 1], [0, 0, 0, 0], ["p", "p", "q", "q"], rng(), bounds=(0, 1))
    assert gap.difference == 0.5
    assert gap.low < 0.5 < gap.high


# Coverage of the truth


def test_simulated_intervals_are_those_of_reports() -> None:
    """A sample of the batch has the same interval as from the functions of `uncertainty`."""
    design = Design(12, "geometric", 0.2, 3)
    values = (rng(1).random((3, len(design.codes))) < 0.7).astype(float)
    samples = formulas.grouped(values, design.codes)
    for n, row in enumerate(values):
        low, high = formulas.wilson_ends(samples, 0.95)
        assert cluster_wilson(row, design.codes) == pytest.approx((low[n], high[n]))
        spread = mean_interval(row, design.codes, (0, 1), rng(), binary=False)
        low, high = formulas.bounded_ends(samples, 0.95)
        assert spread[:2] == pytest.approx((low[n], high[n]))
        low, high = formulas.difference_ends(samples, 0.95)
        gap = paired_difference(row, np.zeros(len(row)), design.codes, rng(), bounds=(0, 1))
        assert gap[1:3] == pytest.approx((low[n], high[n]))
    equal = Design(12, "equal", 0.2, 3)
    errors = rng(2).gamma(1, 1, (3, len(equal.codes)))
    low, high = formulas.bootstrap_t_ends(formulas.grouped(errors, equal.codes), rng(5), 2000, 0.95)
    for n, row in enumerate(errors):
        assert mean_interval(row, equal.codes, None, rng(5))[:2] == pytest.approx((low[n], high[n]))


SLOW_GRID = [
    (family, name, count, shape, correlation)
    for family, samplers in FAMILIES.items()
    for name in list(samplers)[::2]
    for count in (8, 20, 50)
    for shape in ("equal", "geometric")
    for correlation in CORRELATIONS[::2]
]


@pytest.mark.slow
@pytest.mark.parametrize("family", list(FAMILIES))
def test_intervals_cover(family: str) -> None:
    """Part of the grid of bench/coverage.py; 1,000 draws per cell distinguish .92 from .895 (three standard errors)."""
    cells = [row for row in SLOW_GRID if row[0] == family]
    covered = []
    for _, name, count, shape, correlation in cells:
        result = FAMILIES[family][name](Design(count, shape, correlation, 1000), rng(count))
        if result.finite > 0:
            assert result.covered >= (0.895 if count >= 20 else 0.875), (name, count, shape, correlation)
            covered += [result.covered] * (count >= 20)
    assert np.mean(covered) >= 0.94


# Coverage for metrics with bounds whose units are not 0 or 1; the printed tables are in docs/measurements/intervals.md


QUANTILES = np.linspace(0.00005, 0.99995, 10_000)


def mixture(*parts: tuple[float, npt.ArrayLike]) -> np.ndarray:
    """Quantiles of a mixture of parts, each with its share and its own quantiles."""
    shares = [round(share * 10_000) for share, _ in parts]
    arrays = [
        np.quantile(np.asarray(values, np.float64), np.linspace(0, 1, n))
        for n, (_, values) in zip(shares, parts, strict=True)
    ]
    return np.sort(np.concatenate(arrays))


COUNTED = [min(1.0, k / true) for true in range(2, 10) for k, times in ((1, 6), (2, 2), (3, 1)) for _ in range(times)]
COLOURS = np.minimum(1, stats.expon.ppf(QUANTILES, scale=0.05))
VALUES: dict[str, np.ndarray] = {
    "beta(2, 2)": stats.beta.ppf(QUANTILES, 2, 2),
    "beta(.5, .5)": stats.beta.ppf(QUANTILES, 0.5, 0.5),
    "beta(1, 4)": stats.beta.ppf(QUANTILES, 1, 4),
    "half 0, else beta(1.5, 3)": mixture((0.5, 0), (0.5, stats.beta.ppf(QUANTILES, 1.5, 3))),
    "relative errors of counts, 60 % are 0": mixture((0.6, 0), (0.4, COUNTED)),
    "log-normal errors, capped at 1": np.minimum(1, stats.lognorm.ppf(QUANTILES, 1, scale=math.exp(-1.5))),
    "beta(2, 20), but 5 % are 1": mixture((0.95, stats.beta.ppf(QUANTILES, 2, 20)), (0.05, 1)),
    "texts, 70 % are 1, 15 % are 0": mixture((0.7, 1), (0.15, 0), (0.15, [0.3, 0.95])),
    "texts, 92 % are 1, 3 % are 0": mixture((0.92, 1), (0.03, 0), (0.05, [0.5, 0.95])),
    "boxes, 15 % misplaced": mixture((0.85, stats.beta.ppf(QUANTILES, 12, 2)), (0.15, stats.beta.ppf(QUANTILES, 2, 6))),
    "colours, exponential of mean .05": COLOURS,
    "colours, but 2 % are 1": mixture((0.98, COLOURS), (0.02, 1)),
    "97 % are 0": mixture((0.97, 0), (0.03, [0, 1])),
}
PERFECT = np.zeros(10_000)
UNIT_COUNTS = (12, 24, 36, 100, 300)


def sizes_of(n: int, largest: int) -> np.ndarray:
    """The cluster of each of `n` units: one unit each, or 2, 1, 4, 3 units in turn."""
    return np.arange(n) if largest == 1 else np.repeat(np.arange(n), np.resize([2, 1, 4, 3], n))[:n]


def item_samples(
    *quantiles: np.ndarray, codes: np.ndarray, correlation: float, draw: np.random.Generator
) -> list[np.ndarray]:
    """2,000 samples of units for each of these distributions; two samples are of the same items, which correlate by .5.

    The normal scores of units of one cluster have this correlation.
    """

    def scores() -> np.ndarray:
        own, common = draw.normal(size=(2000, len(codes))), draw.normal(size=(2000, codes[-1] + 1))[:, codes]
        return np.asarray(math.sqrt(1 - correlation) * own + math.sqrt(correlation) * common)

    items, values = scores(), []
    for each in quantiles:
        ranks = stats.norm.cdf(items if len(quantiles) == 1 else math.sqrt(0.5) * (items + scores()))
        values.append(each[np.minimum((ranks * len(each)).astype(int), len(each) - 1)])
    return values


def designs_of_units() -> Iterator[tuple[int, np.ndarray, float]]:
    """The number of units, their clusters and the correlation in a cluster."""
    for n in UNIT_COUNTS:
        yield n, sizes_of(n, 1), 0.0
        yield n, sizes_of(n, 4), 0.0
        yield n, sizes_of(n, 4), 0.3


def covered_and_width(ends: formulas.Ends, truth: float) -> tuple[float, float]:
    low, high = ends
    return float(((low <= truth + 1e-12) & (truth - 1e-12 <= high)).mean()), float((high - low).mean())


def print_row(name: str, rows: Sequence[tuple[int, float, float]], columns: Sequence[float] = ()) -> None:
    """Least and mean coverage, then the ratio of widths for each number of units."""
    covered = [row[1] for row in rows]
    ratios = [float(np.mean([row[2] for row in rows if row[0] == n])) for n in UNIT_COUNTS]
    numbers = [f"{number:.3f}" for number in (min(covered), np.mean(covered))]
    cells = ["" if math.isnan(ratio) else f"{ratio:.2f}" for ratio in (*ratios, *columns)]
    print(f"| {name} | {' | '.join([*numbers, *cells])} |")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(VALUES))
def test_intervals_by_spread_cover(name: str) -> None:
    """The ratio is to the width of Wilson's interval, which these metrics had before."""
    rows, truth = [], float(VALUES[name].mean())
    for n, codes, correlation in designs_of_units():
        (values,) = item_samples(VALUES[name], codes=codes, correlation=correlation, draw=rng(n))
        samples = formulas.grouped(values, codes)
        covered, width = covered_and_width(formulas.bounded_ends(samples, 0.95), truth)
        rows.append((n, covered, width / covered_and_width(formulas.wilson_ends(samples, 0.95), truth)[1]))
        assert covered >= 0.935, (n, correlation)  # .95 less three standard errors
    print_row(name, rows)


@pytest.mark.slow
@pytest.mark.parametrize("size", ["the whole range", "uniform"])
def test_intervals_near_a_perfect_score_cover(size: str) -> None:
    """The ratio is that of the one-sided interval of a perfect score to Wilson's before.

    In the worst case 5 % of samples are perfect and have an interval that is too short, and 2.5 % have one that is
    beyond the truth on the other side: a coverage of .925, less three standard errors.
    """
    for share in (0.002, 0.005, 0.01, 0.02, 0.05, 0.08):
        rows = []
        quantiles = mixture((1 - share, 0), (share, 1 if size == "the whole range" else [0, 1]))
        for n, codes, correlation in designs_of_units():
            (values,) = item_samples(quantiles, codes=codes, correlation=correlation, draw=rng(n))
            ends = formulas.bounded_ends(formulas.grouped(values, codes), 0.95)
            covered, _ = covered_and_width(ends, float(quantiles.mean()))
            perfect = formulas.grouped(PERFECT[None, :n], codes)
            ratio = formulas.bounded_ends(perfect, 0.95)[1] / formulas.wilson_ends(perfect, 0.95)[1]
            rows.append((n, covered, float(ratio[0])))
            assert covered >= 0.907, (share, n, correlation)
        print_row(f"{100 * share:g} % deviate, {size}", rows)


PAIRS = [
    *((name, name) for name in VALUES),
    ("beta(2, 2)", "beta(.5, .5)"),
    ("half 0, else beta(1.5, 3)", "relative errors of counts, 60 % are 0"),
    ("texts, 70 % are 1, 15 % are 0", "texts, 92 % are 1, 3 % are 0"),
    ("colours, exponential of mean .05", "colours, but 2 % are 1"),
    ("97 % are 0", "half 0, else beta(1.5, 3)"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_differences_by_spread_cover(first: str, second: str) -> None:
    """The ratio is to the width of a cluster bootstrap-t cut off at the range; last comes its least coverage."""
    rows, others, truth = [], [], float(VALUES[first].mean() - VALUES[second].mean())
    for n, codes, correlation in designs_of_units():
        a, b = item_samples(VALUES[first], VALUES[second], codes=codes, correlation=correlation, draw=rng(n))
        samples = formulas.grouped(a - b, codes)
        low, high = ends = formulas.difference_ends(samples, 0.95)
        covered, width = covered_and_width(ends, truth)
        assert covered >= 0.935, (n, correlation)
        if formulas.effective_clusters(samples.sizes) >= MIN_EFFECTIVE_CLUSTERS:
            far_low, far_high = formulas.bootstrap_t_ends(samples, rng(n), 500, 0.95)
            none = ~np.isfinite(far_low) | ~np.isfinite(far_high) | (formulas.mean_variances(samples) <= formulas.ALIKE)
            cut = np.where(none, low, np.maximum(far_low, -1)), np.where(none, high, np.minimum(far_high, 1))
            other, other_width = covered_and_width(cut, truth)
            others.append(other)
            rows.append((n, covered, width / other_width))
        else:
            rows.append((n, covered, math.nan))
    print_row(first if first == second else f"{first} against {second}", rows, [min(others)])


# Values by hand


def test_the_correlation_of_uneven_clusters_by_hand() -> None:
    """Totals 5 of 5, 4 of 5 and 0 of 2: a bad cluster that is small, which the robust variance misses.

    Mean 9/12. Between: 1.25²/5 + 0.25²/5 + 1.5²/2 = 1.45, by 2; within: 9 - 12 · 0.75² - 1.45 = 0.8, by 9; usual size
    (12 - 54/12) / 2 = 3.75: (0.725 - 0.0889) / (0.725 + 2.75 · 0.0889) = 0.6562. Its design effect is
    1 + 0.6562 (54/12 - 1) = 3.2966, that of the robust variance 3/2 · 3.875/144 · 12 / (2.25/11) = 2.3681.
    """
    values = np.array([[1.0] * 9 + [0.0] * 3])
    sample = formulas.grouped(values, np.array([0] * 5 + [1] * 5 + [2] * 2))
    assert formulas.intraclass_correlations(sample)[0] == pytest.approx(0.656160, abs=1e-6)
    few = (stats.t.ppf(0.975, 144 / 54 - 1) / stats.t.ppf(0.975, 11)) ** 2
    assert formulas.design_effects(sample, 0.95)[0] == pytest.approx(3.296562 * few, rel=1e-6)


def test_a_bootstrap_t_is_no_nearer_than_student_s() -> None:
    """Of values with a long right tail, redrawn means are rarely far above theirs in their own errors."""
    values = np.array([0.0] * 9 + [1, 2, 3, 5, 9, 20])
    low, high = formulas.bootstrap_t_ends(formulas.grouped(values[None, :], np.arange(15)), rng(), 2000, 0.95)
    usual = stats.t.ppf(0.975, 14) * values.std(ddof=1) / math.sqrt(15)
    assert low[0] == pytest.approx(values.mean() - usual)
    assert high[0] > values.mean() + 2 * usual


def test_eight_clusters_are_the_fewest_of_a_bootstrap_t() -> None:
    kinds = [mean_interval(np.arange(n) ** 1.5, np.arange(n), None, rng()).kind for n in (7, 8)]
    assert kinds == [f"{UNTOLD}7 clusters", BOOTSTRAP_T]


def test_a_root_mean_square_is_the_root_of_the_mean_square_within_the_squared_bound() -> None:
    values, clusters = np.array([3.0, 2, 0, 1, 3, 3, 2, 0]), np.arange(8)
    squares = mean_interval(values**2, clusters, (0.0, 9.0), rng(), binary=False)
    ends = summary_interval(values, clusters, "root mean square", (-3.0, 2.0), rng(), binary=False)
    assert ends[:2] == pytest.approx((math.sqrt(squares.low), math.sqrt(squares.high)))


def test_differences_beyond_the_range_of_a_metric_are_refused() -> None:
    with pytest.raises(ValueError, match="fix the bounds"):
        paired_difference([0.0, 3.0], [1.0, 0.0], [0, 1], rng(), bounds=(0.0, 2.0))
