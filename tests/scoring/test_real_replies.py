"""Rates of misread and unread replies on real replies of models, which are not part of the repository.

`make slow REPLIES=FILE` names a JSON file: a list of {"id", "set", "kind", "keys", "reply", "label"}; with a `label`
of null the reply has no answer, with the `set` "hard" it was once misread. Rules may be written from the half of the
cases whose id has an odd last hexadecimal digit of its SHA-256; the other half, which is measured here, is never read
by authors of rules.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from snellen.core.item import ReplySpec
from snellen.scoring.answers import read_answer

REPLIES = os.environ.get("REPLIES", "")
BOUNDS = {
    ("choice", "unread"): 0.08,
    ("integer", "unread"): 0.12,
    ("choice", "misread"): 0.004,
    ("integer", "misread"): 0.005,
    ("no answer", "misread"): 0.01,
    ("hard", "misread"): 0.34,
}


def outcome(case: dict[str, Any]) -> str:
    answer = read_answer(case["reply"], ReplySpec(case["kind"], tuple(map(tuple, case["keys"]))))
    return "read" if answer == case["label"] else "unread" if answer is None else "misread"


def part(case: dict[str, Any]) -> str:
    if case["set"] == "hard":
        return "hard"
    return "no answer" if case["label"] is None else str(case["kind"])


def is_measured(case: dict[str, Any]) -> bool:
    return int(hashlib.sha256(case["id"].encode()).hexdigest()[-1], 16) % 2 == 0


@pytest.mark.slow
@pytest.mark.skipif(not REPLIES, reason="needs the real replies: make slow REPLIES=FILE")
def test_real_replies_are_read_within_bounds() -> None:
    counts = defaultdict[str, Counter[str]](Counter)
    for case in filter(is_measured, json.loads(Path(REPLIES).read_text(encoding="utf-8"))):
        counts[part(case)][outcome(case)] += 1
    rates = {(name, kind): counts[name][kind] / counts[name].total() for name, kind in BOUNDS}
    assert {key: rate for key, rate in rates.items() if rate > BOUNDS[key]} == {}, rates
