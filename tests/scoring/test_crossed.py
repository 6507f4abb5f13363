"""Intervals over people and items: variance against statsmodels and by hand, coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.stats.sandwich_covariance import cov_cluster, cov_cluster_2groups

from snellen.scoring import crossed
from snellen.scoring.clustered_means import tails
from snellen.scoring.crossed import BOOTSTRAP, ON_RANGE, WILSON, WOODRUFF, CrossedAnswers, crossed_interval
from snellen.scoring.uncertainty import UNTOLD, Bounds, Summary, wilson
from tests.helpers.crossed import ABILITIES, FORMS, Panel, coverage


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def answers(values: list[float], people: list[int], clusters: list[int]) -> CrossedAnswers:
    return CrossedAnswers(np.array(values), np.ones(len(values)), np.array(people), np.array(clusters))


def test_the_variance_by_hand() -> None:
    """Two people, two items: 1 1 / 0 1, mean 3/4, residuals 1/4 1/4 / -3/4 1/4; n^2 = 16.

    By person (1/2)^2 + (1/2)^2 = 1/2, times 2/1, over 16: 1/16. By item the same. By answer (1 + 1 + 9 + 1)/16 / 16
    = 3/64. 1/16 + 1/16 - 3/64 = 5/64. Two people and two items: freedom (2/16)^2 / (2 / 16^2) = 2.
    """
    variance, freedom = crossed.mean_variance(answers([1, 1, 0, 1], [0, 0, 1, 1], [0, 1, 0, 1]))
    assert variance == pytest.approx(5 / 64)
    assert freedom == pytest.approx(2)


def test_the_variance_is_that_of_two_way_clusters_in_statsmodels() -> None:
    draw = rng(3)
    people, clusters = np.repeat(np.arange(9), 30), np.tile(np.repeat(np.arange(10), 3), 9)
    values = draw.normal(0, 1, 9)[people] + draw.normal(0, 1, 10)[clusters] + draw.normal(0, 1, 270)
    keep = draw.random(270) < 0.6
    values, people, clusters = values[keep], people[keep], clusters[keep]
    fit = sm.OLS(values, np.ones(len(values))).fit()
    _, by_person, by_cluster = cov_cluster_2groups(fit, people, clusters)
    meetings = np.unique(people * 10 + clusters, return_inverse=True)[1]
    by_meeting = cov_cluster(fit, meetings, use_correction=False)
    expected = (by_person + by_cluster - by_meeting).item()
    answers = CrossedAnswers(values, np.ones(len(values)), people, clusters)
    assert crossed.mean_variance(answers)[0] == pytest.approx(expected)


def test_redrawn_means_weight_an_answer_by_the_draws_of_its_person_and_item() -> None:
    """Answers 1 and 0 of two people to different items: a draw has both, one, or neither of them."""
    means = crossed.redrawn_means(answers([1, 0], [0, 1], [0, 1]), rng(), 4000)
    # Each of person and item: (2, 0), (1, 1), (0, 2) with 1/4, 1/2, 1/4. No answer: (2, 0) against (0, 2), 1/8 of all.
    assert len(means) == pytest.approx(3500, abs=100)
    assert set(means) == {0.0, 0.5, 1.0}
    # Of 7/8, both are drawn in 1/4.
    assert (means == 0.5).mean() == pytest.approx(2 / 7, abs=0.03)


def test_all_right_is_no_more_certain_than_one_answer_per_cluster() -> None:
    people, clusters = np.repeat(np.arange(5), 40), np.tile(np.arange(40) // 2, 5)
    low, high, kind = crossed_interval(np.ones(200), people, clusters, "mean", (0, 1), rng())
    assert (high, kind) == (1.0, WILSON)
    assert low == pytest.approx(wilson(20, 20)[0], abs=0.03)


def test_people_who_differ_widen_the_interval() -> None:
    people, clusters = np.repeat(np.arange(8), 30), np.tile(np.arange(30), 8)
    alike = np.where(np.arange(30) < 15, 1.0, 0.0)
    split = np.where(people < 4, 1.0, 0.0)
    ends = [
        crossed_interval(values, people, clusters, "mean", (0, 1), rng())[:2] for values in (np.tile(alike, 8), split)
    ]
    (low, high), (split_low, split_high) = ends
    assert split_high - split_low > 1.5 * (high - low)


@pytest.mark.parametrize(
    ("summary", "bounds", "kind"), [("mean", None, BOOTSTRAP), ("mean", (-1, 1), BOOTSTRAP), ("median", None, WOODRUFF)]
)
def test_metrics_of_any_unit_have_an_interval_around_their_value(
    summary: Summary, bounds: Bounds | None, kind: str
) -> None:
    people, clusters = np.repeat(np.arange(8), 30), np.tile(np.arange(30), 8)
    values = rng(5).uniform(-0.9, 0.9, 240)
    low, high, name = crossed_interval(values, people, clusters, summary, bounds, rng())
    middle = float(np.mean(values) if summary == "mean" else np.median(values))
    assert name == kind
    assert low < middle < high
    assert (low, high) == crossed_interval(values, people, clusters, summary, bounds, rng())[:2]


def test_a_root_mean_square_has_the_root_of_the_interval_of_the_mean_square() -> None:
    people, clusters, values = np.repeat(np.arange(8), 30), np.tile(np.arange(30), 8), rng(5).uniform(0, 9, 240)
    low, high, _ = crossed_interval(values, people, clusters, "root mean square", None, rng())
    squares = crossed_interval(values**2, people, clusters, "mean", None, rng())
    assert (low, high) == pytest.approx((math.sqrt(squares.low), math.sqrt(squares.high)))


def test_a_bootstrap_is_widened_for_the_fewer_of_people_and_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five people answer thirty items, or thirty people five: five are few in both."""
    counts = list[float]()

    def counted(count: float, level: float) -> tuple[float, float]:
        counts.append(count)
        return tails(count, level)

    monkeypatch.setattr(crossed, "tails", counted)
    few, many = np.repeat(np.arange(5), 30), np.tile(np.arange(30), 5)
    for people, clusters in ((few, many), (many, few)):
        crossed._bootstrap_ends(CrossedAnswers(rng(5).normal(0, 1, 150), np.ones(150), people, clusters), rng(), 0.95)
    assert counts == pytest.approx([5.0, 5.0])


def test_undefined_intervals_state_the_reason() -> None:
    for people, clusters, reason in (
        ([0, 0], [0, 1], "one person"),
        ([0, 1], [0, 0], "one cluster"),
        ([0, 1], [0, 1], "2 people in 2 clusters"),
    ):
        interval = crossed_interval([0.5, 0.7], people, clusters, "mean", None, rng())
        assert math.isnan(interval.low)
        assert interval.kind.startswith(UNTOLD)
        assert reason in interval.kind
    values, many, few = [0.5, 0.7] * 20, [*range(20)] * 2, [0] * 20 + [1] * 20
    assert crossed_interval(values, many, few, "mean", None, rng()).kind == UNTOLD + "20 people in 2 clusters"
    assert crossed_interval(values, few, many, "mean", None, rng()).kind == UNTOLD + "2 people in 20 clusters"
    assert crossed_interval([math.nan], [0], [0], "mean", None, rng()).kind == UNTOLD + "no units"
    assert crossed_interval([0.5, -0.7], [0, 1], [0, 1], "mean", (-1, 1), rng()).kind == ON_RANGE
    with pytest.raises(ValueError, match="fix the bounds"):
        crossed_interval([2.0, 0.0], [0, 1], [0, 1], "mean", (0, 1), rng())
    with pytest.raises(ValueError, match="the same length"):
        crossed_interval([2.0, 0.0], [0, 1], [0], "mean", (0, 1), rng())


@pytest.mark.parametrize("panel", [Panel(8, 40, "all", "good"), Panel(8, 40, "a third", "middle")])
def test_intervals_hold_the_truth(panel: Panel) -> None:
    """300 samples: .95 is within .91 to .99 (three and a half standard errors)."""
    covered, _, share = coverage(panel, 300, rng(1))
    assert share == 1
    assert 0.91 <= covered <= 0.99


@pytest.mark.slow
@pytest.mark.parametrize("people", [5, 8, 20])
@pytest.mark.parametrize("form", FORMS)
def test_intervals_hold_the_truth_over_a_grid(people: int, form: str) -> None:
    """From the grid of bench/crossed.py; 1,000 samples per cell separate .91 from .885 (three standard errors)."""
    for ability in (*ABILITIES, ""):
        covered, _, _ = coverage(Panel(people, 40, form, ability), 1000, rng(people))  # type: ignore[arg-type]
        assert covered >= 0.885, ability
