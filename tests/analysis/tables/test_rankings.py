"""Ranks and statistics on them, compared with Table 5, scipy, and values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from snellen.analysis.tables.rankings import (
    ScoreMatrix,
    agreement,
    average_agreement,
    interval,
    kendall,
    observed_signs,
    ranked,
    ranks_of,
    redrawn_signs,
    spearman,
    spread,
)
from snellen.suites.ava_bench.published import COLUMNS, METRIC_OF, TABLE_5
from tests.published.ava_bench import LOWER_IS_BETTER, ranks, recomputed_ranks

NAN = math.nan


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def ability(rows: list[list[float]], name: str = "ocr", lower: bool = False, items: str = "i") -> ScoreMatrix:
    """Every item is its own cluster."""
    return ScoreMatrix(name, np.array(rows, float), tuple(f"{items}{n}" for n in range(len(rows[0]))), lower)


def table_5(column: int) -> ScoreMatrix:
    task = COLUMNS[column]
    values = [[row.values[column]] for row in TABLE_5.values()]
    return ability(values, task, METRIC_OF[task] in LOWER_IS_BETTER)


def test_ranks_and_averages_of_table_5() -> None:
    ranking = ranked([table_5(n) for n in range(len(COLUMNS))])
    expected = recomputed_ranks()
    for index, name in enumerate(TABLE_5):
        assert tuple(ranking[task][index].value for task in COLUMNS) == expected[name]
        assert ranking[""][index].value == pytest.approx(sum(expected[name]) / 14)
        assert math.isnan(ranking[""][index].low)  # one item per ability gives no interval


def test_subjects_are_compared_on_the_items_that_both_have() -> None:
    # First and second share items 0 and 1: 2 against 1. First and third share 1 and 2: 1 against 2. Second and third
    # share item 1, both with 1. So one win and one loss for the first (2), a loss and a tie for the second (2.5), a win
    # and a tie for the third (1.5); by their means (2/3, 1/2, 1) it would be the same order without the tie.
    scores = ability([[1, 1, 0], [0, 1, NAN], [NAN, 1, 1]])
    assert ranks_of(observed_signs(scores)).tolist() == [2, 2.5, 1.5]


def test_sums_in_another_order_are_a_tie() -> None:
    scores = ability([[0.1, 0.2, 0.3], [0.3, 0.1, 0.2]], lower=True)
    assert ranks_of(observed_signs(scores)).tolist() == [1.5, 1.5]


def test_tied_ranks_are_averaged_in_either_direction() -> None:
    for seed in range(20):
        values = rng(seed).integers(0, 4, (6, 3)).astype(float)
        for lower in (False, True):
            scores = ScoreMatrix("x", values, ("a", "b", "c"), lower)
            assert tuple(ranks_of(observed_signs(scores))) == ranks([float(row.sum()) for row in values], lower)


def test_rank_intervals_by_hand() -> None:
    # The first is better on every item, so that both are clearly worse; the other two win 20 items each of 40.
    first, second = [1.0] * 40, [0.5, 0.0] * 20
    scores = ability([first, second, second[::-1]])
    standings = ranked([scores])["ocr"]
    assert standings[0] == (1, 1, 1)
    assert standings[1] == standings[2] == (2.5, 2, 3)


def test_one_differing_item_is_not_clear() -> None:
    # All gaps but one are 0: a mean of one standard error.
    scores = ability([[1.0] * 40, [1.0] * 39 + [0.0]])
    assert ranked([scores])["ocr"] == [(1, 1, 2), (2, 1, 2)]


def test_items_of_one_cluster_are_drawn_together() -> None:
    # 30 wins against 10 losses are clear as 40 clusters, but not as 4 clusters of 10.
    rows = np.array([[1.0] * 30 + [0.0] * 10, [0.0] * 30 + [1.0] * 10])
    apart = ScoreMatrix("x", rows, tuple(map(str, range(40))))
    together = ScoreMatrix("x", rows, tuple(str(n // 10) for n in range(40)))
    assert ranked([apart])["x"][0] == (1, 1, 1)
    assert ranked([together])["x"][0] == (1, 1, 2)


def test_clusters_are_drawn_in_the_order_of_their_names() -> None:
    """Whatever the order of the items, and of a set of texts in this process: 1 or -1 per cluster, weighted."""
    gaps = np.array([1.0, -1.0] * 12)
    names = [f"c{n:02d}" for n in range(24)]
    scores = ScoreMatrix("x", np.array([gaps, 0 * gaps])[:, ::-1], tuple(names[::-1]), False)
    sums = rng(3).poisson(1.0, (40, 24)) @ gaps
    (draws,) = redrawn_signs([scores], rng(3), 40)
    assert draws[:, 0, 1].tolist() == np.sign(sums).tolist()


def test_the_ends_of_an_average_rank_are_averages_of_ends() -> None:
    # Clear in one ability (1 and 2), open in the other (1 to 2 each).
    clear, even = ability([[1.0] * 12, [0.0] * 12], "a"), ability([[1.0, 0.0] * 6, [0.0, 1.0] * 6], "b")
    assert ranked([clear, even])[""] == [(1.25, 1, 1.5), (1.75, 1.5, 2)]


def test_with_too_few_clusters_nothing_is_clear() -> None:
    # All of n signs alike have a p of 2^(1 - n): .0625 for five and .031 for six; of four subjects, with three rivals,
    # .05 / 3 takes seven.
    def best_of(subjects: int, items: int) -> float:
        return ranked([ability([[1.0] * items, *[[0.0] * items] * (subjects - 1)])])["ocr"][0].high

    assert [best_of(2, 5), best_of(2, 6)] == [2, 1]
    assert [best_of(4, 6), best_of(4, 7)] == [4, 1]


def test_items_of_only_one_subject_count_in_no_comparison() -> None:
    rows = np.array([[1.0] * 20 + [NAN] * 20, [0.0] * 20 + [1.0] * 20])
    assert ranked([ScoreMatrix("x", rows, tuple(map(str, range(40))))])["x"][0] == (1, 1, 1)


def test_the_interval_covers_its_value_and_widens_with_few_clusters() -> None:
    draws = np.linspace(1.2, 1.6, 1001)
    assert tuple(interval(1.0, draws, 50)) == pytest.approx((1.0, 1.0, 1.59), abs=0.005)
    wide, narrow = interval(1.4, draws, 3), interval(1.4, draws, 50)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert np.isnan(interval(1.4, draws, 1)[1:]).all()


def test_rank_intervals_cover() -> None:
    """Four almost equal subjects: bootstrapped ranks covered the first one's true rank in two of three samples."""
    covered = 0
    for seed in range(100):
        right = rng(seed).random((4, 20)) < np.array([[0.71], [0.7], [0.69], [0.68]])
        first = ranked([ScoreMatrix("x", right.astype(float), tuple(map(str, range(20))))])["x"][0]
        covered += first.low <= 1 <= first.high
    assert covered >= 92


def test_one_cluster_gives_the_observed_spread_only() -> None:
    """Means 1 and 0: their variance is 0.5 (divisor 1), their span 1; the noise of the draw is not estimable."""
    alone = spread(ScoreMatrix("x", np.array([[1.0, 1.0], [0.0, 0.0]]), ("a", "a")), rng())
    assert alone is not None
    assert alone.observed == pytest.approx(math.sqrt(0.5))
    assert (alone.span, alone.n) == (1.0, 2)
    assert all(map(math.isnan, (alone.beyond, alone.low, alone.high)))


def test_spread_without_the_noise_of_the_draw() -> None:
    # Means 1 and 0 on every item: a standard deviation of sqrt(1/2), and no draw moves it.
    clear = spread(ability([[1.0] * 10, [0.0] * 10]), rng())
    assert clear is not None
    assert tuple(clear) == pytest.approx((*[math.sqrt(0.5)] * 4, 1, 10))
    # Difficulty that both share moves neither away from the other, however much it varies.
    common = np.linspace(0, 1, 10)
    same = spread(ScoreMatrix("x", np.stack([common, common - 0.25]), tuple(map(str, range(10)))), rng())
    assert same is not None
    assert same[:4] == pytest.approx([0.25 / math.sqrt(2)] * 4)
    # Items that some subject lacks are left out: the last one would make the span 1.
    part = spread(ability([[0.5, 0.5, 1.0], [0.5, 0.5, NAN]]), rng())
    assert part is not None
    assert (part.observed, part.span, part.n) == (0, 0, 2)
    assert spread(ability([[1.0, 0.0]]), rng()) is None


def test_spread_of_equals_is_mostly_noise() -> None:
    estimates = [
        spread(ScoreMatrix("x", rng(s).random((5, 40)), tuple(map(str, range(40)))), rng(s), 400) for s in range(30)
    ]
    spreads = [estimate for estimate in estimates if estimate is not None]
    # The variance of a mean of 40 uniform numbers is 1 / 480, which is the expected variance between the five.
    assert np.mean([estimate.observed**2 for estimate in spreads]) == pytest.approx(1 / 480, rel=0.3)
    assert np.median([estimate.beyond for estimate in spreads]) < 0.4 * math.sqrt(1 / 480)
    assert sum(estimate.low == 0 for estimate in spreads) >= 27


def test_agreement_is_that_of_scipy() -> None:
    for seed in range(10):
        first, second = (rng(2 * seed + n).integers(0, 5, (7, 1)).astype(float) for n in range(2))
        pair = [ScoreMatrix("x", values, ("a",)) for values in (first, second)]
        signs = [observed_signs(matrix) for matrix in pair]
        assert kendall(*signs) == pytest.approx(stats.kendalltau(first, second).statistic)
        by_rank = spearman(ranks_of(signs[0]), ranks_of(signs[1]))
        assert by_rank == pytest.approx(stats.spearmanr(first, second).statistic)


def test_agreement_of_evaluators() -> None:
    up = ability([[n / 4] * 12 for n in range(4)])
    down = ability([[-n / 4] * 12 for n in range(4)])
    assert tuple(agreement(up, up, rng()).tau) == pytest.approx((1, 1, 1))
    against = agreement(up, down, rng())
    # Draws with none of the 12 items rank no subject: they are left out.
    assert tuple(against.tau) == tuple(against.rho) == pytest.approx((-1, -1, -1))
    # Errors (lower is better) rank like values (higher is better).
    errors = ScoreMatrix("x", -up.values, up.clusters, lower_is_better=True)
    assert agreement(up, errors, rng()).rho.value == pytest.approx(1)
    alike = ability([[1.0] * 12] * 4)
    assert math.isnan(agreement(up, alike, rng()).tau.value)
    with pytest.raises(ValueError, match="4 and 2 encoders"):
        agreement(up, ability([[1.0], [0.0]]), rng())


def test_agreement_of_average_ranks() -> None:
    # Ranks 1 2 3 and 1 3 2 are 1, 2.5, 2.5 on average, the other evaluator's 1, 2, 3: of three pairs two are with each
    # other and one is tied on one side, 2 / sqrt(2 * 3).
    first, second = ability([[3.0], [2.0], [1.0]], "a"), ability([[3.0], [1.0], [2.0]], "b")
    agreement = average_agreement([first, second], [first, first], rng(), 2)
    assert agreement.tau.value == pytest.approx(2 / 6**0.5)
    assert agreement.rho.value == pytest.approx(stats.spearmanr([1, 2.5, 2.5], [1, 2, 3]).statistic)


def test_values_and_clusters_must_fit() -> None:
    with pytest.raises(ValueError, match="2 clusters"):
        ScoreMatrix("x", np.zeros((2, 3)), ("a", "b"))
