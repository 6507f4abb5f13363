"""How numbers are written in the tables of suites' pieces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

DASH = "–"
"""Stands where there is no number."""


def percent(value: float, n: int, sign: str = "") -> str:
    """A share in percent; a decimal only where there are enough units for it to mean something. `sign` may be `+`."""
    return f"{100 * value:{sign}.{int(n >= 200)}f}"


def spanned(value: float, low: float, high: float, n: int) -> str:
    """A share in percent with its interval, where there is one."""
    told = percent(value, n)
    return told if math.isnan(low) else f"{told} [{percent(low, n)}, {percent(high, n)}]"


def cell(row: Any, written: Callable[[float, float, float, int], str] = spanned) -> str:
    """A row of results (None: there is none): percent with interval, and what was not answered or failed.

    `written` makes words of value, low, high and n.
    """
    if row is None:
        return DASH
    if row.n == 0:
        return "declined" if row.not_applicable > 0 else DASH
    return written(row.value, row.low, row.high, row.n) + unheard(row)


def unheard(row: Any) -> str:
    """What follows a score: the shares of a row of results that were not answered, and that failed, if any were."""
    shares = ((row.no_answer_rate, "no answer"), (row.failure_rate, "failed"))
    return "".join(f", {name} {100 * share:.0f} %" for share, name in shares if share > 0)


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    held = list(names)
    return held[0] if len(held) == 1 else f"{', '.join(held[:-1])} and {held[-1]}"
