"""The order of detections, and how they are written."""

from __future__ import annotations

import json
from itertools import permutations

from snellen.subjects.boxes import Detection, best_first, write_boxes


def test_equal_scores_are_ordered_by_area_then_from_the_top_then_from_the_left() -> None:
    boxes = ((9, 9, 19, 19), (5, 1, 9, 5), (3, 2, 7, 6), (6, 2, 10, 6), (0, 0, 2, 2))
    best, *others = (Detection(box, score=0.5) for box in boxes)
    ranked = [Detection((0, 0, 1, 1), score=0.6), best, *others, Detection((0, 0, 30, 30), score=0.4)]
    assert all(best_first(order) == ranked for order in list(permutations(ranked))[::97])


def test_boxes_are_written_as_rounded_numbers() -> None:
    rows = json.loads(write_boxes([Detection((1, 2.00049, 3, 4.0005001), "é", 0.1234567)]))["boxes"]
    assert rows == [{"box": [1, 2.0, 3, 4.001], "label": "é", "score": 0.123457}]
