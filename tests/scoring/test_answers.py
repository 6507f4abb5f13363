"""The one answer parser: a labelled table, and what must hold for any reply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.item import Affine, AnswerKind, ReplySpec
from snellen.scoring.answers import read_answer, read_exactly, read_json_objects

TABLE = yaml.safe_load(Path(__file__).with_name("answer_cases.yaml").read_text(encoding="utf-8"))


def _spec(kind: AnswerKind, keys: list[list[str]] | None = None, frame: list[float] | None = None) -> ReplySpec:
    return ReplySpec(kind, tuple((shown, key) for shown, key in keys or ()), Affine(*frame) if frame else None)


SPECS = {name: _spec(**spec) for name, spec in TABLE["specs"].items()}


@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: f"{case['spec']}: {case['text'][:50]!r}")
def test_case(case: dict[str, Any]) -> None:
    said, wanted = read_answer(case["text"], SPECS[case["spec"]]), case["says"]
    if isinstance(wanted, list):
        assert said == pytest.approx(tuple(wanted))
    else:
        assert said == wanted, case["why"]
        assert type(said) is type(wanted)
