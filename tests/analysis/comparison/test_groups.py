"""Groups of subjects on the same units, by hand."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from snellen.analysis.comparison import groups
from snellen.analysis.comparison.groups import COUNTERPARTS, Grouping


def test_groups_are_compared_on_the_units_of_both_with_their_own_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever order the scores of a subject are; a mean of two subjects is that of each unit."""
    scores = {
        "x": pd.DataFrame({"value": [1.0, 0.0, 1.0], "cluster": ["C", "A", "B"]}, index=["c", "a", "b"]),
        "y": pd.DataFrame({"value": [0.0, 1.0], "cluster": ["A", "C"]}, index=["a", "c"]),
        "z": pd.DataFrame({"value": [0.0, 1.0], "cluster": ["C", "A"]}, index=["c", "a"]),
    }
    compared = list[tuple[list[float], list[float], list[str]]]()

    def contrast(first: Any, second: Any, clusters: Any, *key: str, bounds: Any) -> dict[str, Any]:
        compared.append((list(first), list(second), list(clusters)))
        return {}

    monkeypatch.setattr(groups, "contrast", contrast)
    row = groups._row(Grouping("weights", "open", "closed", ("x",), ("y", "z", "absent")), scores, "naming", None)
    assert compared == [([0.0, 1.0], [0.5, 0.5], ["A", "C"])]
    assert row is not None
    assert (row["subjects_first"], row["subjects_second"]) == (1, 2)


def test_a_counterpart_of_two_subjects_is_one_subject(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"value": [1.0, 0.0], "cluster": ["A", "B"]}, index=["a", "b"])
    monkeypatch.setattr(groups, "contrast", lambda *arguments, **more: {})
    pairs = Grouping(COUNTERPARTS, "reasoning", "counterpart", ("high", "low"), ("plain", "plain"))
    row = groups._row(pairs, dict.fromkeys(("high", "low", "plain"), frame), "naming", None)
    assert row is not None
    assert (row["subjects_first"], row["subjects_second"]) == (2, 1)
