"""Runs made by hand, and checks of their report sections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from snellen.analysis.tables.section import ReportSection

UNHASHED: Mapping[str, Any] = {"itemset": "", "recipe_hash": "", "content_hash": ""}
"""The item path on the card of a run without a stored set."""


def by_name(sections: Iterable[ReportSection], *, with_figures: bool = True) -> dict[str, ReportSection]:
    """The sections by name: each unique, with a sentence and a complete table; every figure is drawn once."""
    listed = list(sections)
    assert len({section.name for section in listed}) == len(listed)
    for section in listed:
        assert section.note.endswith(".")
        assert len(section.table)
        assert not section.table.isna().any().any()
        if with_figures and section.figure is not None:
            section.figure().draw_without_rendering()
    return {section.name: section for section in listed}


def row_of(section: ReportSection, **cells: Any) -> dict[str, Any]:
    """The only row of a section's table with these values in these columns (`_` means a blank in a name)."""
    table = section.table
    for name, value in cells.items():
        table = table[table[name.replace("_", " ")] == value]
    (row,) = table.to_dict("records")
    return dict(row)
