"""Format of numbers in tables, by hand."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from snellen.analysis.grading.rows import ResultRow
from snellen.analysis.tables.cells import DASH, listing, percent, result_cell
from snellen.analysis.tables.pivot import level_lines, position_cells, reference_lines, table_section
from snellen.analysis.tables.run_view import rows_by_arm

ROW: dict[str, Any] = {
    "value": 0.5, "low": 0.25, "high": 0.75, "interval": "95 % Wilson", "n": 199, "no_answer_rate": 0.0,
    "cut_off_rate": 0.0, "failure_rate": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({}, "50 [25, 75]"),
        ({"n": 200}, "50.0 [25.0, 75.0]"),
        ({"low": math.nan, "high": math.nan, "interval": ""}, "50"),
        ({"low": math.nan, "high": math.nan, "interval": "not estimable: 3 clusters"}, "50, not estimable"),
        ({"low": 0.05, "high": 0.95, "n": 10}, "50 [5, 95]"),
        (
            {"no_answer_rate": 0.1, "cut_off_rate": 0.05, "failure_rate": 0.02},
            "50 [25, 75], no answer 10 %, cut off 5 %, failed 2 %",
        ),
        ({"n": 0, "not_applicable": 3}, "declined"),
        ({"n": 0, "not_applicable": 0}, DASH),
    ],
)
def test_a_row_of_results(changed: dict[str, Any], text: str) -> None:
    assert result_cell(ResultRow(**ROW | changed)) == text


def test_words() -> None:
    assert result_cell(None) == DASH
    assert [percent(0.125, 200, "+"), percent(0.126, 199)] == ["+12.5", "13"]
    assert [listing("a"), listing("ab"), listing("abc")] == ["a", "a and b", "a, b and c"]


def test_an_answer_that_was_not_offered_has_no_position() -> None:
    part = pd.DataFrame({"prediction": ["A", {}], "truth": ["A", "C"], "cluster_id": ["1", "2"]})
    cells = position_cells(part, [("A", "B")] * 2, 3)
    assert [cell.partition(" ")[0] for cell in cells] == ["50", "0", ""]


def test_tables_of_sections() -> None:
    rows = pd.DataFrame({
        "subject": ["a", "a", "b"], "condition": "vanilla", "level": ["x", "x", "y"], "judge": ["first", "second", ""],
        "chance": [0.25, 0.5, 0.25], "blind": math.nan, "value": [0.1, 0.2, 0.3],
    })  # fmt: skip
    by_arm = rows_by_arm(rows)  # with two judges, the row of the first
    lines = level_lines(by_arm, ["x", "y"], lambda row: DASH if row is None else f"{row.value}")
    assert lines == [["a", "vanilla", "0.1", DASH], ["b", "vanilla", DASH, "0.3"]]
    assert reference_lines("chance", rows, ["x", "y"], after=["!"]) == [["(chance)", "", "25–50", "25", "!"]]
    assert reference_lines("blind", rows, ["x", "y"]) == []
    (section,) = table_section("Title", "Note.", ["subject", "condition", "x", "y"], lines, "name")
    assert section.table.to_numpy().tolist() == lines
    assert list(table_section("Title", "Note.", ["subject"], [], "name")) == []
