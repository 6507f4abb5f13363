"""Runs made by hand, and how their pieces are looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from snellen.analysis.section import ReportSection

UNHASHED: Mapping[str, Any] = {"itemset": "", "recipe_hash": "", "content_hash": ""}
"""What the card of a run says of items that lie nowhere."""


def by_name(sections: Iterable[ReportSection], *, with_figures: bool = True) -> dict[str, ReportSection]:
    """The pieces by name: each once, with a sentence and a table without holes; every figure is drawn once."""
    held = list(sections)
    assert len({section.name for section in held}) == len(held)
    for section in held:
        assert section.note.endswith(".")
        assert len(section.table)
        assert not section.table.isna().any().any()
        if with_figures and section.figure is not None:
            section.figure().draw_without_rendering()
    return {section.name: section for section in held}


def row_of(section: ReportSection, **cells: Any) -> dict[str, Any]:
    """The one row of a piece's table in which these columns hold these values (`_` stands for a blank in a name)."""
    table = section.table
    for name, value in cells.items():
        table = table[table[name.replace("_", " ")] == value]
    (row,) = table.to_dict("records")
    return dict(row)
