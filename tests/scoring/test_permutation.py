"""Sign flips and Holm's correction, compared with scipy, statsmodels and values worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from snellen.scoring.permutation import (
    DRAWS,
    MAX_DRAWN,
    MAX_ENUMERATED,
    clusters_needed,
    has_normal_p,
    holm,
    least_p,
    noise_flips,
    one_sided_p,
    sign_flip,
    sign_test_power,
)

NAN = math.nan


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def mean(sample: Any, axis: int) -> Any:
    return np.mean(sample, axis=axis)


def exact(sums: npt.NDArray[np.float64]) -> float:
    """Scipy's paired permutation test (signs of a single sample), all flips."""
    return float(stats.permutation_test((sums,), mean, permutation_type="samples", n_resamples=2**20).pvalue)


def test_by_hand() -> None:
    # Cluster sums 3, 2, -1 (2 - 3): of the 8 flips of 3 +- 2 +- 1 and their mirrors, |sum| >= 4 has 3+2-1=4, 3+2+1=6
    # and the mirrors of both: 4 of 8. As six single units the signs of 1, 2, 2, 0, 2, -3 would flip apart.
    gaps, clusters = [1, 2, 2, 0, 2, -3], ["a", "a", "b", "b", "c", "c"]
    assert sign_flip(gaps, clusters, rng()) == 4 / 8
    assert sign_flip([*gaps, NAN], [*clusters, "d"], rng()) == 4 / 8, "a unit that an arm lacks does not count"
    # Five clusters that all agree: 2 of 32 flips; a sixth makes p less than 0.05.
    assert sign_flip([1.0] * 5, list("abcde"), rng()) == 2 / 32 == least_p(5)
    assert sign_flip([1.0] * 6, list("abcdef"), rng()) == 2 / 64
    # One cluster flips as a whole, however many units it has.
    assert sign_flip([1.0] * 50, ["a"] * 50, rng()) == 1
    # Clusters without a difference change nothing.
    assert sign_flip([1.0] * 6 + [0.0] * 100, list("abcdef") + [str(n) for n in range(100)], rng()) == 2 / 64
    assert sign_flip([0.0, 0.5, -0.5], ["a", "b", "b"], rng()) == 1
    assert math.isnan(sign_flip([NAN], ["a"], rng()))
    assert math.isnan(sign_flip([], [], rng()))


def test_one_sided_by_hand() -> None:
    # One answer per cluster: 5 of 5 in one direction has 1 of 32, 3 or more of 4 have (4 + 1) of 16; ties do not count.
    assert one_sided_p(np.ones(5), np.arange(5), rng()) == pytest.approx(1 / 32)
    assert one_sided_p(np.array([1.0, 1, 0, -1, 1, 0]), np.arange(6), rng()) == pytest.approx(5 / 16)
    # Two answers in one cluster flip together: half of 2 of 4.
    assert one_sided_p(np.ones(3), np.array([0, 0, 1]), rng()) == 1 / 4


def test_noise_by_hand() -> None:
    # Sums 3 and -2 of clusters of 3 and 2 units: Kish's 25 / 13 clusters, of which 2^2 / 13 flip to the rarer side.
    count, flips = noise_flips(np.array([1.0, 1, 1, -1, -1]), np.array([0, 0, 0, 1, 1]))
    assert count == 1
    assert flips == pytest.approx(4 / 13)


@pytest.mark.parametrize("seed", range(8))
def test_p_over_all_flips_equals_scipy_s(seed: int) -> None:
    draw = rng(seed)
    size = int(draw.integers(2, 12))
    for sums in (draw.normal(0.4, 1, size), draw.integers(-2, 4, size).astype(float)):
        assert sign_flip(sums, np.arange(size), rng()) == pytest.approx(exact(sums), abs=1e-12)
        # The same sums from three units per cluster.
        apart, names = np.repeat(sums / 3, 3), np.repeat(np.arange(size), 3)
        assert sign_flip(apart, names, rng()) == pytest.approx(exact(sums), abs=1e-12)


def test_for_binary_scores_p_is_mcnemar_s() -> None:
    # McNemar's exact test: 30 clusters differ by 1, 21 for the first arm, 9 for the second.
    gaps = [1.0] * 21 + [-1.0] * 9 + [0.0] * 40
    expected = stats.binomtest(21, 30).pvalue
    assert expected == pytest.approx(0.0428, abs=1e-4)
    assert sign_flip(gaps, np.arange(70), rng()) == pytest.approx(expected, rel=0.1)


def test_drawn_flips_agree_with_all_flips() -> None:
    # One cluster more than is enumerated; scipy tries all 2^17 flips.
    sums = rng(3).normal(0.5, 1, MAX_ENUMERATED + 1)
    assert sign_flip(sums, np.arange(len(sums)), rng()) == pytest.approx(exact(sums), rel=0.12)


@pytest.mark.parametrize("shift", [0.002, 0.006, 0.012])
def test_many_continuous_clusters_have_the_p_of_a_normal_approximation(shift: float) -> None:
    gaps = rng(4).uniform(-1, 1, MAX_DRAWN + 1) ** 3
    gaps += shift - gaps.mean()
    assert has_normal_p(gaps, np.arange(len(gaps)))
    p = sign_flip(gaps, np.arange(len(gaps)), rng())
    assert p == pytest.approx(2 * stats.norm.sf(abs(gaps.sum()) / np.sqrt((gaps**2).sum())), rel=1e-6)
    sizes, signs = np.abs(gaps), rng(5).choice([-1.0, 1.0], (1000, len(gaps)))
    share = (np.abs(signs @ sizes) >= abs(gaps.sum()) - 1e-9).mean()
    assert abs(p - share) < 3.3 * np.sqrt(p * (1 - p) / 1000) + 1e-3
    assert sign_flip(gaps + 1, np.arange(len(gaps)), rng()) == 1 / (DRAWS + 1)
    heavy, whole = np.append(gaps, 30.0), np.sign(gaps)
    for others in (gaps[:-1], heavy, whole):  # few clusters, one that outweighs the others, right or wrong
        assert not has_normal_p(others, np.arange(len(others)))
    least = 0.05 * math.sqrt((gaps**2).sum() / (1 - 0.05**2))  # five hundredths of the standard deviation with itself
    weights = [has_normal_p(np.append(gaps, share * least), np.arange(len(gaps) + 1)) for share in (0.99, 1.01)]
    assert weights == [True, False]


def test_the_observed_flip_is_among_the_drawn_ones() -> None:
    # 60 clusters agree: 2 of 2^60 flips, which no draw finds.
    for gaps in (np.ones(60), np.linspace(1, 2, 60)):
        assert sign_flip(gaps, np.arange(60), rng()) == 1 / (DRAWS + 1) == 1e-5
        assert sign_flip(gaps, np.arange(60), rng(), draws=999) == 1 / 1000


def test_p_is_repeatable_and_symmetric() -> None:
    gaps, names = rng(1).normal(0.2, 1, 100), np.arange(100) // 3
    assert sign_flip(gaps, names, rng(5)) == sign_flip(gaps, names, rng(5)) == sign_flip(-gaps, names, rng(5))


def test_false_alarms_stay_at_the_level() -> None:
    """Equal arms on 25 uneven clusters of similar units: p under 0.05 in at most 5 % of 600 samples.

    Flipping the signs of single units separately would give 45 % of false alarms here.
    """
    draw, alarms = rng(7), 0
    clusters = np.repeat(np.arange(25), draw.integers(1, 12, 25))
    for _ in range(600):
        gaps = draw.normal(0, 1, 25)[clusters] + draw.normal(0, 0.5, len(clusters))
        alarms += sign_flip(gaps, clusters, draw, draws=999) < 0.05
    # Binomial with p 0.05: 30 on average, under 48 in 99.9 % of all cases.
    assert 14 <= alarms <= 47


@pytest.mark.parametrize("seed", range(8))
def test_holm_is_that_of_statsmodels(seed: int) -> None:
    draw = rng(seed)
    p_values = draw.random(30) ** 3
    p_values[3:6] = p_values[0]
    p_values[draw.integers(0, 30, 4)] = NAN
    known = ~np.isnan(p_values)
    corrected = holm(p_values)
    np.testing.assert_allclose(corrected[known], multipletests(p_values[known], method="holm")[1])
    assert np.isnan(corrected[~known]).all()


def test_holm_by_hand() -> None:
    # 0.01 x 4; 0.02 x 3; 0.03 x 2 = 0.06 as well; 0.04 x 1 would decrease and stays at 0.06.
    np.testing.assert_allclose(holm([0.04, 0.01, NAN, 0.03, 0.02]), [0.06, 0.04, NAN, 0.06, 0.06])
    assert holm([]).tolist() == []
    assert holm([0.6, 0.7]).tolist() == [1, 1]


def test_clusters_needed() -> None:
    # One test: 2 / 2^6 = 0.031 is the first below 0.05. Twenty: 20 x 2 / 2^10 = 0.039, while 2^9 gives 0.078.
    assert [clusters_needed(n) for n in (0, 1, 20)] == [6, 6, 10]
    assert least_p(0) == least_p(1) == 1
    # In one direction alone half as much: 1 / 2^5 = 0.031, and 20 / 2^9 = 0.039.
    assert [clusters_needed(n, sides=1) for n in (0, 1, 20)] == [5, 5, 9]
    assert (least_p(5, sides=1), least_p(5)) == (1 / 32, 2 / 32)


def test_lists_must_fit() -> None:
    with pytest.raises(ValueError, match="the same length"):
        sign_flip([1, 2], ["a"], rng())


def test_power_by_hand() -> None:
    # At 0.05 five of five flips are significant (1 / 32), four of four are not (1 / 16); of six only all six.
    assert sign_test_power(5, 0.9, 0.0, 0.05) == pytest.approx(0.9**5)
    assert sign_test_power(6, 0.9, 0.0, 0.05) == pytest.approx(6 * 0.9**5 * 0.1 + 0.9**6)
    assert sign_test_power(4, 1.0, 0.0, 0.05) == 0
    # With noise 0.1 of five: all five flip to worse.
    assert sign_test_power(5, 0.8, 0.1, 0.05) == pytest.approx(0.9**5)
    # At most so many flip that a drop of 0.9 is left: 0.95 to worse, 0.05 to better.
    assert sign_test_power(5, 0.9, 0.3, 0.05) == pytest.approx(0.95**5)


def test_drawing_ends_with_the_thousandth_flip_as_far() -> None:
    """Twenty clusters whose sum is 0: every flip is as far, so the thousandth is the thousandth of all."""
    assert sign_flip([1.0, -1.0] * 10, list(range(20)), np.random.default_rng(0)) == 1.0
