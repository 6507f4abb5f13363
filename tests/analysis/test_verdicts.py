"""The rule for verdicts, on rows worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from snellen.analysis.verdicts import ScoredRow, corrected, corrected_level, progress, verdict, without_score
from snellen.core.score import Metric
from snellen.scoring.protocols import ACCURACY, strict
from snellen.scoring.uncertainty import Interval

ERROR_METRIC = Metric("mae_over_gt", lambda item, prediction: 0.0, higher_is_better=False, share=False, bounds=None)


def row(value: float, **facts: Any) -> Any:
    """A row of results of a task with chance level .25 and blind baseline .40."""
    usual = {"suite": "shapes", "task": "naming", "chance": 0.25, "blind": 0.4, "ceiling": math.nan, "unable": False}
    rates = {"no_answer_rate": 0.0, "failure_rate": 0.0, "not_applicable": 0, "judge": ""}
    return SimpleNamespace(**{"value": value, **usual, **rates, **facts})


def state(value: float, low: float, high: float, metric: Metric = ACCURACY, **facts: Any) -> str:
    return verdict(row(value, **facts), metric, Interval(low, high, "")).state


def test_shares_of_the_range_from_blind_to_people() -> None:
    assert progress(0.4, 0.4, 1.0) == 0
    assert progress(0.7, 0.4, 1.0) == pytest.approx(0.5)
    assert progress(0.7, 0.4, 0.7) == 1, "as good as people"
    assert progress(0.3, 0.5, 0.0) == pytest.approx(0.4), "an error of .3, with blind .5 and perfect 0"
    assert math.isnan(progress(0.3, math.nan, 1.0))
    assert math.isnan(progress(1.0, 1.0, 1.0)), "blind is perfect: there is no estimate"


def test_a_verdict_claims_no_more_than_its_interval() -> None:
    # A quarter of the way from .40 to 1 is .55.
    assert state(0.7, 0.41, 0.9) == "sees"
    assert state(0.7, 0.40, 0.9) == "not enough items", "blind may get as much"
    assert state(0.3, 0.10, 0.54) == "does not see"
    assert state(0.3, 0.10, 0.56) == "not enough items"
    assert state(0.47, 0.45, 0.5) == "does not see", "clearly better than blind, and clearly by little"
    assert state(0.5, 0.45, 0.6) == "sees"
    # People get .70: a quarter of the way is .475.
    assert state(0.3, 0.10, 0.5, ceiling=0.7) == "not enough items"
    assert state(0.3, 0.10, 0.5) == "does not see"
    assert state(0.3, 0.10, 0.5, ceiling=0.3) == "does not see", "people below blind are no ceiling"


def test_the_better_of_chance_and_blind_is_the_reference() -> None:
    assert state(0.45, 0.41, 0.9, chance=0.5) == "not enough items"
    # Chance .25 is a better error than blind .40; a quarter of the way from .25 to 0 is .1875.
    assert state(0.1, 0.05, 0.24, ERROR_METRIC) == "sees"
    assert state(0.1, 0.05, 0.26, ERROR_METRIC) == "not enough items"
    assert state(0.3, 0.19, 0.5, ERROR_METRIC) == "does not see"
    assert state(0.3, 0.18, 0.5, ERROR_METRIC) == "not enough items"
    answer = verdict(row(0.1), ERROR_METRIC, Interval(0.05, 0.24, ""))
    assert (answer.low, answer.progress, answer.high) == pytest.approx((0.04, 0.6, 0.8))


def test_unreadable_subjects_are_not_called_blind() -> None:
    assert state(0.1, 0.0, 0.2, no_answer_rate=0.06) == "not enough items"
    assert state(0.1, 0.0, 0.2, no_answer_rate=0.05) == "does not see"
    assert state(0.1, 0.0, 0.2, unable=True) == "not enough items"
    answer = verdict(row(0.1, no_answer_rate=0.4), ACCURACY, Interval(0.0, 0.2, ""))
    assert answer.reason == "40% of its replies could not be read"
    assert state(0.9, math.nan, math.nan) == "not enough items"
    nothing = verdict(row(0.9, chance=math.nan, blind=math.nan), ACCURACY, Interval(0.8, 1.0, ""))
    assert (nothing.state, nothing.reason) == ("not enough items", "the blind baseline was not measured")


def test_rows_without_a_score_state_the_reason() -> None:
    assert without_score(row(math.nan, not_applicable=5), strict()).reason == "declined"
    assert without_score(row(math.nan, failure_rate=1.0), strict()).reason == "calls failed"
    assert without_score(row(math.nan), strict()).state == "not asked"


def test_levels_are_those_of_benjamini_and_yekutieli() -> None:
    assert corrected_level(10, 10) == pytest.approx(0.95)
    assert corrected_level(2, 10) == pytest.approx(0.99)
    assert corrected_level(0, 10) == pytest.approx(0.995), "at least one verdict is assumed"


def scored(task: str, right: int, n: int, blind: float = 0.4) -> ScoredRow:
    """A row with `right` of `n` single items; Wilson's interval is recomputed at every level."""
    units = pd.DataFrame({"value": [1.0] * right + [0.0] * (n - right), "cluster_id": [f"c{k}" for k in range(n)]})
    keys = {"subject": "s", "condition": "vanilla", "split": "test", "protocol": "strict", "metric": "accuracy"}
    return ScoredRow(row(right / n, task=task, blind=blind, **keys), ACCURACY, units, "shapes")


def test_more_abilities_need_more_items() -> None:
    # 30 of 50 with blind .45: Wilson's 95 % interval is [.462, .724], above; at 99.5 % [.405, .768], not above.
    alone, level = corrected([scored("a", 30, 50, 0.45)])
    assert ([answer.state for answer in alone], level) == (["sees"], 0.95)
    silent = [scored(f"t{k}", 25, 50, 0.45) for k in range(9)]  # half right: no verdict
    among, level = corrected([scored("a", 30, 50, 0.45), *silent])
    assert {answer.state for answer in among} == {"not enough items"}
    assert level == pytest.approx(0.995)
    # With nine others that are certain, ten of ten get a verdict, and the level is 95 % again.
    certain = [scored(f"t{k}", 50, 50, 0.45) for k in range(9)]
    together, level = corrected([scored("a", 30, 50, 0.45), *certain])
    assert {answer.state for answer in together} == {"sees"}
    assert level == pytest.approx(0.95)
