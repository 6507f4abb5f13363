"""Whether a task dropped by at least some points is decided at any moment, with an error of at most 5 %."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from snellen.analysis.comparison.drops import DROPPED, KEPT, UNDECIDED, Drop, drop_of
from snellen.core.score import Metric
from snellen.scoring.protocols import ACCURACY

ERROR = Metric("error", lambda item, prediction: 0.0, higher_is_better=False, share=False, bounds=(0.0, 2.0))


def drop(before: list[float], after: list[float], least: float = 0.1, metric: Metric = ACCURACY) -> Drop:
    pairs = pd.DataFrame({"before": before, "after": after, "cluster": list(map(str, range(len(before))))})
    return drop_of(pairs, {str(n): n for n in range(len(before))}, metric, least)


def test_verdicts() -> None:
    right, wrong = [1.0], [0.0]
    assert drop(right * 60, wrong * 60).verdict == DROPPED
    assert drop(right * 60, right * 60).verdict == KEPT
    assert drop(right * 10, right * 10).verdict == UNDECIDED
    assert drop(wrong * 60, right * 60).verdict == KEPT, "a rise is no drop"
    half = drop(right * 100, [1.0, 0.0] * 50)
    assert (half.before, half.after, half.change, half.n) == (1.0, 0.5, -0.5, 100)
    assert half.low < -0.5 < half.high < -0.1


def test_of_an_error_more_is_worse_and_the_drop_is_a_share_of_its_range() -> None:
    assert drop([0.0] * 60, [2.0] * 60, metric=ERROR).verdict == DROPPED
    assert drop([2.0] * 60, [0.0] * 60, metric=ERROR).verdict == KEPT
    small = drop([0.0] * 400, [0.3] * 400, metric=ERROR)
    assert small.change == pytest.approx(0.3)
    assert small.verdict == DROPPED, "0.3 is more than a tenth of 0 to 2"
    assert drop([0.0] * 400, [0.1] * 400, metric=ERROR).verdict == KEPT


def test_unpaired_units_are_left_out_and_an_unbounded_metric_is_undecided() -> None:
    pair = drop([1.0, math.nan, 1.0], [1.0, 1.0, math.nan])
    assert pair.n == 1
    unbounded = replace(ERROR, bounds=None)
    assert drop([0.0] * 60, [2.0] * 60, metric=unbounded).verdict == UNDECIDED
    assert drop([math.nan], [1.0]).verdict == UNDECIDED


@pytest.mark.slow
def test_a_drop_of_nothing_is_rarely_called_one() -> None:
    """Equal subjects that err at random: of 200 comparisons that are looked at after every pair, at most ten drop."""
    rng = np.random.default_rng(4)
    verdicts = [
        drop(list(rng.binomial(1, 0.7, 120).astype(float)), list(rng.binomial(1, 0.7, 120).astype(float))).verdict
        for _ in range(200)
    ]
    assert verdicts.count(DROPPED) <= 10
