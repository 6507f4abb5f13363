"""Rates of unread and misread replies in the manner of 2025-26, written by other hands than the parser's rules.

`replies_of_2026.json` has 150 replies by two language models that knew neither the parser nor its tests, each with the
answer that its writer takes from it. The rules were measured on them once, and not written from them: whoever changes
the parser must not read them. The prompts ask for bare answers; these are the replies that do not give one.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from snellen.core.item import Affine, ReplySpec
from snellen.scoring.answers import read_answer

MAX_UNREAD, MAX_MISREAD = 27, 1
FRACTIONS = Affine(0.001, 0, 0, 0, 0.001, 0)
"""Boxes are fractions of an image of 1000 pixels."""


def outcome(case: dict[str, Any]) -> str:
    frame = FRACTIONS if case["kind"] == "box" else None
    answer = read_answer(case["reply"], ReplySpec(case["kind"], tuple(map(tuple, case["keys"])), frame))
    label = case["label"]
    if answer is None or label is None:
        return "read" if answer is label else "unread" if answer is None else "misread"
    if case["kind"] == "box":
        label = pytest.approx([1000 * side for side in label], abs=1.0)
    return "read" if (list(answer) if isinstance(answer, tuple) else answer) == label else "misread"


def test_replies_of_2026_are_read_within_bounds() -> None:
    text = Path(__file__).with_name("replies_of_2026.json").read_text(encoding="utf-8")
    counts = Counter(map(outcome, json.loads(text)))
    assert counts.total() == 150
    assert counts["misread"] <= MAX_MISREAD, counts
    assert counts["unread"] <= MAX_UNREAD, counts
