"""Agreement between raters against statsmodels, against a published example, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats import inter_rater

from snellen.scoring.agreement import fleiss_kappa, krippendorff_alpha, percent_agreement, rating_counts

NO: float = math.nan
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NO, NO, NO],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NO, 3],
        [NO, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NO],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NO],
    ]
).T
"""The 12 units of 4 observers of Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section C and D."""


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
    with pytest.raises(ValueError, match="two or more"):
        fleiss_kappa([[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="units x categories"):
        fleiss_kappa([3, 3])


def test_percent_agreement_counts_pairs_of_raters_and_leaves_out_units_of_one() -> None:
    # Three agree: 3 of 3 pairs; two against one: 1 of 3; a unit of one rater has no pair. (1 + 1/3) / 2
    assert percent_agreement([[3, 0], [2, 1], [1, 0]]) == pytest.approx(2 / 3)
    assert math.isnan(percent_agreement([[1, 0], [0, 1]]))
    # A unit of two raters has one pair, as much as one of three pairs: (0 + 1) / 2
    assert percent_agreement([[1, 1], [3, 0]]) == pytest.approx(1 / 2)


def test_ratings_are_counted_by_category_without_missing_ones() -> None:
    assert rating_counts([[5.0, 2.0, NO], [2.0, 2.0, 9.0]]).tolist() == [[1, 1, 0], [2, 0, 1]]
    assert rating_counts([[NO, NO]]).shape == (1, 0)
    with pytest.raises(ValueError, match="units x raters"):
        rating_counts([1.0, 2.0])


def test_alpha_of_krippendorffs_own_example() -> None:
    assert krippendorff_alpha(KRIPPENDORFF) == pytest.approx(0.743, abs=5e-4)


def test_alpha_by_hand() -> None:
    """Two raters, units (0, 0), (1, 1), (0, 1): of 6 ratings in coincidences 0-1 twice, so that observed = 2 / 6.

    Three 0 and three 1: expected = 2 * 3 * 3 / (6 * 5) = 3 / 5; alpha = 1 - (1/3) / (3/5) = 4/9.
    """
    assert krippendorff_alpha([[0, 0], [1, 1], [0, 1]]) == pytest.approx(4 / 9)


def test_alpha_is_undefined_without_a_pair_or_a_difference() -> None:
    assert math.isnan(krippendorff_alpha([[1.0, NO], [NO, 2.0]]))
    assert math.isnan(krippendorff_alpha([[1, 1], [1, 1]]))
    # The 2 is alone in its unit and does not count.
    assert math.isnan(krippendorff_alpha([[1.0, 1.0], [2.0, NO]]))


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=2, max_size=12), st.randoms())
def test_alpha_ignores_raters_and_is_near_kappa(votes: list[list[int]], shuffle: object) -> None:
    """Ratings of a unit may be swapped; with n ratings 1 - alpha = (1 - kappa) (n - 1) / n."""
    table = np.array(votes, dtype=float)
    if len(np.unique(table)) < 2:
        return
    for row in table.copy():
        shuffle.shuffle(row)  # type: ignore[attr-defined]
    alpha = krippendorff_alpha(table)
    assert alpha == pytest.approx(krippendorff_alpha(table[:, ::-1]))
    assert 1 - alpha == pytest.approx((1 - fleiss_kappa(rating_counts(table))) * (table.size - 1) / table.size)
