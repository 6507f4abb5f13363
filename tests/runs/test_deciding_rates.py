"""The rates of docs/measurements/deciding.md, with fewer subjects: what is decided, how soon, and how often wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from tests.helpers.deciding_rates import LIMITS, Design, rates

SUBJECTS = 150
LEAST_DECIDED = {240: (0.60, 140), 480: (0.70, 195)}
"""The least share decided, and the greatest mean number of items, of single items and of pairs that correlate by .3."""


@pytest.mark.slow
@pytest.mark.parametrize("limit", LIMITS)
def test_most_grades_are_decided_soon_and_few_wrongly(limit: int) -> None:
    designs = [Design(limit, 1, 0.0), Design(limit, 2, 0.3)]
    rows = [rates(design, SUBJECTS) for design in designs]
    least, most_items = LEAST_DECIDED[limit]
    assert min(row["decided"] for row in rows) >= least
    assert np.mean([row["mean items"] for row in rows]) <= most_items
    assert np.mean([row["wrong"] for row in rows]) <= 0.01 + 0.01
    assert min(row["interval holds the truth"] for row in rows) >= 0.93
    assert max(row["blind above none"] for row in rows) <= 0.01
