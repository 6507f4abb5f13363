"""Replies that cannot be kept."""

from __future__ import annotations

import math
from typing import Any

import pytest

from snellen.core.prompt import Reply


def test_a_reply_of_numbers_is_kept() -> None:
    assert Reply("a", numbers=(1, -1.5e308, -math.inf), seconds=0, tokens_in=3).fault() is None


@pytest.mark.parametrize("number", [math.nan, 10**400, -(10**400), True, "1"], ids=lambda n: str(n)[:5])
def test_numbers_that_no_table_holds_are_refused(number: Any) -> None:
    for field in ({"numbers": (0.5, number)}, {"seconds": number}, {"tokens_in": number}, {"token_limit": number}):
        assert Reply("a", **field).fault(), field
