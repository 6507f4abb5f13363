"""Protocols and their metrics."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from snellen.core.score import Metric
from snellen.scoring.metrics import giou
from snellen.scoring.protocols import ACCURACY, all_right, correct, strict


def test_strict_has_the_given_metrics_and_accuracy_by_default() -> None:
    overlap = Metric("giou", lambda item, box: giou(item.answer, box), worst=-1.0)
    assert strict().metrics == (ACCURACY,)
    assert strict(overlap).metrics == (overlap,)
    assert strict(overlap, ACCURACY).metrics == (overlap, ACCURACY)


def test_metrics_are_named_in_words() -> None:
    overlap = Metric("giou", correct, title="GIoU", share=False)
    pair = Metric("pair_accuracy", correct, binary=True)
    assert (overlap.words, overlap.label) == ("GIoU", "GIoU")
    assert (pair.words, pair.label) == ("pair accuracy", "")


def test_a_group_is_right_if_all_are_and_has_no_value_if_one_has_none() -> None:
    """Chances multiply: 1/2 · 1/4 for two items, 1/2 for one without a known chance beside it."""
    names = ["a", "b", "a", "b", "c", "c"]
    table = {"group_id": names, "cluster_id": names, "value": [1.0, 1, 1, 0, 1, math.nan],
             "chance": [0.5, 0.5, 0.25, 0.25, 0.5, math.nan]}  # fmt: skip
    units = all_right(pd.DataFrame(table))
    assert list(units.index) == ["a", "b", "c"]
    assert list(units["value"]) == pytest.approx([1.0, 0.0, math.nan], nan_ok=True)
    assert list(units["chance"]) == [0.125, 0.125, 0.5]
