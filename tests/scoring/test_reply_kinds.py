"""Kinds of replies that were once misread: none is read otherwise than a person reads it, and few stay unread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from snellen.core.item import Affine, ReplySpec
from snellen.scoring.answers import read_answer

TABLE = yaml.load(Path(__file__).with_name("reply_kinds.yaml").read_bytes(), yaml.CSafeLoader)
MAX_UNREAD = 0.2


def outcome(name: str, text: str, label: Any) -> str:
    spec = TABLE["specs"][name]
    keys, frame = tuple(map(tuple, spec.get("keys", ()))), spec.get("frame")
    answer = read_answer(text, ReplySpec(spec["kind"], keys, Affine(*frame) if frame else None))
    if isinstance(label, list) and answer is not None:
        label, answer = (pytest.approx(label) if spec["kind"] != "choices" else label), list(answer)
    return "right" if answer == label else "unread" if answer is None else f"misread as {answer}"


CASES = {part: [(name, *case) for name, cases in TABLE[part].items() for case in cases] for part in ("plain", "hard")}


@pytest.mark.parametrize(("name", "text", "label"), CASES["plain"])
def test_plain_sentences_are_read(name: str, text: str, label: Any) -> None:
    assert outcome(name, text, label) == "right"


@pytest.mark.parametrize(("name", "text", "label"), CASES["hard"])
def test_hard_replies_are_not_read_otherwise(name: str, text: str, label: Any) -> None:
    assert outcome(name, text, label) in ("right", "unread")


def test_few_hard_replies_stay_unread() -> None:
    unread = [case for case in CASES["hard"] if outcome(*case) == "unread"]
    assert len(unread) <= MAX_UNREAD * len(CASES["hard"]), unread
