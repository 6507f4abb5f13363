"""Protocols and their metrics."""

from __future__ import annotations

from snellen.core.score import Metric
from snellen.scoring.metrics import giou
from snellen.scoring.protocols import ACCURACY, correct, strict


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
