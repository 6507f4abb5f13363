from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
import pytest

from snellen.analysis.comparison.contrasts import COLUMNS, contrasts
from snellen.analysis.tables.run_view import arm_name


def scores(**arms: Sequence[float | None]) -> pd.DataFrame:
    """One score per item for each arm, None if the arm lacks it; two items per cluster."""
    rows = [
        {
            "task": "task", "protocol": "strict", "metric": "accuracy", "subject": arm.split("_")[0],
            "condition": arm.partition("_")[2].replace("_", "=") or "vanilla", "repeat": 0, "item_id": str(n),
            "cluster_id": str(n // 2), "value": math.nan if value is None else value,
        }
        for arm, values in arms.items()
        for n, value in enumerate(values)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_arms_are_compared_on_the_items_both_have() -> None:
    # Both have items 0-3: 1, 1, 1, 0 against 0, 0, 1, 0, so (1 + 1 + 0 + 0) / 4 = 0.5; by all their items it is 0.6.
    done = contrasts(scores(a=[1, 1, 1, 0, 1, None], b=[0, 0, 1, 0, None, 0]))
    assert tuple(done.columns) == COLUMNS
    (row,) = done.to_dict("records")
    assert (row["first"], row["second"], row["difference"], row["n"]) == ("a", "b", 0.5, 4)
    assert row["low"] <= 0.5 <= row["high"]
    assert not row["clear"], "two clusters are too few"


def test_every_pair_of_arms_is_compared_once() -> None:
    done = contrasts(scores(a=[1, 1], b=[0, 1], a_shots_1=[0, 0], c=[None, None]))
    pairs = {
        (first, second): gap
        for first, second, gap in zip(done["first"], done["second"], done["difference"], strict=True)
    }
    assert pairs == {("a", "b"): 0.5, ("a", "a [shots=1]"): 1.0, ("b", "a [shots=1]"): 0.5}
    assert arm_name("a", "vanilla") == "a"


def test_repeats_of_an_item_are_averaged_first() -> None:
    first = scores(a=[1, 1], b=[0, 0])
    again = scores(a=[0, None])
    again["repeat"] = 1
    done = contrasts(pd.concat([first, again]))
    # Item 0: (1 + 0) / 2 - 0; item 1: 1 - 0.
    assert done["difference"].to_list() == [pytest.approx(0.75)]
    assert done["n"].to_list() == [2]


def test_a_clear_difference_is_clear_in_either_order() -> None:
    good, bad = [1.0, 1.0, 0.0, 1.0] * 10, [0.0, 1.0, 0.0, 0.0] * 10
    for arms in ({"a": good, "b": bad}, {"a": bad, "b": good}):
        (row,) = contrasts(scores(**arms)).to_dict("records")
        assert abs(row["difference"]) == pytest.approx(0.5)
        assert row["clear"]
        assert row["low"] * row["high"] > 0
    (same,) = contrasts(scores(a=good, b=good)).to_dict("records")
    assert (same["difference"], same["clear"]) == (0.0, False)
    assert same["low"] < 0 < same["high"], "no clear difference does not mean equality"


def test_tasks_protocols_and_metrics_stay_apart() -> None:
    base = scores(a=[1, 1], b=[0, 0])
    parts = [base, base.assign(task="other"), base.assign(metric="iou", value=1.0), base.assign(protocol="published")]
    done = contrasts(pd.concat(parts))
    assert len(done) == 4
    assert done.set_index(["task", "protocol", "metric"])["difference"].to_dict() == {
        ("task", "strict", "accuracy"): 1.0,
        ("other", "strict", "accuracy"): 1.0,
        ("task", "strict", "iou"): 0.0,
        ("task", "published", "accuracy"): 1.0,
    }


def test_nothing_to_compare_is_an_empty_table() -> None:
    assert contrasts(scores(a=[1, 1])).empty
    assert tuple(contrasts(scores(a=[None], b=[1])).columns) == COLUMNS


def test_p_is_corrected_within_its_family() -> None:
    # Twelve items, six clusters: a is right and b wrong on all, c is right on the first cluster alone. Of 64 flips:
    # a - b has sums 2 x 6, 2 flips are as far: 2/64. a - c differs in five clusters: 2/32. b - c in one: 1.
    # Holm: 2/64 x 3 = 6/64; 2/32 x 2 = 8/64; 1. Pairs with the oracle do not count.
    right, wrong, first = [1.0] * 12, [0.0] * 12, [1.0] * 2 + [0.0] * 10
    arms = {"a": right, "b": wrong, "c": first, "oracle": right}
    table = contrasts(scores(**arms), simulated=["oracle"]).set_index(["first", "second"])
    ours = table[table["family"] == "subjects"]
    assert ours["p"].to_dict() == {("a", "b"): 2 / 64, ("a", "c"): 2 / 32, ("b", "c"): 1.0}
    assert ours["p_holm"].to_dict() == {("a", "b"): 6 / 64, ("a", "c"): 8 / 64, ("b", "c"): 1.0}
    assert (ours["clusters"] == 6).all()
    # An interval without 0 is not enough, nor a p under 0.05 before correction.
    assert ("a", "b") in ours.index[ours["low"] > 0]
    assert not ours["clear"].any()
    assert not ours["too_few_clusters"].any()
    # Alone, the same pair is clear.
    (alone,) = contrasts(scores(a=right, b=wrong)).to_dict("records")
    assert (alone["p_holm"], alone["clear"]) == (2 / 64, True)


def test_too_few_clusters_are_flagged() -> None:
    # With five clusters the least p is 2/32, whatever the answers.
    (pair,) = contrasts(scores(a=[1.0] * 10, b=[0.0] * 10)).to_dict("records")
    assert (pair["clusters"], pair["p"], pair["clear"], pair["too_few_clusters"]) == (5, 2 / 32, False, True)


def test_conditions_of_a_subject_are_a_separate_family() -> None:
    table = contrasts(scores(a=[1, 1], b=[0, 1], a_shots_1=[0, 0]))
    families = dict(zip(zip(table["first"], table["second"], strict=True), table["family"], strict=True))
    assert families == {
        ("a", "b"): "subjects",
        ("a", "a [shots=1]"): "conditions",
        ("b", "a [shots=1]"): "subjects",
    }
